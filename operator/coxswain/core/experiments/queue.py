"""The queue as an experiment's runs saw it, where they came by themselves rather than one after the other.

Beside the mean wait that was measured stands the one that the formula for a queue with these rates gives (M/G/k): where
the two disagree, something else than the queue made runs wait.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from coxswain.core.api.experiment import ExperimentSpec
from coxswain.core.api.status import QueueSummary
from coxswain.core.errors import InputError
from coxswain.core.forecasts.scores import began_at
from coxswain.core.ledger.entry import Entry
from coxswain.core.queueing.estimation import QueueEstimate, estimate
from coxswain.core.queueing.records import JobRecords

_HOUR = 3600.0
# Workers and the cluster tell the time by the second.
_RESOLUTION = 1.0


def queue_of(spec: ExperimentSpec, entries: Sequence[Entry]) -> QueueEstimate | None:
    """The queue that the runs of an experiment with arrivals went through; None where there was none to speak of."""
    # A worker of a user's own may say anything of when it began.
    waited = [
        (began, entry.observation.responses)
        for entry in entries
        if (began := began_at(entry)) is not None and entry.observation.responses.keys() >= {"wait", "duration"}
    ]
    if spec.arrivals is None or not waited:
        return None
    start = np.array([began for began, _ in waited])
    arrival = start - [responses["wait"] for _, responses in waited]
    end = start + [responses["duration"] for _, responses in waited]
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
