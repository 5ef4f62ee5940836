"""A predictive distribution in thirteen numbers: the seconds it gives at normal scores from -3 to 3.

So much is kept of a forecast, so that what came can be placed in it later: the score of a time is where it lies, 0 at
the median and 1.645 at the bound of 95 %. Between two scores the logarithm of the time is linear, and beyond the ends
it goes on as it was before them, so that a time far from all that was thought possible still has a score.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from coxswain.core.models.types import Floats

SCORES: Floats = np.linspace(-3.0, 3.0, 13)
LEVELS: Floats = np.asarray(ndtr(SCORES), dtype=float)
FARTHEST = 10.0
"""No score is further out than this: what is ten deviations off is no more surprising than what is twenty."""
_LEAST_SECONDS, _MOST_SECONDS = 1e-3, 1e9
# Neighbours that are rounded to the same value still have an order.
_APART = 1e-9


def fan_of(quantile: Callable[[Floats], Floats]) -> tuple[float, ...]:
    """The fan of a distribution that is given by its quantiles, which are taken at an array of levels."""
    seconds = np.clip(np.maximum.accumulate(quantile(LEVELS)), _LEAST_SECONDS, _MOST_SECONDS)
    return tuple(float(f"{value:.4g}") for value in seconds)


def score_of(fan: Sequence[float], seconds: float) -> float:
    """Where a time lies in a fan."""
    logs, wanted = _logs(fan), np.log(max(seconds, _LEAST_SECONDS))
    inside = float(np.interp(wanted, logs, SCORES))
    for end, inner in ((0, 1), (-1, -2)):
        beyond = (wanted - logs[end]) * (SCORES[end] - SCORES[inner]) / (logs[end] - logs[inner])
        if beyond * SCORES[end] > 0:
            inside += float(beyond)
    return min(max(inside, -FARTHEST), FARTHEST)


def seconds_at(fan: Sequence[float], scores: Floats) -> Floats:
    """The seconds of a fan at some scores; the inverse of `score_of`."""
    logs = _logs(fan)
    slopes = [(logs[end] - logs[inner]) / (SCORES[end] - SCORES[inner]) for end, inner in ((0, 1), (-1, -2))]
    below, above = np.minimum(scores - SCORES[0], 0.0), np.maximum(scores - SCORES[-1], 0.0)
    return np.asarray(np.exp(np.interp(scores, SCORES, logs) + slopes[0] * below + slopes[1] * above), dtype=float)


def scores_at(levels: Floats) -> Floats:
    """The normal scores of some levels."""
    return np.asarray(ndtri(levels), dtype=float)


def _logs(fan: Sequence[float]) -> Floats:
    logs = np.log(np.maximum(np.asarray(fan, dtype=float), _LEAST_SECONDS))
    return np.asarray(np.maximum.accumulate(logs) + _APART * np.arange(len(logs)), dtype=float)
