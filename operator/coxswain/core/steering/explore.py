"""Exploring: a few jobs with ample time run with a setting drawn at random, so that models do not starve by steering.

Where every job gets the setting that looks best, nothing is learned of the others, and what once looked bad stays so.
`explorePercent` says how many of a kind of jobs may vary. Which ones, and how, follows from their UIDs: the same in
every plan, whoever makes it. Ample is time for twice the bound; the setting is one within `adjust`, as always.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from coxswain.core.api.status import DEADLINE_ATTAINABLE
from coxswain.core.jobs.view import Job
from coxswain.core.planning.times import Times

AMPLE = 2.0
REASON = "drawn at random among the settings with ample time, so that forecasts keep improving (explorePercent)."


def explores(job: Job) -> bool:
    """Whether a job is one of those that may vary: steered, and not known to be short of time."""
    steering = job.spec.steering
    condition = job.status.condition(DEADLINE_ATTAINABLE)
    late = condition is not None and condition.status == "False"
    return steering.mode == "Auto" and not late and _luck(job) % 100 < steering.explore_percent


def drawn(job: Job, times: Sequence[Times], now: datetime) -> int | None:
    """Which of its settings a job should run with that take so long; None if none leaves it ample time."""
    left = (job.deadline - now).total_seconds() if job.deadline else np.inf
    confidence = job.spec.steering.confidence_percent / 100
    order = np.random.Generator(np.random.PCG64(_luck(job))).permutation(len(times))
    # The first in an order of its own: it stays the same for as long as there is ample time for it.
    return next((place for place in order.tolist() if AMPLE * times[place].quantile(confidence) <= left), None)


def _luck(job: Job) -> int:
    return int.from_bytes(hashlib.sha256(job.uid.encode()).digest()[:8], "big")
