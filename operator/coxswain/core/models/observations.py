"""What models learn from: observations of runs, and the rows they belong to.

An `Observations` is a checked table in arrays: one entry a run, categories as their number. A run that was killed is a
right-censored observation: its response is at least what was seen. `Rows` is the same on a model's scale with runs of
equal settings put together, because the row is the experimental unit: thirty runs of one setting teach about the noise
but not about other settings, and a model that saw one of them has seen the row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from coxswain.core.dataset import Dataset
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor, Level
from coxswain.core.models.scales import Scale
from coxswain.core.models.types import Bools, Floats, Ints

# With fewer units than this no model can be told from another.
FEWEST_UNITS = 5


@dataclass(frozen=True, eq=False)
class Observations:
    """Settings (a column a factor, categories as their number), responses, units, and which runs were killed."""

    factors: tuple[Factor, ...]
    response: str
    settings: Floats
    y: Floats
    units: Ints
    censored: Bools

    @property
    def finished_units(self) -> int:
        """The number of units with a run that was not killed."""
        return len(np.unique(self.units[~self.censored]))

    def take(self, which: Bools) -> "Observations":
        """The observations that a mask picks, as if the others had never been made."""
        return replace(
            self,
            settings=self.settings[which],
            y=self.y[which],
            units=self.units[which],
            censored=self.censored[which],
        )

    def without(self, name: str) -> "Observations":
        """The same observations and units as if one factor had not been recorded."""
        if name not in [factor.name for factor in self.factors]:
            raise InputError(f"there is no factor {name}; the factors are {_names(self.factors)}.")
        kept = [index for index, factor in enumerate(self.factors) if factor.name != name]
        if not kept:
            raise InputError(f"{name} is the only factor; name another beside it.")
        return replace(self, factors=tuple(self.factors[i] for i in kept), settings=self.settings[:, kept])


def from_dataset(dataset: Dataset, censored: Bools | None = None) -> Observations:
    """Observations of a checked table; `censored` marks runs that were killed, whose response is a lower limit.

    Raises:
        InputError: if there are too few units to learn from, or nothing but killed runs.
    """
    killed = np.zeros(len(dataset.y), dtype=bool) if censored is None else censored
    observations = observations_of(dataset, killed)
    units = observations.finished_units
    if units < FEWEST_UNITS:
        what = "groups" if dataset.grouped else "distinct rows of settings"
        raise InputError(
            f"column {dataset.response} has {units} {what} with a value; a model needs at least {FEWEST_UNITS}."
        )
    return observations


def observations_of(dataset: Dataset, censored: Bools) -> Observations:
    """Observations of a checked table, however few."""
    columns = [
        dataset.frame[factor.name].to_numpy(dtype=float)
        if factor.is_numeric
        else _category_numbers(factor, dataset.frame[factor.name].tolist())
        for factor in dataset.factors
    ]
    return Observations(dataset.factors, dataset.response, np.column_stack(columns), dataset.y, dataset.units, censored)


def settings_array(factors: Sequence[Factor], queries: Sequence[Mapping[str, Level]]) -> Floats:
    """Settings to predict at, one mapping from factor to value each, as an array.

    Raises:
        InputError: in one sentence that names the factor: unknown, missing, not a number, or an unknown category.
    """
    known = {factor.name for factor in factors}
    for query in queries:
        for name in query:
            if name not in known:
                raise InputError(f"there is no factor {name}; the factors are {_names(factors)}.")
        for factor in factors:
            if factor.name not in query:
                raise InputError(f"factor {factor.name} has no value; give {factor.name}=….")
    columns = [_column(factor, [query[factor.name] for query in queries]) for factor in factors]
    return np.array(columns).T.reshape(len(queries), len(factors))


def _column(factor: Factor, values: Sequence[Level]) -> Floats:
    if not factor.is_numeric:
        return _category_numbers(factor, values)
    numbers = []
    for value in values:
        try:
            number = float(value)
        except ValueError:
            raise InputError(f"factor {factor.name} must be a number, but is {value}.") from None
        if not np.isfinite(number):
            raise InputError(f"factor {factor.name} must be a finite number, but is {value}.")
        if number <= 0 < factor.levels[0]:
            raise InputError(f"factor {factor.name} was above 0 in every measurement, so it cannot be {value}.")
        numbers.append(number)
    return np.array(numbers)


def _category_numbers(factor: Factor, values: Sequence[Level]) -> Floats:
    for value in values:
        if str(value) not in factor.categories:
            raise InputError(f"factor {factor.name} has no category {value}; it has {', '.join(factor.categories)}.")
    return np.array([factor.categories.index(str(value)) for value in values], dtype=float)


def _names(factors: Sequence[Factor]) -> str:
    return ", ".join(factor.name for factor in factors)


@dataclass(frozen=True, eq=False)
class Rows:
    """Observations on a model's scale, put together by row.

    `mean` and `count` are of each row; `values` are the single observations and `row_of` says which row each is of.
    `within` is the variance between runs of one row, pooled; 0 where no row was run twice.
    """

    factors: tuple[Factor, ...]
    scale: Scale
    settings: Floats
    units: Ints
    mean: Floats
    count: Floats
    values: Floats
    row_of: Ints
    within: float

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def extra_noise(self) -> float:
        """What the variance of a single run has more than that of a row's mean."""
        return self.within * (1 - float(np.mean(1 / self.count)))

    @property
    def least_noise(self) -> float:
        """A variance below what numbers can show: a response without any noise would leave nothing to divide by."""
        return 1e-12 * float(np.mean(self.mean**2)) + 1e-300

    def take(self, which: Bools) -> "Rows":
        """The rows that a mask picks, with their observations."""
        kept = which[self.row_of]
        renumbered = np.cumsum(which) - 1
        return replace(
            self,
            settings=self.settings[which],
            units=self.units[which],
            mean=self.mean[which],
            count=self.count[which],
            values=self.values[kept],
            row_of=renumbered[self.row_of[kept]],
        )


def put_together(observations: Observations, scale: Scale) -> Rows:
    """Rows of the observations: runs of one unit with the same settings."""
    keys = np.column_stack([observations.units, observations.settings])
    distinct, row_of = np.unique(keys, axis=0, return_inverse=True)
    row_of = row_of.reshape(-1).astype(np.int64)
    values = scale.forward(observations.y)
    count = np.bincount(row_of).astype(float)
    mean = np.bincount(row_of, weights=values) / count
    spare = float(np.sum(count - 1))
    within = float(np.sum((values - mean[row_of]) ** 2)) / spare if spare else 0.0
    return Rows(
        observations.factors,
        scale,
        distinct[:, 1:],
        distinct[:, 0].astype(np.int64),
        mean,
        count,
        values,
        row_of,
        within,
    )
