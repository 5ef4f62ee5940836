"""One fast server or k slow ones? What the answer depends on, and where it turns.

Jobs of the same stream can go to k slow servers, or to one that is `speedup` times as fast as each of them (k times,
if nothing is lost by putting the cores together). At low load a job is alone and the fast server wins by the speed-up.
With more load jobs queue, and behind one server a long job holds up all others; with k servers it holds up a k-th of
them. So the more the service times vary, the sooner k slow servers win.

Both mean response times are straight lines in (1 + cv2) / 2, so the variability at which they cross is solved directly:

    1 / speedup + x * wait(fast) = 1 + x * wait(slow),    x = (1 + cv2) / 2

in units of the slow service time. The k servers' line is Lee and Longton's, so for k > 1 and cv2 other than 1 the
crossing is as approximate as that is.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy.optimize import brentq

from coxswain.core.errors import InputError
from coxswain.core.queueing.formulas import Queue


@dataclass(frozen=True)
class Choice:
    """The same jobs on k slow servers and on one fast server."""

    slow: Queue
    fast: Queue

    @property
    def ratio(self) -> float:
        """How many times longer the response takes on the slow servers; nan where both are overloaded."""
        if not (self.slow.is_stable or self.fast.is_stable):
            return math.nan
        return self.slow.response_time / self.fast.response_time

    @property
    def fast_wins(self) -> bool:
        """Whether the mean response time of the fast server is shorter."""
        return self.fast.response_time < self.slow.response_time


def one_fast_or_many_slow(slow: Queue, speedup: float | None = None) -> Choice:
    """Put the jobs of `slow` on one server, `speedup` times as fast as one of its servers (by default k times)."""
    factor = _checked_speedup(slow.servers, speedup)
    return Choice(slow, Queue(slow.arrival_rate, factor * slow.service_rate, servers=1, cv2=slow.cv2))


def curves(utilizations: Iterable[float], servers: int, cv2: float, speedup: float | None = None) -> list[Choice]:
    """Both response times over the load of the slow servers, in units of the slow service time."""
    return [one_fast_or_many_slow(Queue.at_utilization(load, 1.0, servers, cv2), speedup) for load in utilizations]


def crossing_cv2(servers: int, utilization: float, speedup: float | None = None) -> float:
    """The cv2 above which k slow servers answer sooner than the fast one, at this load of the slow servers.

    0 where they do for any variability, infinite where they never do.
    """
    slow = Queue.at_utilization(utilization, 1.0, servers)
    fast = one_fast_or_many_slow(slow, speedup).fast
    if not slow.is_stable:
        raise InputError(f"at utilisation {utilization:g} no queue comes to rest; give a number below 1.")
    if not fast.is_stable:
        return 0.0
    gained_by_speed = 1 - 1 / fast.service_rate
    lost_by_waiting = fast.wait_time - slow.wait_time
    if lost_by_waiting <= 0:
        return math.inf
    return max(0.0, 2 * gained_by_speed / lost_by_waiting - 1)


def crossing_utilization(servers: int, cv2: float, speedup: float | None = None) -> float | None:
    """The load above which k slow servers answer sooner than the fast one, at this variability.

    The cv2 of the crossing falls with the load, so there is one such load, or none: 0 where the slow ones win at any
    load, None where they win at no load.
    """
    nearly_none, nearly_full = 1e-6, 1 - 1e-6

    def lead(utilization: float) -> float:
        """Above 0 where the slow servers win; of reciprocals, so that an overloaded fast server is no trouble."""
        (choice,) = curves([utilization], servers, cv2, speedup)
        return 1 / choice.slow.response_time - 1 / choice.fast.response_time

    if lead(nearly_full) <= 0:
        return None
    if lead(nearly_none) >= 0:
        return 0.0
    return float(brentq(lead, nearly_none, nearly_full, xtol=1e-12))


def _checked_speedup(servers: int, speedup: float | None) -> float:
    factor = float(servers) if speedup is None else speedup
    if not (math.isfinite(factor) and factor >= 1):
        raise InputError(f"the speed-up of the fast server is {factor:g}; give a number of 1 or more.")
    return factor
