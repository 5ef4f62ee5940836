"""Bounds that hold as often as they say, whatever happens: levels are read where earlier forecasts of the family say.

A forecast says at which score a share of all times should lie below: 95 % below 1.645, say. Where runs have come in
differently, that share lies below another score, and the track follows it. For every level it moves by a small step
after each run: up by `level` steps if the time lay above, down by `1 - level` steps if not. In the long run the shares
must then be what they say, or it would have moved without end; nothing is assumed about the runs. (That is adaptive
conformal inference, as quantile tracking on the scores.)

Levels followed one by one would cross: a bound at 90 % could lie above that at 95 %. So what is used is the nearest
sequence that ascends, and each level moves by whether *that* held, which leaves the long run as it is. Bounds at any
confidence and chances are so still read from one distribution.

The step is a share of the largest score of late, so that a track is quiet while forecasts hold and hurries after a
change.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from coxswain.core.forecasts.fan import LEVELS, SCORES
from coxswain.core.models.types import Floats

STEP = 0.05
LATE = 20
"""How many scores are late ones."""


@dataclass(frozen=True, eq=False)
class Track:
    """Where to read the distribution for each of the levels of a fan, as scores in ascending order."""

    scores: Floats

    def at(self, scores: Floats) -> Floats:
        """Where to read for some scores; beyond the ends as far out as at the end."""
        below, above = np.minimum(scores - SCORES[0], 0.0), np.maximum(scores - SCORES[-1], 0.0)
        return np.asarray(np.interp(scores, SCORES, self.scores) + below + above, dtype=float)

    @property
    def moved(self) -> bool:
        """Whether anything is read elsewhere than it says."""
        return not np.array_equal(self.scores, SCORES)


UNMOVED = Track(SCORES)


def track(scores: Iterable[float]) -> Track:
    """The track after forecasts whose times lay at some scores, in the order in which they came to be known."""
    return deque(tracks(scores), maxlen=1)[0]


def tracks(scores: Iterable[float]) -> Iterator[Track]:
    """The track that each of some scores comes upon, and at last the one after all of them."""
    hidden = SCORES.copy()
    shown = UNMOVED
    yield shown
    late: deque[float] = deque(maxlen=LATE)
    for score in scores:
        late.append(abs(score))
        hidden += STEP * max(late) * (LEVELS - (score <= shown.scores))
        shown = Track(np.asarray(isotonic_regression(hidden).x, dtype=float))
        yield shown
