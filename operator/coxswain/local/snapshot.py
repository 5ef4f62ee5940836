"""How things are at a moment: what is done, what runs and how long it may still take.

The times left are for a person who watches: a run's own epochs tell once there are some, before that what other runs
took. They are no forecast with an interval; that is what the models are for.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from coxswain.core.expand import PlannedRun
from coxswain.local.active import Active


@dataclass(frozen=True)
class Running:
    """A job that runs: epochs trained of those planned, seconds since its start, seconds it may still take."""

    job: str
    attempt: int
    epochs: int
    planned: int
    seconds: float
    left: float | None


@dataclass(frozen=True)
class Snapshot:
    """All runs in numbers, and the running jobs one by one."""

    total: int
    done: int
    failed: int
    running: tuple[Running, ...]
    left: float | None


def take_snapshot(
    *,
    total: int,
    failed: int,
    waiting: Sequence[PlannedRun],
    active: Sequence[Active],
    durations: Sequence[float],
    lanes: int,
    elapsed: float,
) -> Snapshot:
    """The state of an experiment whose finished jobs took `durations`, and of whose runs `lanes` fit side by side."""
    now = time.monotonic()
    typical = sum(durations) / len(durations) if durations else None
    running = tuple(_running(each, now, typical) for each in active)
    return Snapshot(
        total=total,
        done=total - len(waiting) - len(active) - failed,
        failed=failed,
        running=tuple(job for jobs in running for job in jobs),
        left=_left(running, waiting, typical, lanes, elapsed),
    )


def _running(active: Active, now: float, typical: float | None) -> list[Running]:
    jobs = []
    for gang in active.gangs:
        planned, seconds = gang.planned_epochs, now - active.began
        progress = gang.watch.progress
        left = progress.left(planned, now) if progress else None
        if left is None and typical is not None:
            left = max(0.0, typical - seconds)
        epochs = progress.epochs if progress else 0
        jobs.append(Running(gang.job.name, active.attempt, epochs, planned, seconds, left))
    return jobs


def _left(
    running: Sequence[Sequence[Running]],
    waiting: Sequence[PlannedRun],
    typical: float | None,
    lanes: int,
    elapsed: float,
) -> float | None:
    """The work left, divided among the lanes; never less than the longest run or the last arrival needs."""
    longest = [max((job.left for job in jobs if job.left is not None), default=None) for jobs in running]
    known = [left for left in longest if left is not None]
    if len(known) < len(longest) or (waiting and typical is None):
        return None
    work = (sum(known) + len(waiting) * (typical or 0.0)) / max(1, lanes)
    arrivals = [run.arrival - elapsed + (typical or 0.0) for run in waiting if run.arrival is not None]
    return max([work, *arrivals, *known])
