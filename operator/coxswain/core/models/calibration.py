"""From errors on rows left out to a distribution that holds as often as it says.

A score is an error in units of what the model expected: (observed - predicted) / expected spread, on the model's
scale, for a row that the model did not see. By exchangeability the score of a new row is equally likely to fall
between any two neighbours of the R scores seen, or beyond either end: the i-th smallest is exceeded with probability
1 - i / (R + 1). That is conformal prediction; it assumes no shape of the noise, and at 95 % it needs 19 rows. Between
neighbours the distribution is interpolated, so that a bound is not wider than asked for; beyond the ends, and with
fewer rows altogether, a t distribution is assumed, and the bound says so.

In the tails neighbours lie ever further apart, so the interpolation is linear in 1 / score there (and in the score
around 0). Linear in the score throughout, a 95 % bound holds for up to 95.7 % of new rows; so it holds for 95.0 to
95.2 %, for normal, t, exponential and log-normal errors alike, and one surprise among few rows weighs less.

The row is the unit: runs of one row share the row's weight. R rows of several runs count for as many as they are worth
(Kish's effective number): for R if the runs of a row err together, for more if they err each for itself. The score of
a killed run is only known to lie above a limit: its weight is passed on to the larger ones (Kaplan and Meier), never
dropped.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import fdtri, stdtr, stdtrit

from coxswain.core.models.types import Bools, Floats, Ints

# As many rows as conformal prediction needs at 95 %; with fewer a parametric distribution serves throughout.
CONFORMAL_ROWS = 19
# A t distribution with fewer degrees of freedom has no variance to match, or hardly one.
FEWEST_DOF = 4.0
# With few rows errors no larger than chance makes them so often are no surprise.
LIKELY = 0.8
# Scores below this share of the median are around 0 as far as interpolation goes.
ORDINARY = 0.25


class Basis(StrEnum):
    """What a bound rests on."""

    CONFORMAL = "conformal"
    PARAMETRIC = "parametric"


@dataclass(frozen=True, eq=False)
class Calibration:
    """A distribution of scores: knots (scores and the probability to lie below), and a t distribution beyond them."""

    knots: Floats
    levels: Floats
    tail_scale: float
    tail_dof: float
    rows: int
    middle: float = 1.0
    """A score below which errors are ordinary."""

    def quantile(self, level: Floats) -> Floats:
        """The score that is not exceeded with a probability."""
        assumed = self.tail_scale * stdtrit(self.tail_dof, level)
        if not len(self.knots):
            return np.asarray(assumed, dtype=float)
        inside = self._unbent(np.interp(level, self.levels, self._bent(self.knots)))
        ends = self.tail_scale * stdtrit(self.tail_dof, self.levels[[0, -1]])
        below = self.knots[0] + np.minimum(assumed - ends[0], 0.0)
        above = self.knots[-1] + np.maximum(assumed - ends[1], 0.0)
        return np.where(level < self.levels[0], below, np.where(level > self.levels[-1], above, inside))

    def cdf(self, score: Floats) -> Floats:
        """The probability not to exceed a score; the inverse of `quantile`."""
        if not len(self.knots):
            return np.asarray(stdtr(self.tail_dof, score / self.tail_scale), dtype=float)
        inside = np.interp(self._bent(score), self._bent(self.knots), self.levels)
        ends = self.tail_scale * stdtrit(self.tail_dof, self.levels[[0, -1]])
        below = stdtr(self.tail_dof, (score - self.knots[0] + ends[0]) / self.tail_scale)
        above = stdtr(self.tail_dof, (score - self.knots[-1] + ends[1]) / self.tail_scale)
        return np.where(score < self.knots[0], below, np.where(score > self.knots[-1], above, inside))

    def _bent(self, score: Floats) -> Floats:
        """A monotone function of the score that is linear around 0 and linear in its reciprocal far from it."""
        return score / (1 + np.abs(score) / self.middle)

    def _unbent(self, value: Floats) -> Floats:
        return value / (1 - np.abs(value) / self.middle)

    def basis(self, level: float) -> Basis:
        """What the quantile at a level rests on."""
        if len(self.knots) and self.levels[0] <= level <= self.levels[-1] + 1e-12:
            return Basis.CONFORMAL
        return Basis.PARAMETRIC


def calibrate(scores: Floats, units: Ints, censored: Bools, dof: float) -> Calibration:
    """The distribution of scores of rows left out; `dof` are the degrees of freedom of the spread they are in."""
    _, unit_of, sizes = np.unique(units, return_inverse=True, return_counts=True)
    rows = len(sizes)
    weights = 1 / sizes[unit_of.reshape(-1)]
    tail_dof = max(FEWEST_DOF, dof)
    square = float(np.sum((weights * scores**2)[~censored]) / np.sum(weights[~censored]))
    if rows < CONFORMAL_ROWS:
        # A few small errors are no reason to think better of a model than it thinks of itself, and somewhat large ones
        # may be chance: the mean of squares that share one estimate of their variance has an F distribution.
        surprising = max(1.0, square / float(fdtri(rows, tail_dof, LIKELY)))
        return Calibration(np.empty(0), np.empty(0), float(np.sqrt(surprising)), tail_dof, rows)
    scale = float(np.sqrt(square * (tail_dof - 2) / tail_dof))  # that of a t distribution with the scores' variance
    worth = effective_number(scores, unit_of.reshape(-1))
    knots, levels = _kaplan_meier(scores, weights / rows * worth / (worth + 1), censored)
    size = np.abs(knots)
    middle = max(ORDINARY * float(np.median(size)), 1e-6 * float(size.max())) or 1.0
    return Calibration(knots, levels, scale, tail_dof, rows, middle)


def effective_number(scores: Floats, unit_of: Ints) -> float:
    """How many independent scores the scores are worth, from the correlation between those of one unit."""
    sizes = np.bincount(unit_of)
    units, runs = len(sizes), len(scores)
    if runs == units:
        return float(units)
    means = np.bincount(unit_of, weights=scores) / sizes
    within = float(np.sum((scores - means[unit_of]) ** 2)) / (runs - units)
    between = float(np.sum(sizes * (means - scores.mean()) ** 2)) / (units - 1)
    usual_size = (runs - float(np.sum(sizes**2)) / runs) / (units - 1)
    total = between + (usual_size - 1) * within
    correlation = min(max((between - within) / total, 0.0), 1.0) if total else 1.0
    return runs / (1 + (runs / units - 1) * correlation)


def _kaplan_meier(scores: Floats, weights: Floats, censored: Bools) -> tuple[Floats, Floats]:
    """Scores that happened, and the probability to lie below each; what the weights lack to 1 lies beyond them all."""
    order = np.lexsort((censored, scores))
    sorted_weights, happened = weights[order], ~censored[order]
    at_risk = 1 - np.concatenate([[0.0], np.cumsum(sorted_weights)[:-1]])
    hazards = np.where(happened, sorted_weights / at_risk, 0.0)
    survival = np.cumprod(1 - hazards)
    jumps = np.concatenate([[1.0], survival[:-1]]) - survival
    # A new score lies beyond either end with the same probability, which has its part of what killed runs pass on; each
    # score is in the middle of its own jump.
    beyond = (1 - float(np.sum(weights))) * jumps / sorted_weights
    levels = (1 - survival - jumps / 2 + beyond / 2)[happened]
    knots = scores[order][happened]
    # Equal scores are told apart by a hair, so that the distribution stays invertible.
    hair = 1e-9 * (float(np.ptp(knots)) or 1.0)
    return np.maximum.accumulate(knots + hair * np.arange(len(knots))), levels
