"""How much may run at a time without making those late that run already.

Jobs slow each other down: with a contention c, a job's time is multiplied by 1 + c · u, where u is the share of the
cores that others use. A running job whose remaining time is b at its confidence, and that is in time as things are,
stays so while the stretch grows by no more than (deadline - now) / b. Solved for u, that is the most that may be busy.
"""

from coxswain.core.planning.values import Capacity, Running, Snapshot


def unused(snapshot: Snapshot) -> Capacity:
    """What may be started now: what nobody uses, less what would make a running job late that is in time as it is."""
    busy = sum(job.need.cores for job in snapshot.running)
    most = min(
        [snapshot.capacity.cores, *(_most_busy(snapshot, job, busy) for job in snapshot.running if snapshot.contention)]
    )
    return Capacity(max(most - busy, 0), snapshot.capacity.gpus - sum(job.need.gpus for job in snapshot.running))


def _most_busy(snapshot: Snapshot, job: Running, busy: int) -> int:
    """The most millicores in use, its own among them, with which a running job stays in time."""
    capacity = snapshot.capacity.cores
    if job.deadline is None:
        return capacity
    left, needs = job.deadline - snapshot.now, job.remaining.quantile(job.confidence)
    if needs <= 0 or left < needs:  # it is done, or late anyway
        return capacity
    stretch = left / needs * (1 + snapshot.contention * (busy - job.need.cores) / capacity)
    return min(capacity, job.need.cores + int((stretch - 1) / snapshot.contention * capacity))
