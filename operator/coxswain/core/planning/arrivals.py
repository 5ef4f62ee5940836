"""Jobs to come, as far as those that came tell: how often, what each needs, how long it takes, how soon it is due.

The rate is that of a Poisson stream, over the time since the first that is known. Jobs that were submitted together are
a burst and not a rate, so that time is never taken for shorter than a span in which bursts even out. Who came more than
a day ago says nothing about today, and a few jobs tell nothing at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coxswain.core.planning.times import LEVELS, Times
from coxswain.core.planning.values import DAY, Arrivals, Capacity
from coxswain.core.queueing.estimation import poisson_rate

HOUR = 3600.0
FEWEST = 8


@dataclass(frozen=True, slots=True)
class Came:
    """A job that has come: when, what it needs, how long it takes, and the seconds from then until it is due."""

    at: float
    need: Capacity
    seconds: float
    due: float
    priority: int = 0


def arrivals_like(came: Sequence[Came], now: float, *, least_span: float = HOUR) -> Arrivals | None:
    """What is to come if it is like what has come lately; None if that is too little to tell.

    A clock that was set back leaves some who came after now: they came just now.
    """
    came = [each for each in came if each.at > now - DAY]
    if len(came) < FEWEST:
        return None
    span = max(now - min(each.at for each in came), least_span)
    return Arrivals(
        rate=poisson_rate(len(came), span).value,
        need=Capacity(
            int(np.median([each.need.cores for each in came])), int(np.median([each.need.gpus for each in came]))
        ),
        times=Times(np.quantile([max(each.seconds, 0.0) for each in came], LEVELS)),
        due=Times(np.quantile([max(each.due, 0.0) for each in came], LEVELS)),
        priority=int(np.median([each.priority for each in came])),
    )
