"""When jobs start: list scheduling of a whole queue, in many replicates at a time.

The state is when each core becomes free, in ascending order, and likewise each GPU. A job that needs w cores starts
when the w-th of them is free and takes those w; there is no calendar of events, so a step is the same few operations
for all replicates at once. Two things reach beyond the plain list:

- A wide job leaves cores idle while it waits for the last of them. Such a hole is its reservation, and a later, narrow
  job that is done before it ends may fill it, without delaying anybody.
- Jobs that have not come yet may be more urgent than those that wait. Their arrivals are drawn in each replicate, and
  one that has come by the time the next waiting job could start, and ranks before it, is served first.

Replicates may differ in anything: their durations, and also which setting a job is given, so that many assignments can
be compared on the same draws in one go.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coxswain.core.models.types import Bools, Floats, Ints
from coxswain.core.planning.values import Capacity

Need = tuple[int, int]
"""Slots and GPUs."""
Rank = tuple[int, float]
"""Minus the priority, and when it is due: the smaller the sooner."""

# Cores are counted in slots; finer slots than so many for the whole queue make the simulation slow, not better.
MOST_SLOTS = 256
# Holes shorter than this quantile of the durations are not worth remembering.
SHORT = 0.05
# Only so many jobs look for holes: who comes later waits so long that a hole makes no difference.
MOST_FILLING = 1000


@dataclass(frozen=True, eq=False)
class Slots:
    """How cores are counted: so many millicores a slot."""

    capacity: Capacity
    unit: int

    @property
    def cores(self) -> int:
        """Slots of the whole queue."""
        return self.capacity.cores // self.unit

    def count(self, need: Capacity) -> Need:
        """Slots and GPUs of a need, rounded up."""
        return -(-need.cores // self.unit), need.gpus


def slots_for(capacity: Capacity, needs: list[Capacity]) -> Slots:
    """The coarsest slots that count all needs exactly, or nearly so where that would take too many."""
    exact = int(np.gcd.reduce([capacity.cores, *(need.cores for need in needs)]))
    return Slots(capacity, max(exact, -(-capacity.cores // MOST_SLOTS), 1))


@dataclass(frozen=True, eq=False)
class Coming:
    """Jobs that will come, in each replicate: when, how long each takes, when it is due; and what all of them need."""

    at: Floats
    durations: Floats
    due: Floats
    need: Need
    priority: int


class Machine:
    """When each core and GPU becomes free, in each replicate, and what holes reservations leave."""

    def __init__(self, now: float, slots: Slots, replicates: int) -> None:
        self.shortest = 0.0
        """A hole that is no longer than this is of hardly any use."""
        self.cores = np.full((replicates, slots.cores), now)
        self.gpus = np.full((replicates, slots.capacity.gpus), now)
        self._hole_from = np.full((replicates, slots.cores), now)
        self._hole_until = np.full((replicates, slots.cores), now)
        self._largest_hole = 0.0
        self._next_hole = 0
        self._rows = np.arange(replicates)

    def occupy(self, need: Need, until: Floats) -> None:
        """A job that is running keeps its cores and GPUs until then."""
        _take(self.cores, need[0], until)
        _take(self.gpus, need[1], until)

    def start(self, need: Need) -> Floats:
        """When a job with this need could start, behind all others."""
        cores, gpus = need
        begin = self.cores[:, max(cores, 1) - 1].copy()
        return np.maximum(begin, self.gpus[:, gpus - 1]) if gpus else begin

    def run(self, need: Need, durations: Floats, usual: float) -> tuple[Floats, Floats]:
        """Run a job next, in a hole if its usual duration fits into one: when it starts and ends."""
        begin = self.start(need)
        if need[1] or usual > self._largest_hole:
            end = begin + durations
            self._append(need, begin, end)
            return begin, end
        return self._fill_or_append(need[0], begin, durations)

    @property
    def only_appends(self) -> bool:
        """Whether nothing but the list itself decides when a job starts: there are no holes."""
        return self.shortest == np.inf

    def append(self, cores: int, durations: Floats, begin: Floats, end: Floats) -> None:
        """Run a job without GPUs behind all others, where that is all there is to it; fills in its start and end.

        The same as `run`, in as few operations as can be: most jobs of a long queue go this way.
        """
        free = self.cores
        begin[:] = free[:, max(cores, 1) - 1]
        np.add(begin, durations, out=end)
        if cores:
            free[:, :cores] = end[:, None]
            free.sort(axis=1)

    def run_each(
        self, cores: Ints, gpus: Ints, durations: Floats, not_before: Floats | float = -np.inf
    ) -> tuple[Floats, Floats]:
        """Run a job next whose need differs between replicates, without a look at holes."""
        begin = np.maximum(self.cores[self._rows, np.maximum(cores, 1) - 1], not_before)
        if self.gpus.shape[1]:
            begin = np.where(gpus > 0, np.maximum(begin, self.gpus[self._rows, gpus - 1]), begin)
        end = begin + durations
        for free, count in ((self.cores, cores), (self.gpus, gpus)):
            if free.shape[1]:
                np.copyto(free, end[:, None], where=np.arange(free.shape[1]) < count[:, None])
                free.sort(axis=1)
        return begin, end

    def _append(self, need: Need, begin: Floats, end: Floats, rows: Bools | slice = slice(None)) -> None:
        cores, gpus = need
        free = self.cores[rows]
        remembers = self.shortest < np.inf and (cores > 1 or gpus > 0)
        if remembers and (begin - free[:, 0]).max() > self.shortest:
            self._remember_holes(rows, free[:, :cores], begin)
        _take(free, cores, end)
        if not isinstance(rows, slice):
            self.cores[rows] = free
        if gpus:
            _take(self.gpus, gpus, end)

    def _remember_holes(self, rows: Bools | slice, since: Floats, until: Floats) -> None:
        """Remember a reservation's holes in place of the oldest ones known."""
        if self._next_hole + since.shape[1] > self._hole_from.shape[1]:
            self._next_hole = 0
        place = slice(self._next_hole, self._next_hole + since.shape[1])
        self._hole_from[rows, place] = since
        self._hole_until[rows, place] = until[:, None]
        self._next_hole = place.stop
        self._measure_holes()

    def close_holes(self) -> None:
        """Let nobody fill a hole from now on."""
        self.shortest, self._largest_hole = np.inf, 0.0

    def _measure_holes(self) -> None:
        self._largest_hole = float((self._hole_until - self._hole_from).max())

    def _fill_or_append(self, cores: int, begin: Floats, durations: Floats) -> tuple[Floats, Floats]:
        since, until = self._hole_from, self._hole_until
        wide_enough = until - since >= durations[:, None]
        inside = np.sort(np.where(wide_enough, since, np.inf), axis=1)[:, max(cores, 1) - 1]
        usable = wide_enough & (since <= inside[:, None]) & (until >= (inside + durations)[:, None])
        fills = (np.sum(usable, axis=1) >= cores) & (inside < begin)
        start = np.where(fills, inside, begin)
        end = start + durations
        used = usable & (np.cumsum(usable, axis=1) <= cores) & fills[:, None]
        np.copyto(since, end[:, None], where=used)
        self._measure_holes()
        rest = ~fills
        if rest.any():
            self._append((cores, 0), begin[rest], end[rest], rest)
        return start, end


def _take(free: Floats, count: int, until: Floats) -> None:
    """Let a job have the first so many to become free."""
    if count:
        free[:, :count] = until[:, None]
        free.sort(axis=1)


def run_list(
    machine: Machine, needs: Sequence[Need], durations: Floats, ranks: Sequence[Rank], coming: Coming | None = None
) -> tuple[Floats, Floats]:
    """Start and end of jobs in the order given; one row a job, one column a replicate.

    Args:
        machine: what is running already; it is left as the jobs leave it.
        needs: slots and GPUs of each job.
        durations: one row a job.
        ranks: minus the priority of each job, and when it is due.
        coming: jobs that may overtake some of them.
    """
    starts, ends = np.empty(durations.shape), np.empty(durations.shape)
    usual = durations.mean(axis=1)
    machine.shortest = float(np.quantile(usual, SHORT)) if len(usual) else 0.0
    overtaking = None if coming is None else _Overtaking(coming, durations.shape[1])
    for job, need in enumerate(needs):
        if job == MOST_FILLING:
            machine.close_holes()
        if overtaking is not None:
            overtaking.serve(machine, need, ranks[job])
        if machine.only_appends and not need[1]:
            machine.append(need[0], durations[job], starts[job], ends[job])
        else:
            starts[job], ends[job] = machine.run(need, durations[job], usual[job])
    return starts, ends


class _Overtaking:
    """Serves the jobs that will have come, and rank before the next waiting one, by the time that could start."""

    def __init__(self, coming: Coming, replicates: int) -> None:
        self.coming = coming
        self._next = np.zeros(replicates, dtype=np.int64)
        self._rows = np.arange(replicates)

    def serve(self, machine: Machine, need: Need, rank: Rank) -> None:
        coming = self.coming
        cores, gpus = (np.full(len(self._rows), count) for count in coming.need)
        while True:
            place = np.minimum(self._next, len(coming.at) - 1)
            at = coming.at[place, self._rows]
            first = (at <= machine.start(need)) & (self._next < len(coming.at))
            if -coming.priority == rank[0]:
                first &= coming.due[place, self._rows] < rank[1]
            elif -coming.priority > rank[0]:
                return
            if not first.any():
                return
            # Where nobody overtakes, a job of no length and no need changes nothing.
            lasting = np.where(first, coming.durations[place, self._rows], 0.0)
            machine.run_each(np.where(first, cores, 0), np.where(first, gpus, 0), lasting, at)
            self._next += first
