"""The alarm: whether runs of a family have begun to take longer, or less long, than is forecast.

It is a bet against the models. One who starts with a stake of 1 and bets, before each run ends, on a time that the
model thinks unlikely, multiplies his stake on average by no more than 1 as long as the model is right about how likely
times are. So he ever has a stake of 1/ALPHA with a probability of at most ALPHA, however long he plays (Ville's
inequality): that is the alarm, and ALPHA the chance of a false one for all time.

    z        the score of the time in the model's forecast, divided by how large scores have been (see below)
    p        = Φ(-z) for a bet on long times, Φ(z) for one on short times
    f(p)     = 1 / (2 sqrt p), at most 10: what the bet pays; its mean is no more than 1
    S(n)     = f(p(n)) · (S(n-1) + w(n)),  w(n) = 1 / (n (n + 1))
    stake    = the mean of both S(n), + 1 / (n + 1)

The weights w spread the stake over all moments at which something might change, so that years without a change cost
little when there is one. One surprise pays 10 and is no alarm; about five in a row are.

A model that is always too sure of itself is no drift, and its bounds adapt to that. So scores are divided by the usual
size of those before them where that is larger than it should be: their median, in units of a normal deviation. That
makes bets pay less and never more, so the chance of a false alarm stays below ALPHA.

Forecasts by the same model err together, which would look like drift. So only those count that had learned how the one
before them ended, as many as can be found.
"""

import math
from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from scipy.special import ndtr

from coxswain.core.forecasts.scores import Scored
from coxswain.core.models.types import Floats

ALPHA = 0.05
MOST_PAID = 10.0
_USUAL = 0.6745
"""The median of the size of a normal deviation."""
RECOVERED = 5
"""When most of the last so many forecasts, made since the alarm, held at 90 %, it is over."""
_HELD = 1.645


@dataclass(frozen=True)
class Drift:
    """A change that was noticed: about when it was, when that was noticed, and by what factor times are longer."""

    since: datetime
    noticed: datetime
    ratio: float
    over: bool
    """Whether forecasts hold again."""


def drift_in(forecasts: Iterable[Scored]) -> Drift | None:
    """The last change that forecasts, in the order in which their runs finished, give reason to think of."""
    chain = one_by_one(forecasts)
    found: Drift | None = None
    while (alarm := first_alarm(chain)) is not None:
        changed = chain[alarm[0] : alarm[1] + 1]
        errors = [each.seconds / each.issued.duration_seconds.expected for each in changed]
        noticed = changed[-1].ended
        # What was forecast before the alarm was forecast by models that knew nothing of the change.
        chain = [each for each in chain if each.knew >= noticed]
        found = Drift(changed[0].issued.time, noticed, float(np.median(errors)), over=_recovered(chain))
    return found


def _recovered(chain: Sequence[Scored]) -> bool:
    last = [abs(each.score) for each in chain[-RECOVERED:]]
    return len(last) == RECOVERED and float(np.median(last)) <= _HELD


def one_by_one(forecasts: Iterable[Scored]) -> list[Scored]:
    """The longest sequence of forecasts each of which knew how the one before it had ended."""
    chain: list[Scored] = []
    for each in forecasts:
        if not chain or each.knew >= chain[-1].ended:
            chain.append(each)
    return chain


def first_alarm(chain: Sequence[Scored]) -> tuple[int, int] | None:
    """The first and the last of the forecasts that raise the alarm, if any do."""
    scores = np.array([each.score for each in chain])
    long = short = 0.0
    sizes: list[float] = []
    for place, score in enumerate(scores.tolist()):
        usual = sizes[len(sizes) // 2] / _USUAL if sizes else 1.0
        placed = score / max(usual, 1.0)
        insort(sizes, abs(score))
        weight = 1 / ((place + 1) * (place + 2))
        long, short = _paid(-placed) * (long + weight), _paid(placed) * (short + weight)
        if (long + short) / 2 + 1 / (place + 2) >= 1 / ALPHA:
            return _change(scores[: place + 1]), place
    return None


def _paid(score: float) -> float:
    """What a bet on a time pays whose chance is that of lying below a score."""
    return min(0.5 / math.sqrt(max(float(ndtr(score)), 1e-300)), MOST_PAID)


def _change(scores: Floats) -> int:
    """From which score on they are others than before, by least squares."""
    before, sums = np.arange(1, len(scores)), np.cumsum(scores)
    if not len(before):
        return 0
    after = len(scores) - before
    gained = (sums[:-1] / before - (sums[-1] - sums[:-1]) / after) ** 2 * before * after
    return int(before[np.argmax(gained)])
