"""The queue as an experiment's runs saw it, where they came by themselves rather than one after the other.

Beside the mean wait that was measured stands the one that the formula for a queue with these rates gives (M/G/k): where
the two disagree, something else than the queue made runs wait.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from coxswain.core.api.experiment import ExperimentSpec
from coxswain.core.api.status import QueueSummary
from coxswain.core.errors import InputError
from coxswain.core.observations import Observation
from coxswain.core.queueing.estimation import QueueEstimate, estimate
from coxswain.core.queueing.records import JobRecords

_HOUR = 3600.0
# Workers and the cluster tell the time by the second.
_RESOLUTION = 1.0


def queue_of(spec: ExperimentSpec, observations: Sequence[Observation]) -> QueueEstimate | None:
    """The queue that the runs of an experiment with arrivals went through; None where there was none to speak of."""
    waited = [each for each in observations if "wait" in each.responses and "duration" in each.responses]
    if spec.arrivals is None or not waited:
        return None
    start = np.array([datetime.fromisoformat(each.started).timestamp() for each in waited])
    arrival = start - [each.responses["wait"] for each in waited]
    end = start + [each.responses["duration"] for each in waited]
    order = np.argsort(arrival, kind="stable")
    arrival, start, end = (times[order] - arrival.min() for times in (arrival, start, end))
    records = JobRecords(arrival, start, end, _RESOLUTION)
    servers = spec.parallelism if spec.parallelism >= records.most_at_once else None
    try:
        return estimate(records, servers)
    except InputError:
        return None


def queue_summary(queue: QueueEstimate) -> QueueSummary:
    """In short, for the status."""
    return QueueSummary(
        arrivals_per_hour=_HOUR * queue.arrival_rate.value,
        mean_service_seconds=queue.service_time.value,
        utilization=queue.utilization,
        mean_wait_seconds=queue.wait_time,
        expected_wait_seconds=_expected_wait(queue),
    )


def queue_document(queue: QueueEstimate) -> dict[str, Any]:
    """Whole, for the results."""
    return {
        "jobs": queue.jobs,
        "servers": queue.servers,
        "arrivals_per_hour": _HOUR * queue.arrival_rate.value,
        "looks_poisson": queue.looks_poisson,
        "service_seconds": queue.service_time.value,
        "service_cv2": queue.service_cv2.value,
        "utilization": queue.utilization,
        "p_queue": queue.p_queue,
        "wait_seconds": queue.wait_time,
        "expected_wait_seconds": _expected_wait(queue),
    }


def _expected_wait(queue: QueueEstimate) -> float | None:
    model = queue.queue()
    return model.wait_time if model.is_stable else None
