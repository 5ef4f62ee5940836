"""How long something takes, as one distribution that thousands of jobs can be drawn from at once.

A distribution is kept as its values at evenly spaced normal scores: the value at score 0 is the median, that at 1.645
the bound at 95 %. Between two scores it is linear. Any quantile function fits into that, it takes 33 numbers, and a
draw is one look-up: durations of jobs that are predicted by the same model err together, so the score of a job is
`sqrt(shared) * score of its family + sqrt(1 - shared) * score of its own`, a Gaussian copula.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from coxswain.core.errors import InputError
from coxswain.core.models.types import Floats

_FAR = 4.0
_STEP = 0.25
SCORES: Floats = np.arange(-_FAR, _FAR + _STEP / 2, _STEP)
LEVELS: Floats = np.asarray(ndtr(SCORES), dtype=float)
# What a model leaves open after a few runs may have a tail so long that it alone makes the mean: for means, whatever
# lies beyond this score counts as what lies at it.
_TAIL = 2.0


def _weights() -> Floats:
    """What each score counts for in a mean: half of the probability on either side of it, up to the tail."""
    edges = np.concatenate([[0.0], ndtr((SCORES[1:] + SCORES[:-1]) / 2), [1.0]])
    weights = np.where(SCORES > _TAIL, 0.0, np.diff(edges))
    weights[SCORES == _TAIL] += 1.0 - weights.sum()
    return np.asarray(weights, dtype=float)


WEIGHTS = _weights()


@dataclass(frozen=True, eq=False)
class Times:
    """A distribution of seconds: `values` at SCORES, ascending; `shared` is the model's share of the variance."""

    values: Floats
    shared: float = 0.0

    def __post_init__(self) -> None:
        if self.values.shape != SCORES.shape or not np.all(np.diff(self.values) >= 0) or self.values[0] < 0:
            raise InputError(f"a distribution of times needs {len(SCORES)} ascending values of at least 0.")
        if not 0 <= self.shared < 1:
            raise InputError(f"the share of the model's error must be from 0 to below 1, not {self.shared:g}.")

    def chance(self, within: float) -> float:
        """The probability to take no longer than so many seconds."""
        return float(ndtr(score_at(self.values, np.array([within]))[0]))

    def quantile(self, level: float) -> float:
        """The seconds that are not exceeded with a probability."""
        return float(np.interp(ndtri(level), SCORES, self.values))

    @property
    def mean(self) -> float:
        """The expected seconds, but for the longest of tails."""
        return float(WEIGHTS @ self.values)


def times_of(quantile: Callable[[Floats], Floats], shared: float = 0.0) -> Times:
    """The distribution with a quantile function, which takes an array of levels."""
    return Times(np.maximum.accumulate(np.maximum(quantile(LEVELS), 0.0)), shared)


def lognormal(median: float, spread: float, shared: float = 0.0) -> Times:
    """A log-normal distribution; `spread` is the standard deviation of the logarithm."""
    return Times(median * np.exp(spread * SCORES), shared)


def exactly(seconds: float) -> Times:
    """A time that is known."""
    return Times(np.full(len(SCORES), float(seconds)))


def score_at(values: Floats, seconds: Floats) -> Floats:
    """The scores at which a distribution has some values; infinite beyond its ends."""
    inside = np.interp(seconds, values, SCORES)
    return np.where(seconds < values[0], -np.inf, np.where(seconds >= values[-1], np.inf, inside))


def draw(values: Floats, scores: Floats) -> Floats:
    """Values of distributions (one a row) at scores (one row each, or one row for all)."""
    place = np.clip((scores + _FAR) / _STEP, 0.0, len(SCORES) - 1 - 1e-9)
    below = place.astype(np.int64)
    rows = np.arange(len(values))[:, None]
    low = values[rows, below]
    return np.asarray(low + (place - below) * (values[rows, below + 1] - low), dtype=float)
