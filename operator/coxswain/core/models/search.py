"""Which hyperparameters suit a family, judged on rows left out.

Rows are split into folds by unit, so that no run of a row helps to predict another. A setting is judged by the CRPS of
what it predicts for the folds left out; the axes of a family are searched one after the other. With many rows the
search sees a part of them, and only what it settles on is judged on all.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from coxswain.core.models.families import Family, Regressor, Setting, Spread, Variances
from coxswain.core.models.observations import Observations, Rows, put_together
from coxswain.core.models.scales import Scale
from coxswain.core.models.scoring import LEVELS, Comparison, comparison_for, crps
from coxswain.core.models.types import Floats, Ints

INNER_FOLDS = 4
# The search for hyperparameters sees at most this many units.
SEARCH_UNITS = 200
# And it judges by so many of the inner folds.
SEARCH_FOLDS = 2


def assign_folds(units: Ints, folds: int, rng: np.random.Generator) -> Ints:
    """The fold of each observation: units in random order, dealt out one by one."""
    distinct, unit_of = np.unique(units, return_inverse=True)
    dealt = np.empty(len(distinct), dtype=np.int64)
    dealt[rng.permutation(len(distinct))] = np.arange(len(distinct)) % folds
    return dealt[unit_of.reshape(-1)]


@runtime_checkable
class LeavesOutInClosedForm(Protocol):
    """A family that predicts rows without their fold from one fit to all of them."""

    def left_out(self, regressor: Any, rows: Rows, folds: Ints) -> tuple[Floats, Variances]:
        """Predictions and variances of each row without its fold."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Observations with their inner folds; their rows on each scale, and fits to all of them, are made once."""

    observations: Observations
    folds: Ints
    comparison: Comparison
    shares: bool = False

    @cached_property
    def _rows(self) -> dict[Scale, Rows]:
        return {}

    def rows(self, scale: Scale) -> Rows:
        """The rows on a scale."""
        if scale not in self._rows:
            self._rows[scale] = put_together(self.observations, scale)
        return self._rows[scale]

    @cached_property
    def _fits(self) -> dict[object, Regressor]:
        return {}

    def fit(self, family: Family, setting: Setting, spread: Spread | None = None) -> Regressor:
        """A fit to all rows; one that is needed for judging too is made only once."""
        rows = self.rows(Scale(str(setting["scale"])))
        if not isinstance(family, LeavesOutInClosedForm):
            return family.fit(rows, setting, spread)
        key = (family.name, *setting.items())
        if key not in self._fits:
            self._fits[key] = family.fit(rows, setting)
        return self._fits[key]

    @property
    def any_rows(self) -> Rows:
        """The rows on the scale that a family's axes are asked for."""
        return self.rows(Scale.LOGIT if self.shares else Scale.IDENTITY)

    def smaller(self) -> "Sample":
        """The same with no more units than a search needs."""
        distinct = np.unique(self.observations.units)
        if len(distinct) <= SEARCH_UNITS:
            return self
        kept = np.random.default_rng(len(distinct)).permutation(distinct)[:SEARCH_UNITS]
        which = np.isin(self.observations.units, kept)
        return Sample(self.observations.take(which), self.folds[which], self.comparison, self.shares)


def make_sample(observations: Observations, rng: np.random.Generator, *, shares: bool = False) -> Sample:
    """Observations with random inner folds."""
    folds = assign_folds(observations.units, INNER_FOLDS, rng)
    return Sample(observations, folds, comparison_for(observations.y), shares)


@dataclass(frozen=True)
class Tuned:
    """A setting with its score (lower is better) and the spread of its errors on rows left out."""

    setting: Setting
    score: float
    spread: Spread


def assess(family: Family, sample: Sample, setting: Setting, folds: int = INNER_FOLDS) -> Tuned:
    """Judge one setting on the inner folds, or on the first few of them."""
    rows = sample.rows(Scale(str(setting["scale"])))
    fold_of_row = np.empty(len(rows), dtype=np.int64)
    fold_of_row[rows.row_of] = sample.folds
    if isinstance(family, LeavesOutInClosedForm):
        mean, variances = family.left_out(sample.fit(family, setting), rows, fold_of_row)
        left_out = _LeftOut(mean, variances.total, 0.0)
    else:
        left_out = _leave_out(family, rows, setting, fold_of_row, folds)
    judged = sample.folds < folds
    which = rows.row_of[judged]
    observed, mean = rows.values[judged], left_out.mean[which]
    spread = np.sqrt(np.maximum(left_out.variance[which], rows.least_noise))
    quantiles = mean[:, None] + spread[:, None] * np.quantile((observed - mean) / spread, LEVELS)
    place = sample.comparison.place
    losses = crps(place(rows.scale.inverse(quantiles)), place(rows.scale.inverse(observed)))
    square = max(float(np.mean((observed - mean) ** 2)), rows.least_noise)
    model = min(left_out.shared, 0.9 * square)
    weights = 1 / rows.count[which]
    return Tuned(setting, float(np.average(losses, weights=weights)), Spread(model, square - model))


@dataclass(frozen=True)
class _LeftOut:
    """Mean and variance of each row without its fold, and the variance of the model's own error."""

    mean: Floats
    variance: Floats
    shared: float


def _leave_out(family: Family, rows: Rows, setting: Setting, folds: Ints, most: int) -> _LeftOut:
    """Fit without each of the first folds."""
    mean, variance = np.zeros(len(rows)), np.ones(len(rows))
    predicted = []
    for fold in range(most):
        own = folds == fold
        regressor = family.fit(rows.take(~own), setting)
        predicted.append(regressor.mean(rows.settings))
        mean[own] = predicted[-1][own]
        variance[own] = regressor.variances(rows.settings[own]).total
    # The jackknife: leaving out one fold in k moves a prediction by about 1 / (k - 1) of the effect of a new sample.
    deviations = np.array(predicted) - np.mean(predicted, axis=0)
    return _LeftOut(mean, variance, (INNER_FOLDS - 1) * float(np.mean(deviations**2)))


def tune(family: Family, sample: Sample) -> Tuned:
    """The best setting found by searching one axis after the other, judged on all of the sample."""
    part = sample.smaller()
    axes = family.axes(part.any_rows)
    best = assess(family, part, {axis: values[0] for axis, values in axes.items()}, SEARCH_FOLDS)
    for axis, values in axes.items():
        for value in values[1:]:
            trial = assess(family, part, {**best.setting, axis: value}, SEARCH_FOLDS)
            if trial.score < best.score:
                best = trial
    return assess(family, sample, best.setting)
