"""A snapshot as arrays: all candidates of all jobs in one table, with the luck each replicate has.

A job's candidates are consecutive rows, so that a choice is one row number a job. Chances are not counted but
integrated: given when a job starts and how its family does in a replicate, only the job's own noise is left, and its
distribution is known. The mean over replicates of that probability needs far fewer of them than counting would.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from coxswain.core.models.types import Bools, Floats, Ints
from coxswain.core.planning.company import Company
from coxswain.core.planning.scores import family_scores, own_scores
from coxswain.core.planning.simulation import Coming, Machine, Need, Slots, run_list, slots_for
from coxswain.core.planning.times import SCORES, WEIGHTS, draw
from coxswain.core.planning.values import Capacity, Snapshot

# Rows whose chances are computed at a time, so that the work stays in the processor's cache.
_BLOCK = 512
# Arrivals are drawn until so many standard deviations beyond what is expected by the time the queue is empty.
_SURE = 4.0
# So many that come in a plan, at most: who waits behind more of them waits so long that it makes no difference.
_MOST_COMING = 1000


@dataclass(frozen=True, eq=False)
class Starts:
    """When jobs start and end; one row a job, one column a replicate."""

    begin: Floats
    end: Floats


class Board:
    """All that is drawn and tabulated of a snapshot, once, for a number of replicates."""

    def __init__(self, snapshot: Snapshot, replicates: int, seed: int) -> None:
        self.snapshot = snapshot
        pending, running = snapshot.pending, snapshot.running
        counts = [len(job.candidates) for job in pending]
        candidates = [candidate for job in pending for candidate in job.candidates]
        self.first: Ints = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.job_of: Ints = np.repeat(np.arange(len(pending)), counts)
        tables = [each.times.values for each in candidates]
        self.values: Floats = np.concatenate(tables).reshape(-1, len(SCORES)) if tables else np.empty((0, len(SCORES)))
        self._company = Company(snapshot)
        if snapshot.contention:
            millicores = np.array([each.need.cores for each in candidates], dtype=np.int64)
            self.values = self.values * self._company.of_candidates(self.job_of, millicores)[:, None]
        self.shared: Floats = np.array([each.times.shared for each in candidates])
        self.worth: Floats = np.array([each.value for each in candidates])
        self.fits: Bools = np.array([snapshot.capacity.holds(each.need) for each in candidates], dtype=bool)
        asked = [(each.need.cores, each.need.gpus) for each in candidates]
        distinct = [Capacity(*each) for each in sorted({*asked, *((job.need.cores, job.need.gpus) for job in running)})]
        self.slots: Slots = slots_for(snapshot.capacity, distinct)
        counted = {(need.cores, need.gpus): self.slots.count(need) for need in distinct}
        self.needs: list[Need] = [counted[each] for each in asked]
        self.cores: Ints = np.array([need[0] for need in self.needs], dtype=np.int64)
        self.gpus: Ints = np.array([need[1] for need in self.needs], dtype=np.int64)
        self.due: Floats = np.array([np.inf if job.deadline is None else job.deadline for job in pending])
        self.asked: Floats = np.array([job.confidence for job in pending])
        self.level: Floats = np.array([job.asks_for for job in pending])
        """What a chance has to be for a job to count as in time."""
        self.priority: Ints = np.array([job.priority for job in pending], dtype=np.int64)
        self.claim: Ints = 2 * self.priority + np.array([job.promised for job in pending], dtype=np.int64)
        """Who comes first when not all can be in time: priority, then what has been promised."""
        self.created: Floats = np.array([job.created for job in pending])
        families = sorted({job.family for job in pending} | {job.family for job in running})
        self._families = {name: place for place, name in enumerate(families)}
        self._family: Ints = np.array([self._families[job.family] for job in pending], dtype=np.int64)
        self._seed = seed
        self.draw(replicates)

    def draw(self, replicates: int) -> None:
        """Draw the luck of so many replicates."""
        self.replicates = replicates
        self._luck = family_scores(list(self._families), replicates, self._seed)
        self._own = own_scores([job.name for job in self.snapshot.pending], replicates, self._seed)
        self._machine = self._occupied()

    def with_replicates(self, replicates: int) -> "Board":
        """The same table with another number of replicates."""
        other = copy(self)
        other.draw(replicates)
        return other

    @property
    def mean(self) -> Floats:
        """The expected seconds of each candidate."""
        return np.asarray(self.values @ WEIGHTS, dtype=float)

    @property
    def work(self) -> Floats:
        """How much of the queue each candidate takes: its seconds times its share of the cores or GPUs."""
        share = self.cores / max(self.slots.cores, 1)
        if self.slots.capacity.gpus:
            share = np.maximum(share, self.gpus / self.slots.capacity.gpus)
        return np.asarray(self.mean * share, dtype=float)

    def durations(self, rows: Ints) -> Floats:
        """Drawn seconds of candidates, by their rows."""
        jobs = self.job_of[rows]
        shared = self.shared[rows, None]
        return draw(
            self.values[rows], np.sqrt(shared) * self._luck[self._family[jobs]] + np.sqrt(1 - shared) * self._own[jobs]
        )

    def simulate(self, rows: Ints) -> Starts:
        """Run candidates, one a job, in the order of their rows given."""
        jobs = self.job_of[rows]
        # A job without a deadline lets others pass for as long as its patience lasts.
        due = np.where(np.isfinite(self.due[jobs]), self.due[jobs], self.created[jobs] + self.snapshot.patience)
        ranks = list(zip((-self.priority[jobs]).tolist(), due.tolist(), strict=True))
        durations = self.durations(rows)
        needs = [self.needs[row] for row in rows.tolist()]
        return Starts(*run_list(self._machine(1), needs, durations, ranks, self._coming(durations, needs)))

    def compare(self, assignments: Ints) -> Starts:
        """Run many assignments on the same luck: one row an assignment, each the candidates' rows in order.

        The result has one row a place in the order, and for each the assignments' replicates one after the other.
        """
        machine = self._machine(len(assignments))
        shape = (assignments.shape[1], len(assignments) * self.replicates)
        begin, end = np.empty(shape), np.empty(shape)
        for place, rows in enumerate(assignments.T):
            distinct, which = np.unique(rows, return_inverse=True)
            durations = self.durations(distinct)[which].reshape(-1)
            cores, gpus = (np.repeat(count[rows], self.replicates) for count in (self.cores, self.gpus))
            begin[place], end[place] = machine.run_each(cores, gpus, durations)
        return Starts(begin, end)

    def chances(self, rows: Ints, begin: Floats) -> tuple[Floats, Floats]:
        """Of candidates that start then (one row each) to be in time, and the standard errors of these chances.

        `begin` has a column a replicate, or one for all where they start at the same time in each of them.
        """
        chance, error = np.ones(len(rows)), np.zeros(len(rows))
        jobs = self.job_of[rows]
        timed = np.flatnonzero(np.isfinite(self.due[jobs]))
        for block in np.split(timed, range(_BLOCK, len(timed), _BLOCK)):
            given = self._given_luck(rows[block], self.due[jobs[block], None] - begin[block])
            chance[block] = given.mean(axis=1)
            error[block] = given.std(axis=1) / np.sqrt(given.shape[1])
        return chance, error

    def _given_luck(self, rows: Ints, within: Floats) -> Floats:
        values, shared = self.values[rows], self.shared[rows, None]
        luck = self._luck[self._family[self.job_of[rows]]]
        # Score by score: that needs no room for all of them at a time.
        above = np.zeros(within.shape, dtype=np.int64)
        for column in range(len(SCORES)):
            above += values[:, column, None] <= within
        low = np.clip(above - 1, 0, len(SCORES) - 2)
        here = np.take_along_axis(values, low, axis=1)
        gap = np.take_along_axis(values, low + 1, axis=1) - here
        score = SCORES[low] + (within - here) / np.where(gap > 0, gap, np.inf) * (SCORES[1] - SCORES[0])
        score = np.where(above == 0, -np.inf, np.where(above == len(SCORES), np.inf, score))
        return np.asarray(ndtr((score - np.sqrt(shared) * luck) / np.sqrt(1 - shared)), dtype=float)

    def _occupied(self) -> Callable[[int], Machine]:
        """A function that makes so many copies of what is running now, side by side."""
        running = self.snapshot.running
        until = np.empty((len(running), self.replicates))
        if running:
            shared = np.array([[job.remaining.shared] for job in running])
            luck = self._luck[[self._families[job.family] for job in running]]
            own = own_scores([job.name for job in running], self.replicates, self._seed)
            slower = self._company.of_running(np.array([job.need.cores for job in running], dtype=np.int64))
            values = np.array([job.remaining.values for job in running]) * slower[:, None]
            until = self.snapshot.now + draw(values, np.sqrt(shared) * luck + np.sqrt(1 - shared) * own)

        def machine(copies: int) -> Machine:
            made = Machine(self.snapshot.now, self.slots, copies * self.replicates)
            for job, ends in zip(running, until, strict=True):
                made.occupy(self.slots.count(job.need), np.tile(ends, copies))
            return made

        return machine

    def _coming(self, durations: Floats, needs: Sequence[Need]) -> Coming | None:
        arrivals = self.snapshot.arrivals
        if arrivals is None or arrivals.rate <= 0:
            return None
        # By medians: what a model leaves open may be so long that nobody could count who comes until then.
        busy = float(np.sum(np.median(durations, axis=1) * [need[0] for need in needs])) / max(self.slots.cores, 1)
        expected = arrivals.rate * 2 * busy
        count = int(min(np.ceil(expected + _SURE * np.sqrt(expected)) + 1, _MOST_COMING))
        generator = np.random.default_rng([self._seed, count])
        at = self.snapshot.now + np.cumsum(generator.exponential(1 / arrivals.rate, (count, self.replicates)), axis=0)
        lasting, due = (
            draw(np.tile(times.values, (count, 1)), generator.standard_normal((count, self.replicates)))
            for times in (arrivals.times, arrivals.due)
        )
        lasting = lasting * self._company.of_coming(arrivals.need.cores)
        return Coming(at, lasting, at + due, self.slots.count(arrivals.need), arrivals.priority)


def bound_of(values: Floats, confidence: Floats) -> Floats:
    """Quantile of each row at its own confidence, by its mean and spread: good enough to compare by."""
    return np.asarray(values.mean(axis=1) + ndtri(confidence) * values.std(axis=1), dtype=float)
