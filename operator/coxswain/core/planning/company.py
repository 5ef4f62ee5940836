"""How much slower jobs are for those that run beside them.

With a contention c, a job's time is multiplied by 1 + c · u, where u is the share of the cores that others use while it
runs. Who that will be is not known when a job is promised to be in time: most others start after it. So it is thought
to have all the company there could be: everybody that runs or waits, and as many of those to come as usually run at a
time (their rate times how long they take), as far as there are cores for them.
"""

import numpy as np

from coxswain.core.models.types import Floats, Ints
from coxswain.core.planning.values import Snapshot


class Company:
    """The millicores that could be in use at the same time, and what that does to the time of one job."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._contention, self._capacity = snapshot.contention, snapshot.capacity.cores
        given = [job.candidates[job.requested if job.current is None else job.current] for job in snapshot.pending]
        self._waiting: Ints = np.array([candidate.need.cores for candidate in given], dtype=np.int64)
        self._running = sum(job.need.cores for job in snapshot.running)
        coming = snapshot.arrivals
        usually = 0 if coming is None else round(coming.rate * coming.times.mean * coming.need.cores)
        self._all = self._running + int(self._waiting.sum()) + usually

    def of_candidates(self, jobs: Ints, own: Ints) -> Floats:
        """By how much candidates are slower than alone: which waiting job each is of, and the millicores it needs."""
        return self._stretch(self._all - self._waiting[jobs], own)

    def of_running(self, own: Ints) -> Floats:
        """By how much running jobs could become slower than they are now."""
        return self._stretch(self._all - own, own) / self._stretch(self._running - own, own)

    def of_coming(self, own: int) -> float:
        """By how much one to come is slower than alone."""
        return float(self._stretch(np.array(self._all - own), np.array(own)))

    def _stretch(self, others: Ints, own: Ints) -> Floats:
        share = np.maximum(np.minimum(others, self._capacity - own), 0) / max(self._capacity, 1)
        return np.asarray(1 + self._contention * share, dtype=float)
