"""Errors on rows left out, and what they teach about errors to come.

Scores are errors in units of an expected spread, and what is expected matters: a model may know well where runs vary,
or be so sure of itself that a single surprise makes every bound absurd. Measures of spread compete by the pinball loss
of the bounds they lead to on folds left out: the same spread everywhere, the model's own, and half way between the two,
each as it is or corrected by what the errors show. The model's own is kept unless another one is clearly better: it
has reasons to differ between settings, and a bound should hold at the setting that gets picked, not on average.
"""

from dataclasses import dataclass, fields, replace
from enum import StrEnum

import numpy as np

from coxswain.core.factors import Factor
from coxswain.core.models.calibration import CONFORMAL_ROWS, Calibration, calibrate
from coxswain.core.models.scales import Scale
from coxswain.core.models.scoring import pinball
from coxswain.core.models.spread import SpreadCorrection, learn_spread, no_correction
from coxswain.core.models.types import Bools, Floats, Ints

# Where bounds are asked for: a measure of spread is judged there, not in the middle.
TAILS: Floats = np.array([0.05, 0.1, 0.9, 0.95])
SMALLEST = 1e-9


class Measure(StrEnum):
    """What errors are measured by."""

    SAME = "same"
    HALF_WAY = "half_way"
    OWN = "own"

    def spread(self, own: Floats) -> Floats:
        """From the spread that a model expects, any correction aside; only its proportions matter."""
        match self:
            case Measure.SAME:
                return np.ones(len(own))
            case Measure.HALF_WAY:
                return np.sqrt(own)
            case _:
                return own


@dataclass(frozen=True, eq=False)
class Residuals:
    """Errors of observations left out, on one scale, with all that their spread may depend on."""

    scale: Scale
    location: Floats
    error: Floats
    own: Floats
    """The spread that the model expected."""
    level: Floats
    """The predicted response, on the scale of comparison."""
    settings: Floats
    units: Ints
    folds: Ints
    censored: Bools
    dof: Floats

    def take(self, which: Bools) -> "Residuals":
        """Some of them."""
        arrays = [field.name for field in fields(self) if field.name != "scale"]
        return replace(self, **{name: getattr(self, name)[which] for name in arrays})


@dataclass(frozen=True, eq=False)
class Standard:
    """The measure of spread that serves best, with its correction, in a unit that makes it a standard deviation."""

    measure: Measure
    correction: SpreadCorrection
    unit: float

    def spread(self, own: Floats, settings: Floats, level: Floats) -> Floats:
        """The spread at settings, from what the model expects there."""
        return self.unit * self.measure.spread(own) * self.correction.factor(settings, level)


@dataclass(frozen=True, eq=False)
class Standardised:
    """Residuals measured by the standard that suits them; `spread` is that of each, learned without its fold."""

    standard: Standard
    residuals: Residuals
    spread: Floats

    def calibration(self, some: Bools | None = None) -> Calibration:
        """The distribution of the scores, or of some of them."""
        which = np.ones(len(self.spread), dtype=bool) if some is None else some
        chosen = self.residuals.take(which)
        scores = chosen.error / self.spread[which]
        return calibrate(scores, chosen.units, chosen.censored, float(np.median(chosen.dof)))


def standardise(factors: tuple[Factor, ...], residuals: Residuals) -> Standardised:
    """Measure errors by the spread with the least pinball loss; with few rows by the model's own."""
    nothing = no_correction(factors)
    if len(np.unique(residuals.units)) < CONFORMAL_ROWS:
        return Standardised(Standard(Measure.OWN, nothing, 1.0), residuals, residuals.own)
    spreads: dict[tuple[Measure, bool], Floats] = {}
    for measure in Measure:
        spread = measure.spread(residuals.own)
        spreads[measure, False] = spread
        spreads[measure, True] = spread * _factor_of_other_folds(factors, residuals, spread)
    best, corrected = _best(residuals, spreads)
    everything = np.ones(len(residuals.error), dtype=bool)
    plain = spreads[best, False]
    correction = _learn(factors, residuals, plain, everything) if corrected else nothing
    spread = spreads[best, corrected]
    seen = ~residuals.censored
    unit = float(np.sqrt(np.mean((residuals.error[seen] / spread[seen]) ** 2))) or 1.0
    return Standardised(Standard(best, correction, unit), residuals, unit * spread)


def _best(residuals: Residuals, spreads: dict[tuple[Measure, bool], Floats]) -> tuple[Measure, bool]:
    """The measure with the least loss, if it beats the model's own by more than a standard error."""
    losses = {choice: _losses(residuals, spread) for choice, spread in spreads.items()}
    own = Measure.OWN, False
    best = min(losses, key=lambda choice: float(losses[choice].mean()))
    gain = losses[own] - losses[best]
    return best if gain.mean() > gain.std() / np.sqrt(len(gain)) else own


def _losses(residuals: Residuals, spread: Floats) -> Floats:
    """Pinball losses of the responses' quantiles, each fold by what the others say, relative to the prediction."""
    inverse = residuals.scale.inverse
    scores = residuals.error / spread
    quantiles = np.empty((len(scores), len(TAILS)))
    for fold in np.unique(residuals.folds):
        own = residuals.folds == fold
        quantiles[own] = np.quantile(scores[~own], TAILS, method="weibull")
    predicted = inverse(residuals.location[:, None] + spread[:, None] * quantiles)
    losses = pinball(predicted, inverse(residuals.location + residuals.error), TAILS).mean(axis=1)
    return np.asarray(losses / np.maximum(np.abs(inverse(residuals.location)), SMALLEST), dtype=float)


def _factor_of_other_folds(factors: tuple[Factor, ...], residuals: Residuals, spread: Floats) -> Floats:
    """The correction at each observation, learned without its fold: from its own error it would flatter it."""
    factor = np.empty(len(residuals.error))
    for fold in np.unique(residuals.folds):
        own = residuals.folds == fold
        correction = _learn(factors, residuals, spread, ~own)
        factor[own] = correction.factor(residuals.settings[own], residuals.level[own])
    return factor


def _learn(factors: tuple[Factor, ...], residuals: Residuals, spread: Floats, some: Bools) -> SpreadCorrection:
    which = some & ~residuals.censored
    seen = residuals.take(which)
    weights = 1 / np.bincount(seen.units)[seen.units]
    return learn_spread(factors, seen.settings, seen.level, seen.error / spread[which], weights)
