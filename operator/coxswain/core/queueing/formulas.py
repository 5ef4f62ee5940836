"""One Poisson stream of jobs, k equal servers, first come first served: the means, tails and quantiles.

The four textbook queues are one formula. With Erlang's C for the chance to wait in M/M/k, the mean wait of M/G/k is
taken as (1 + cv2) / 2 times that of M/M/k (Lee and Longton, 1959). For cv2 = 1 this is M/M/k itself, for one server it
is the Pollaczek-Khinchine formula: both exact. Only for several servers and cv2 other than 1 is it an approximation:
mean and variance alone do not fix that wait, and docs/queueing.md tables how far it is from simulation.

Means hold for any order of service that ignores job sizes; tails and quantiles only for first come first served. They
are given where cv2 = 1 and are None elsewhere, because mean and variance of the service do not determine them.

A queue offered as much as its servers can do, or more, is not an error but an answer: every mean is infinite.
"""

import math
from dataclasses import dataclass
from typing import Self

from scipy.optimize import brentq

from coxswain.core.errors import InputError
from coxswain.core.queueing.checks import require_not_negative, require_positive

MOST_SERVERS = 100_000
"""Erlang's recursion takes one step a server; beyond this the question is no longer one of waiting."""


def erlang_c(servers: int, offered_load: float) -> float:
    """The chance that a job has to wait in M/M/k; `offered_load` is arrival rate over the service rate of one server.

    Erlang's B is built up server by server. Each step adds and multiplies positive numbers below `servers`, so nothing
    overflows or cancels, whatever the number of servers; the textbook's powers and factorials do from about 170 on.
    """
    if offered_load >= servers:
        return 1.0
    blocked = 1.0
    for server in range(1, servers + 1):
        blocked = offered_load * blocked / (server + offered_load * blocked)
    return blocked / (1 - offered_load / servers * (1 - blocked))


@dataclass(frozen=True)
class Queue:
    """A queue in the long run, and everything the formulas say about it; rates are per unit of time, mu per server."""

    arrival_rate: float
    service_rate: float
    servers: int = 1
    cv2: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.servers <= MOST_SERVERS:
            raise InputError(f"servers is {self.servers}; give a whole number from 1 to {MOST_SERVERS}.")
        require_not_negative("the arrival rate", self.arrival_rate)
        require_positive("the service rate", self.service_rate)
        require_not_negative("cv2 of the service time", self.cv2)
        if not (math.isfinite(self.capacity) and math.isfinite(1 / self.service_rate)):
            raise InputError(f"the service rate {self.service_rate:g} is out of range; use another unit of time.")

    @classmethod
    def at_utilization(cls, utilization: float, service_rate: float, servers: int = 1, cv2: float = 1.0) -> Self:
        """The queue whose servers are busy this share of the time."""
        require_not_negative("the utilisation", utilization)
        return cls(utilization * servers * service_rate, service_rate, servers, cv2)

    @property
    def name(self) -> str:
        """In Kendall's notation, such as M/M/4."""
        return f"M/{'M' if self.cv2 == 1 else 'G'}/{self.servers}"

    @property
    def is_exact(self) -> bool:
        """Whether the means are exact; else the mean wait is Lee and Longton's approximation."""
        return self.cv2 == 1 or self.servers == 1

    @property
    def capacity(self) -> float:
        """The rate at which jobs leave when every server is busy."""
        return self.servers * self.service_rate

    @property
    def utilization(self) -> float:
        """The share of the servers' capacity that is asked for; at 1 or above the queue is not stable."""
        return self.arrival_rate / self.capacity

    @property
    def is_stable(self) -> bool:
        """Whether the queue comes to rest; otherwise it grows for ever and every mean is infinite."""
        return self.utilization < 1

    @property
    def p_queue(self) -> float:
        """The chance that a job has to wait: P(wait > 0); for M/G/k that of M/M/k, as Lee and Longton take it."""
        if not self.is_stable:
            return 1.0
        return erlang_c(self.servers, self.arrival_rate / self.service_rate)

    @property
    def wait_time(self) -> float:
        """The mean time from arrival to start, E[W]."""
        if not self.is_stable:
            return math.inf
        return (1 + self.cv2) / 2 * self.p_queue / (self.capacity - self.arrival_rate)

    @property
    def response_time(self) -> float:
        """The mean time from arrival to end, E[T]."""
        return self.wait_time + 1 / self.service_rate

    @property
    def number_in_queue(self) -> float:
        """The mean number of jobs that wait, E[Nq], by Little's law."""
        return self.arrival_rate * self.wait_time

    @property
    def number_in_system(self) -> float:
        """The mean number of jobs that wait or run, E[N], by Little's law."""
        return self.arrival_rate * self.response_time

    def p_wait_longer_than(self, time: float) -> float | None:
        """P(wait > time) where the service is exponential, else None."""
        require_not_negative("the time to wait longer than", time)
        if self.cv2 != 1:
            return None
        if not self.is_stable:
            return 1.0
        return self.p_queue * math.exp(-(self.capacity - self.arrival_rate) * time)

    def p_response_longer_than(self, time: float) -> float | None:
        """P(response > time) where the service is exponential, else None.

        A job that waits needs an exponential wait of rate `drain` and then its service; one that does not, only the
        latter. The difference quotient of the two exponentials is written so that neither equal rates nor long times
        hurt.
        """
        require_not_negative("the time to respond in", time)
        if self.cv2 != 1:
            return None
        if not self.is_stable:
            return 1.0
        drain = self.capacity - self.arrival_rate
        slower, faster = sorted((drain, self.service_rate))
        gap = (faster - slower) * time
        both_pending = math.exp(-slower * time) * time * (-math.expm1(-gap) / gap if gap else 1.0)
        return math.exp(-self.service_rate * time) + self.p_queue * self.service_rate * both_pending

    def wait_time_quantile(self, probability: float) -> float | None:
        """The time within which this share of jobs starts, where the service is exponential, else None."""
        _require_probability(probability)
        if self.cv2 != 1:
            return None
        if not self.is_stable:
            return math.inf
        if self.p_queue <= 1 - probability:
            return 0.0
        return math.log(self.p_queue / (1 - probability)) / (self.capacity - self.arrival_rate)

    def response_time_quantile(self, probability: float) -> float | None:
        """The time within which this share of jobs ends, where the service is exponential, else None."""
        _require_probability(probability)
        if self.cv2 != 1:
            return None
        if not self.is_stable:
            return math.inf

        def excess(time: float) -> float:
            """How much likelier than allowed a longer response is."""
            return (self.p_response_longer_than(time) or 0.0) - (1 - probability)

        upper = self.response_time
        while excess(upper) > 0:
            upper *= 2
        return float(brentq(excess, 0.0, upper, xtol=1e-12 * upper))


def _require_probability(probability: float) -> None:
    if not 0 < probability < 1:
        raise InputError(f"the probability {probability:g} has no quantile; give a number between 0 and 1.")
