"""The exact recursion of a first-come-first-served queue, many replications at a time.

Kiefer and Wolfowitz (1955): keep how much work is left at each server, in ascending order. A job waits for the smallest
of these numbers and adds its own service time to it; until the next arrival all of them shrink. For one server this is
Lindley's recursion. There is no calendar of events: what a job waits depends on the jobs before it alone, so the
recursion steps from job to job and does the same step in every replication at once.

Replications are independent and start empty; their first jobs are left out, and the spread between them gives an honest
standard error, which the waits within one replication, being correlated, would not.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from coxswain.core.errors import InputError
from coxswain.core.queueing.distributions import Times

_BLOCK = 1_000
"""Jobs drawn at a time: enough to make the drawing cheap, few enough to stay in the processor's cache."""


def waits(gaps: np.ndarray, services: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """How long each job waits; time runs along the first axis, replications along the second.

    Args:
        gaps: the time from each job's predecessor's arrival to its own.
        services: the jobs' service times.
        ahead: the work left at each server (first axis, ascending) when the predecessor had come; it is carried on in
            place, so that a long history can be passed in blocks.
    """
    result = np.empty(services.shape)
    last = len(ahead) - 1
    for job, (gap, service) in enumerate(zip(gaps, services, strict=True)):
        ahead -= gap
        np.maximum(ahead, 0, out=ahead)
        result[job] = ahead[0]
        moving = ahead[0] + service
        for server in range(last):  # insert the server that took the job where it now belongs
            np.minimum(ahead[server + 1], moving, out=ahead[server])
            np.maximum(ahead[server + 1], moving, out=moving)
        ahead[last] = moving
    return result


@dataclass(frozen=True)
class Mean:
    """A mean over independent replications, with the standard error their spread gives."""

    value: float
    standard_error: float


@dataclass(frozen=True)
class Simulated:
    """What happened to the jobs after the warm-up: one row a job, one column a replication."""

    span: np.ndarray
    """How much time passed in each replication."""
    waits: np.ndarray
    responses: np.ndarray

    @property
    def wait_time(self) -> Mean:
        """Mean time from arrival to start."""
        return _mean(self.waits.mean(axis=0))

    @property
    def response_time(self) -> Mean:
        """Mean time from arrival to end."""
        return _mean(self.responses.mean(axis=0))

    @property
    def number_in_system(self) -> Mean:
        """Mean number of jobs inside: the jobs' total time in the system over the time that passed."""
        return _mean(self.responses.sum(axis=0) / self.span)

    @property
    def p_queue(self) -> Mean:
        """The share of jobs that had to wait."""
        return self.p_wait_longer_than(0.0)

    def p_wait_longer_than(self, time: float) -> Mean:
        """The share of jobs that waited longer."""
        return _mean((self.waits > time).mean(axis=0))


def simulate(
    gaps: Times,
    services: Times,
    servers: int,
    *,
    jobs: int,
    warm_up: int,
    replications: int,
    generator: np.random.Generator,
) -> Simulated:
    """Run G/G/k from empty, `replications` times, and keep `jobs` jobs of each after leaving out `warm_up`.

    At utilisation u the queue forgets its start within about (1 + cv2) / (1 - u)**2 jobs, give or take the number of
    servers; the warm-up should be several times that.
    """
    if min(servers, jobs) < 1 or replications < 2 or warm_up < 0:
        raise InputError("a simulation needs at least 1 server, 1 job and 2 replications, and no negative warm-up.")
    ahead = np.zeros((servers, replications))

    def blocks(count: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
        """Let `count` more jobs come: their places, gaps, waits and responses."""
        for first in range(0, count, _BLOCK):
            size = (min(_BLOCK, count - first), replications)
            gap, service = gaps.draw(generator, size), services.draw(generator, size)
            wait = waits(gap, service, ahead)
            yield slice(first, first + size[0]), gap, wait, wait + service

    for _ in blocks(warm_up):
        pass
    waited, responded, span = np.empty((jobs, replications)), np.empty((jobs, replications)), np.zeros(replications)
    for place, gap, wait, response in blocks(jobs):
        waited[place], responded[place] = wait, response
        span += gap.sum(axis=0)
    return Simulated(span, waited, responded)


def _mean(of_replications: np.ndarray) -> Mean:
    spread = float(of_replications.std(ddof=1))
    return Mean(float(of_replications.mean()), spread / math.sqrt(len(of_replications)))
