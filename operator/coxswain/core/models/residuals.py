"""Errors on rows left out, and what they teach about errors to come.

Scores are errors in units of an expected spread, and what is expected matters: a model may know well where runs vary,
or be so sure of itself that a single surprise makes every bound absurd. Measures of spread compete by the pinball loss
of the bounds they lead to on folds left out: the same spread everywhere, the model's own, and half way between the two,
each as it is or corrected by what the errors show. The model's own is kept unless another one is clearly better: it
has reasons to differ between settings, and a bound should hold at the setting that gets picked, not on average.

A model's own spread rests on the errors it was fitted to, and the error of a row left out is not among them: the larger
it is, the smaller the spread by which it is measured. Such deleted residuals are compared with each other as they are.
A new run, though, is measured by a spread that all rows had their part in, large errors too, so scores that bounds rest
on are turned into what they would be with that spread: internally studentised residuals.
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
# By so many standard errors a measure must beat the model's own. Five others compete, and by one standard error the
# best of them would win in every third table of mere noise.
CLEARLY = 2.0


class Measure(StrEnum):
    """What errors are measured by."""

    SAME = "same"
    HALF_WAY = "half_way"
    OWN = "own"

    @property
    def trust(self) -> float:
        """To which power the spread that a model expects counts."""
        return {Measure.SAME: 0.0, Measure.HALF_WAY: 0.5, Measure.OWN: 1.0}[self]

    def spread(self, own: Floats) -> Floats:
        """From the spread that a model expects, any correction aside; only its proportions matter."""
        return np.asarray(own**self.trust, dtype=float)


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

    @property
    def scores(self) -> Floats:
        """Errors in units of the spread expected without them."""
        return self.residuals.error / self.spread

    def calibration_without(self, fold: int, dof: float) -> Calibration:
        """The distribution of the scores of all other folds; `dof` are the degrees of freedom of this one's spread."""
        others = self.residuals.folds != fold
        chosen = self.residuals.take(others)
        return calibrate(self.scores[others], chosen.units, chosen.censored, dof)

    def calibration(self, dof: float) -> Calibration:
        """The distribution of scores to come, in units of a spread that has learned from all errors."""
        scores, without = self.scores, self.residuals.dof
        if _enough(self.residuals.units):  # with fewer rows scores are not taken as a distribution, but as a test
            scores = scores * ((without + 1) / (without + scores**2)) ** (self.standard.measure.trust / 2)
        return calibrate(scores, self.residuals.units, self.residuals.censored, dof)


def standardise(factors: tuple[Factor, ...], residuals: Residuals) -> Standardised:
    """Measure errors by the spread with the least pinball loss; with few rows by the model's own."""
    nothing = no_correction(factors)
    if not _enough(residuals.units):
        return Standardised(Standard(Measure.OWN, nothing, 1.0), residuals, residuals.own)
    spreads: dict[tuple[Measure, bool], Floats] = {}
    for measure in Measure:
        spread = measure.spread(residuals.own)
        spreads[measure, False] = spread
        spreads[measure, True] = spread * _factor_of_other_folds(factors, residuals, spread)
    seen = ~residuals.censored
    best, corrected = _best(residuals.take(seen), {choice: spread[seen] for choice, spread in spreads.items()})
    everything = np.ones(len(residuals.error), dtype=bool)
    plain = spreads[best, False]
    correction = _learn(factors, residuals, plain, everything) if corrected else nothing
    spread = spreads[best, corrected]
    unit = float(np.sqrt(np.mean((residuals.error[seen] / spread[seen]) ** 2))) or 1.0
    return Standardised(Standard(best, correction, unit), residuals, unit * spread)


def _enough(units: Ints) -> bool:
    """Whether there are enough rows to learn the distribution of scores from them."""
    return len(np.unique(units)) >= CONFORMAL_ROWS


def _best(residuals: Residuals, spreads: dict[tuple[Measure, bool], Floats]) -> tuple[Measure, bool]:
    """The measure with the least loss, if it clearly beats the model's own."""
    losses = {choice: _losses(residuals, spread) for choice, spread in spreads.items()}
    own = Measure.OWN, False
    best = min(losses, key=lambda choice: float(losses[choice].mean()))
    gain = losses[own] - losses[best]
    return best if gain.mean() > CLEARLY * gain.std() / np.sqrt(len(gain)) else own


def _losses(residuals: Residuals, spread: Floats) -> Floats:
    """Pinball losses of quantiles of the error, each fold by what the others say; all relative to the response.

    On a logarithmic scale errors are that already. As responses they would not do: a bound that is absurd in one place
    has a loss there that drowns all others.
    """
    scores = residuals.error / spread
    quantiles = np.empty((len(scores), len(TAILS)))
    for fold in np.unique(residuals.folds):
        own = residuals.folds == fold
        quantiles[own] = np.quantile(scores[~own], TAILS, method="weibull")
    losses = pinball(spread[:, None] * quantiles, residuals.error, TAILS).mean(axis=1)
    if residuals.scale is Scale.IDENTITY:
        losses = losses / np.maximum(np.abs(residuals.location), SMALLEST)
    return np.asarray(losses, dtype=float)


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
