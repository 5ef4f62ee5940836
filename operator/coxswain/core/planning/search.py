"""Which settings and which order are best, by trying: everything for a handful of jobs, changes to a plan for more.

Assignments are compared on the same luck, many at a time. The goal is lexicographic: as many jobs as possible that are
in time with their confidence, those of a higher priority first, and among equals those that have been promised it;
then the most value of these; then the earliest starts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from math import factorial

import numpy as np

from coxswain.core.models.types import Bools, Floats, Ints
from coxswain.core.planning.assign import Assignment, least_work, ordered
from coxswain.core.planning.board import Board
from coxswain.core.planning.times import SCORES

# So many assignments are tried for one order of the jobs.
MOST_ASSIGNMENTS = 1024
# What is compared at a time, counted likewise for one job.
MOST_CELLS = 4_000_000
# Up to so many jobs any two are swapped, beyond only neighbours.
ANY_SWAP = 8
# A start counts only once everything else is equal, so its difference may be told to a second or so.
_ROUNDING = 9


def improve(board: Board, start: Assignment, effort: float, other: Assignment | None = None) -> Assignment:
    """The best found from one that is good already, within an effort, counted as `cells` does.

    `other` is one that may be better to begin with.
    """
    timed = np.flatnonzero(np.isfinite(board.due))
    changes = int(np.sum(board.fits & np.isfinite(board.due)[board.job_of]))
    if not len(timed) or cells(board, 1 + changes) > effort:
        return start
    choices = [_allowed(board, int(job)) for job in timed]
    search = _Search(board, timed, choices, effort)
    trials = np.prod([float(len(each)) for each in choices])
    if trials <= MOST_ASSIGNMENTS:
        search.everything = _product(start.rows, timed, choices)
    orders = factorial(min(len(timed), 10))
    exact = search.everything is not None and cells(board, int(trials)) * orders <= effort
    found = search.try_all_orders(start) if exact else search.climb([start] if other is None else [start, other])
    rows = np.where(found.late, least_work(board).rows, found.rows)
    return Assignment(rows, ordered(board, found.late, found.order), found.late)


def cells(board: Board, assignments: int) -> float:
    """What it costs to try assignments for one order."""
    return float(assignments * board.replicates * (board.slots.cores + len(SCORES)) * len(board.due))


def _allowed(board: Board, job: int) -> Ints:
    """Rows of a job that fit into the queue."""
    rows = np.arange(board.first[job], board.first[job + 1])
    return rows[board.fits[rows]]


def _product(rows: Ints, jobs: Ints, choices: list[Ints]) -> Ints:
    """Every combination of choices: one row an assignment, one column a job."""
    grids = np.meshgrid(*choices, indexing="ij")
    assignments = np.tile(rows, (grids[0].size, 1))
    for job, grid in zip(jobs, grids, strict=True):
        assignments[:, job] = grid.ravel()
    return assignments


def _one_changed(rows: Ints, jobs: Ints, choices: list[Ints]) -> Ints:
    """The assignment itself and all that differ from it in one job."""
    made = [rows]
    for job, allowed in zip(jobs, choices, strict=True):
        for row in allowed[allowed != rows[job]]:
            changed = rows.copy()
            changed[job] = row
            made.append(changed)
    return np.array(made)


class _Search:
    """Tries assignments for orders, and counts what that costs."""

    def __init__(self, board: Board, timed: Ints, choices: list[Ints], effort: float) -> None:
        self.board = board
        self.timed = timed
        self.choices = choices
        self.everything: Ints | None = None
        self._left = effort

    def try_all_orders(self, start: Assignment) -> Assignment:
        """The best of all orders of the jobs with deadlines."""
        untimed = [job for job in range(len(start.rows)) if job not in set(self.timed.tolist())]
        hopeless = least_work(self.board).late
        found = [
            self._try(start, ordered(self.board, late, np.array([*order, *untimed], dtype=np.int64)))
            for late in ([hopeless] if (hopeless == start.late).all() else [hopeless, start.late])
            for order in permutations(self.timed.tolist())
        ]
        return max(found, key=lambda each: each[1])[0]

    def climb(self, starts: Sequence[Assignment]) -> Assignment:
        """Change one job, or swap two in the order, as long as that is better and the effort lasts."""
        best, goal = max((self._try(each, each.order) for each in starts), key=lambda each: each[1])
        rising = True
        while rising and self._left > 0:
            rising = False
            for order in _swapped(self.board, best.order):
                if self._left <= 0:
                    break
                trial, reached = self._try(best, order)
                if reached > goal:
                    best, goal, rising = trial, reached, True
        return best

    def _try(self, start: Assignment, order: Ints) -> tuple[Assignment, tuple[float, ...]]:
        """The best assignment for one order, and the goal it reaches."""
        assignments = self.everything
        if assignments is None:
            assignments = _one_changed(start.rows, self.timed, self.choices)
        self._left -= cells(self.board, len(assignments))
        size = max(1, int(MOST_CELLS / cells(self.board, 1) * len(order)))
        found = []
        for part in np.split(assignments, range(size, len(assignments), size)):
            goals, met = goals_of(self.board, order, part)
            place = int(np.lexsort(goals.T[::-1])[-1])
            found.append((tuple(goals[place].tolist()), part[place], met[place]))
        goal, rows, met = max(found, key=lambda each: each[0])
        return replace(start, rows=rows, order=order, late=np.isfinite(self.board.due) & ~met), goal


def _swapped(board: Board, order: Ints) -> Iterator[Ints]:
    """The order itself, and those with two jobs of one priority swapped: neighbours only where they are many.

    Where they are few, also those with one job moved to the place of another.
    """
    yield order
    places = np.flatnonzero(np.isfinite(board.due[order])).tolist()
    few = len(places) <= ANY_SWAP
    for one, other in combinations(places, 2) if few else pairwise(places):
        if board.priority[order[one]] == board.priority[order[other]]:
            swapped = order.copy()
            swapped[[one, other]] = order[[other, one]]
            yield swapped
            if few and other > one + 1:
                yield np.insert(np.delete(order, one), other, order[one])
                yield np.insert(np.delete(order, other), one, order[other])


def goals_of(board: Board, order: Ints, assignments: Ints) -> tuple[Floats, Bools]:
    """What each assignment reaches, the most important first, and which jobs are in time with it."""
    placed = assignments[:, order]
    starts = board.compare(placed)
    count = len(assignments)
    met = np.zeros((count, len(order)), dtype=bool)
    begin = np.zeros((count, len(order)))
    for place, job in enumerate(order.tolist()):
        begins = starts.begin[place].reshape(count, board.replicates)
        begin[:, job] = begins.mean(axis=1)
        if np.isfinite(board.due[job]):
            met[:, job] = board.chances(placed[:, place], begins)[0] >= board.level[job]
    goals = [met[:, board.claim == level].sum(axis=1) for level in sorted(set(board.claim.tolist()), reverse=True)]
    goals.append(np.round((board.worth[assignments] * met).sum(axis=1), _ROUNDING))
    goals.append(-np.round(begin.sum(axis=1), _ROUNDING))
    return np.column_stack(goals), met
