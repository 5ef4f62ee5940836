"""Every family's predictions of rows it did not see, with all choices made anew inside each fold.

The outer folds ask: had these rows not been there, what would have been chosen, and how wrong would it have been? So
hyperparameters and the choice among families are found from the other rows alone. The errors of what was chosen in
each fold are the honest errors of choosing, and those that bounds are calibrated on.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from coxswain.core.models.censoring import impute
from coxswain.core.models.families import Family
from coxswain.core.models.observations import Observations
from coxswain.core.models.residuals import Residuals, Standardised, standardise
from coxswain.core.models.scales import Scale
from coxswain.core.models.scoring import LEVELS, Comparison, Scores, score
from coxswain.core.models.search import Sample, Tuned, make_sample
from coxswain.core.models.types import Floats, Ints

LEAST_SPREAD = 0.5
"""Without a row the others may agree by chance, to the last digit where times are rounded, and a model of them is then
surprised beyond all measure. It is not thought more sure of itself than so much of what it is with that row."""

Chooser = Callable[[Sample], Mapping[str, Tuned]]
"""Settings and scores of the families that compete on a sample."""
Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of each observation without its fold, as responses.

    `spread` is what the models expected, in units of the response, and `scale` the scale that most of them were on.
    """

    scale: Scale
    point: Floats
    spread: Floats
    dof: Floats
    folds: Ints

    def residuals(self, observations: Observations, comparison: Comparison) -> Residuals:
        """The errors of these predictions, on their scale."""
        possible = comparison.possible(self.point)
        location = self.scale.forward(possible)
        return Residuals(
            scale=self.scale,
            location=location,
            error=self.scale.forward(observations.y) - location,
            own=self.spread * self.scale.slope(possible),
            level=comparison.place(self.point),
            settings=observations.settings,
            units=observations.units,
            folds=self.folds,
            censored=observations.censored,
            dof=self.dof,
        )


@dataclass(frozen=True, eq=False)
class Survey:
    """Predictions of rows not fitted: of each family, and of whatever was chosen in each fold."""

    observations: Observations
    comparison: Comparison
    families: Mapping[str, HeldOut]
    chosen: HeldOut

    def standardise(self, scale: Scale, full: Floats) -> Standardised:
        """What the errors of the choice teach about errors to come, on the scale of the model that makes them.

        `full` is the spread that this model expects at the observations, fitted to all of them.
        """
        residuals = replace(self.chosen, scale=scale).residuals(self.observations, self.comparison)
        least = np.maximum(residuals.own, LEAST_SPREAD * full)
        return standardise(self.observations.factors, replace(residuals, own=least))

    def scores(self, name: str, held_out: HeldOut, confidence: float) -> Scores:
        """How good predictions are; the bounds of each fold are calibrated on the other folds."""
        residuals = held_out.residuals(self.observations, self.comparison)
        standardised = standardise(self.observations.factors, residuals)
        levels = np.append(LEVELS, confidence)
        errors = np.empty((len(residuals.error), len(levels)))
        for fold in np.unique(residuals.folds):
            own = residuals.folds == fold
            calibration = standardised.calibration_without(fold, float(residuals.dof[own][0]))
            errors[own] = standardised.spread[own, None] * calibration.quantile(levels)
        values = held_out.scale.inverse(residuals.location[:, None] + errors)
        known = ~self.observations.censored
        return score(
            name,
            self.observations.y[known],
            point=held_out.point[known],
            quantiles=values[known, :-1],
            bound=values[known, -1],
            comparison=self.comparison,
        )


def survey(
    observations: Observations,
    families: Sequence[Family],
    choose: Chooser,
    *,
    folds: Ints,
    rng: np.random.Generator,
    progress: Progress,
    shares: bool = False,
) -> Survey:
    """Predict each fold from the others."""
    by_name = {family.name: family for family in families}
    numbers = range(int(folds.max()) + 1)
    blank = {name: _Collector(folds) for name in by_name}
    chosen = _Collector(folds)
    comparison = make_sample(observations, np.random.default_rng(0)).comparison
    for fold in numbers:
        own = folds == fold
        progress(f"fold {fold + 1} of {len(numbers)}")
        training = impute(observations.take(~own))
        sample = make_sample(training, rng, shares=shares)
        tuned = choose(sample)
        for name, found in tuned.items():
            blank[name].add(by_name[name], sample, found, observations.settings, fold)
        chosen.copy(blank[min(tuned, key=lambda name: tuned[name].score)], fold)
    complete = {name: collector.held_out() for name, collector in blank.items() if collector.complete}
    return Survey(observations, comparison, complete, chosen.held_out())


class _Collector:
    """Gathers predictions fold by fold."""

    def __init__(self, folds: Ints) -> None:
        self.folds = folds
        self.point, self.spread, self.dof = (np.full(len(folds), np.nan) for _ in range(3))
        self.scales: dict[int, Scale] = {}

    @property
    def complete(self) -> bool:
        return len(self.scales) == len(np.unique(self.folds))

    def add(self, family: Family, sample: Sample, tuned: Tuned, settings: Floats, fold: int) -> None:
        own = self.folds == fold
        scale = Scale(str(tuned.setting["scale"]))
        regressor = sample.fit(family, tuned.setting, tuned.spread)
        self.point[own] = scale.inverse(regressor.mean(settings[own]))
        possible = sample.comparison.possible(self.point[own])
        self.spread[own] = np.sqrt(regressor.variances(settings[own]).total) / scale.slope(possible)
        self.dof[own] = regressor.dof
        self.scales[fold] = scale

    def copy(self, other: "_Collector", fold: int) -> None:
        own = self.folds == fold
        for mine, theirs in ((self.point, other.point), (self.spread, other.spread), (self.dof, other.dof)):
            mine[own] = theirs[own]
        self.scales[fold] = other.scales[fold]

    def held_out(self) -> HeldOut:
        scale = Counter(self.scales.values()).most_common(1)[0][0]
        return HeldOut(scale, self.point, self.spread, self.dof, self.folds)
