"""Recorded runs, seen as jobs that could have been steered.

The factors that may be adjusted make the candidates; the others make the context, which a job finds itself in. Runs of
one context with the same adjustable values are replicates of one candidate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coxswain.core.dataset import make_dataset
from coxswain.core.errors import InputError
from coxswain.core.models import Observations, from_dataset
from coxswain.core.models.types import Floats, Ints

CONTEXT = "context of the run"
FEWEST_CONTEXTS = 6


@dataclass(frozen=True, eq=False)
class Context:
    """One combination of what cannot be adjusted: its candidates' settings, seconds of their runs, and values.

    `settings` has a row a candidate and a column a factor, as the models take them.
    """

    number: int
    settings: Floats
    seconds: tuple[Floats, ...]
    values: Floats

    @property
    def usual(self) -> Floats:
        """Mean seconds of each candidate."""
        return np.array([float(np.mean(runs)) for runs in self.seconds])


@dataclass(frozen=True, eq=False)
class Recorded:
    """All runs, as observations of time and of value with the context as the unit, and the contexts themselves."""

    time: Observations
    value: Observations
    contexts: tuple[Context, ...]
    adjusted: Ints
    """The columns of the settings that may be adjusted."""

    def learning(self, left_out: Ints) -> tuple[Observations, Observations]:
        """Observations of time and of value without some contexts."""
        kept = ~np.isin(self.time.units, left_out)
        return self.time.take(kept), self.value.take(kept)


def read_recorded(
    table: pd.DataFrame, *, response: str, value: str | None, factors: Sequence[str], adjust: Sequence[str]
) -> Recorded:
    """Jobs of a table; without a column for the value, more of the one adjusted factor is better.

    Raises:
        InputError: in one sentence that names the column or option to mend.
    """
    around = [name for name in factors if name not in adjust]
    _check(table, [*factors, response], around, adjust, value)
    grouped = table.assign(**{CONTEXT: table.groupby(around, sort=False).ngroup()})
    time = from_dataset(make_dataset(grouped, response, factors, group=CONTEXT))
    if (time.y <= 0).any():
        raise InputError(f"column {response} has a time that is not above 0; correct or leave out that row.")
    if value is None:
        grouped = grouped.assign(**{f"more {adjust[0]}": grouped[adjust[0]]})
    worth = from_dataset(make_dataset(grouped, value or f"more {adjust[0]}", factors, group=CONTEXT))
    adjusted = np.array([list(factors).index(name) for name in adjust])
    contexts = tuple(_context(number, time, worth) for number in np.unique(time.units).tolist())
    if len(contexts) < FEWEST_CONTEXTS:
        raise InputError(
            f"there are {len(contexts)} contexts (combinations of {', '.join(around)}); at least {FEWEST_CONTEXTS} are "
            "needed to leave some of them out."
        )
    if all(len(each.values) < 2 for each in contexts):
        raise InputError(f"no context has more than one value of {', '.join(adjust)}, so there is nothing to choose.")
    return Recorded(time, worth, contexts, adjusted)


def _check(
    table: pd.DataFrame, named: Sequence[str], around: Sequence[str], adjust: Sequence[str], value: str | None
) -> None:
    for name in named:
        if name not in table.columns:
            raise InputError(f"there is no column {name}; the columns are {', '.join(map(str, table.columns))}.")
    for name in adjust:
        if name not in named:
            raise InputError(f"{name} cannot be adjusted because it is not a factor; name it among the factors too.")
    if not adjust or not around:
        raise InputError("name at least one factor to adjust, and leave at least one that makes the context.")
    if value is None and len(adjust) > 1:
        raise InputError("without an accuracy, more of the adjusted factor is better, so only one may be adjusted.")


def _context(number: int, time: Observations, worth: Observations) -> Context:
    own = time.units == number
    settings, which = np.unique(time.settings[own], axis=0, return_inverse=True)
    which = which.reshape(-1)
    seconds = tuple(time.y[own][which == candidate] for candidate in range(len(settings)))
    values = np.array([float(np.mean(worth.y[own][which == candidate])) for candidate in range(len(settings))])
    return Context(number, settings, seconds, values)
