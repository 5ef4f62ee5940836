"""What the records of finished jobs say about a queue: rates and moments with intervals, and what was measured.

The arrival rate has the exact interval of a Poisson stream, the mean service time Student's. The variability has an
error by the delta method, its interval on the logarithm because it cannot be negative; where a few long jobs
dominate, it takes many jobs for that interval to be wide enough. Whether the arrivals can be a Poisson stream is
tested. Waits of successive jobs are correlated, so that their spread says nothing of how far their mean is off; that
comes from the theory of the queue instead.

The number of servers, where it is not given, is the most jobs that ever ran at once: a lower bound, reached soon in a
queue that is sometimes full.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from coxswain.core.errors import InputError
from coxswain.core.queueing.formulas import Queue
from coxswain.core.queueing.records import JobRecords

_FEWEST_JOBS = 4  # three gaps: the fewest whose variability has an error


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and interval."""

    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class QueueEstimate:
    """A queue as its records show it: first what the formulas start from, then what they should come to."""

    jobs: int
    servers: int
    servers_inferred: bool
    arrival_rate: Estimate
    service_time: Estimate
    service_cv2: Estimate
    gap_cv2: Estimate
    """Variability of the times between arrivals: 1 for a Poisson stream."""
    looks_poisson: bool
    """Whether that variability is what so many arrivals of a Poisson stream show; all formulas assume such a stream."""
    p_queue: float
    """The share of jobs that found every server taken when they came."""
    wait_time: float
    response_time: float
    number_in_queue: float
    number_in_system: float

    @property
    def utilization(self) -> float:
        """The share of the servers' capacity that the jobs ask for."""
        return self.arrival_rate.value * self.service_time.value / self.servers

    @property
    def wait_time_relative_error(self) -> float:
        """By how much of itself the mean wait over so many jobs differs from its long-run value, typically.

        One standard error in heavy traffic (Whitt, 1989), where only jobs that wait are counted; that keeps it within
        a factor of two at moderate loads too. Infinite where there is no long-run value, or none but 0.
        """
        model = self.queue()
        if not model.is_stable or model.p_queue == 0:
            return math.inf
        return math.sqrt(2 * (1 + model.cv2) / (self.jobs * model.p_queue)) / (1 - model.utilization)

    def queue(self, *, exponential: bool = False) -> Queue:
        """The queue the formulas solve: M/G/k with the estimated variability, or M/M/k."""
        cv2 = 1.0 if exponential else self.service_cv2.value
        return Queue(self.arrival_rate.value, 1 / self.service_time.value, self.servers, cv2)


def estimate(records: JobRecords, servers: int | None = None, confidence: float = 0.95) -> QueueEstimate:
    """Estimate a queue from its records; the number of servers is the most jobs at once unless it is given."""
    jobs = len(records.arrival)
    if jobs < _FEWEST_JOBS:
        raise InputError(f"there are {jobs} jobs, too few to estimate from; give at least {_FEWEST_JOBS}.")
    if not records.gaps.any():
        raise InputError("column arrival: all jobs arrived at the same time, which has no rate; give their true times.")
    if not records.services.any():
        raise InputError("column end: every job ended as it started; give the times at which they truly ended.")
    if servers is not None and servers < records.most_at_once:
        raise InputError(f"{records.most_at_once} jobs ran at the same time; give that many servers or more.")
    observed = float(records.end.max() - records.arrival[0])
    taken = records.most_at_once if servers is None else servers
    return QueueEstimate(
        jobs=jobs,
        servers=taken,
        servers_inferred=servers is None,
        arrival_rate=poisson_rate(jobs - 1, float(records.gaps.sum()), confidence),
        service_time=_mean(records.services, confidence),
        service_cv2=_cv2(records.services, confidence),
        gap_cv2=_cv2(records.gaps, confidence),
        looks_poisson=_looks_poisson(records.gaps, confidence),
        p_queue=float((records.found_on_arrival >= taken).mean()),
        wait_time=float(records.waits.mean()),
        response_time=float(records.responses.mean()),
        number_in_queue=float(records.waits.sum()) / observed,
        number_in_system=float(records.responses.sum()) / observed,
    )


def poisson_rate(events: int, time: float, confidence: float = 0.95) -> Estimate:
    """Twice the rate times the time that `events` gaps took has the chi-squared distribution with 2 * events df."""
    rate = events / time
    low, high = stats.chi2.interval(confidence, 2 * events)
    return Estimate(rate, rate / math.sqrt(events), float(low) / (2 * time), float(high) / (2 * time))


def _mean(values: np.ndarray, confidence: float) -> Estimate:
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    reach = error * float(stats.t.ppf((1 + confidence) / 2, len(values) - 1))
    return Estimate(mean, error, mean - reach, mean + reach)


def _cv2(values: np.ndarray, confidence: float) -> Estimate:
    """Variance over squared mean; its error is the spread of how much each value pulls at it (the delta method)."""
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    cv2 = variance / mean**2
    if cv2 == 0:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    off = values - mean
    pulls = (off**2 - variance) / mean**2 - 2 * cv2 * off / mean
    error = float(pulls.std(ddof=1)) / math.sqrt(len(values))
    reach = math.exp(float(stats.t.ppf((1 + confidence) / 2, len(values) - 1)) * error / cv2)
    return Estimate(cv2, error, cv2 / reach, cv2 * reach)


def _looks_poisson(gaps: np.ndarray, confidence: float) -> bool:
    """Greenwood's test: the sum of the squared shares of the gaps, whose moments are known for a Poisson stream."""
    count = len(gaps)
    expected = 2 / (count + 1)
    deviation = expected * math.sqrt((count - 1) / ((count + 2) * (count + 3)))
    found = float((gaps**2).sum() / gaps.sum() ** 2)
    return abs(found - expected) <= float(stats.norm.ppf((1 + confidence) / 2)) * deviation
