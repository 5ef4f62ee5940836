"""The plan: what starts next, with which settings, what everybody may expect, and why.

`plan` is pure and seeded: the same snapshot and seed give the same plan, and a snapshot that differs in one job draws
the same luck for all others. It assigns, searches for something better where there are few jobs, keeps what jobs have
already been given unless a change is worth it, and then settles: what the simulation shows to be too much is taken
back until everybody who is promised to be in time is.
"""

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import compress

import numpy as np

from coxswain.core.models.types import Bools, Floats, Ints
from coxswain.core.planning.assign import Assignment, give_way, least_work, ordered, slack_of, spend_slack
from coxswain.core.planning.board import Board, Starts, bound_of
from coxswain.core.planning.explain import decide, unplaceable
from coxswain.core.planning.search import improve
from coxswain.core.planning.values import Plan, Snapshot

# Few jobs are simulated more often than many.
MOST_REPLICATES, FEWEST_REPLICATES = 128, 32
# What is foreseen before it is settled needs fewer, above all for many jobs.
HANDFUL, FEW, COARSE_REPLICATES = 8, 2000, 8
# Job-replicates of a pass, roughly: beyond this there are no more replicates than the fewest.
EFFORT = 100_000
# What a search may cost (assignments × replicates × jobs × about a hundred): a fraction of a second.
SEARCH = 5e7
# A decision is sure when its chance is so many standard errors away from the confidence.
SURE = 2.0
# With so many replicates a chance is known well enough, however close it is.
ENOUGH = 512
# A gain in value below this share of the range of a job's values is not worth a rewrite.
WORTH_CHANGING = 0.02
# Of a job that is not sure to be in time, this share of the best chance there is leaves room to look at its value.
NEARLY = 0.9
# With a chance below this a job is late, and the sooner it is done the better.
SLIM = 0.01
# How often what is too much is taken back before those who are late are told so.
REPAIRS = 3


def plan(snapshot: Snapshot, *, seed: int = 0, effort: float = SEARCH) -> Plan:
    """Decide on all pending jobs together; `effort` is what may be spent on the search for something better."""
    holds = snapshot.capacity.holds
    fits = [any(holds(each.need) for each in job.candidates) for job in snapshot.pending]
    refused = tuple(
        unplaceable(job, snapshot.capacity) for job, fit in zip(snapshot.pending, fits, strict=True) if not fit
    )
    placeable = replace(snapshot, pending=tuple(compress(snapshot.pending, fits)))
    if not placeable.pending:
        return Plan(refused)
    count = len(placeable.pending)
    board = Board(placeable, int(np.clip(EFFORT // count, FEWEST_REPLICATES, MOST_REPLICATES)), seed)
    coarse = board.with_replicates(FEWEST_REPLICATES if count <= FEW else COARSE_REPLICATES)
    base = least_work(coarse)
    # Who gives way is foreseen by a rough rule; where there is time, nobody giving way is looked at as well.
    assigned = improve(coarse, _assign(coarse, base), effort, base)
    if count <= HANDFUL:
        assigned = improve(board, assigned, effort)
    outlook = _settle(board, base.rows, _keep(board, assigned))
    while outlook.unsure(board) and 4 * board.replicates <= min(ENOUGH, EFFORT // count):
        board = board.with_replicates(4 * board.replicates)
        outlook = _settle(board, base.rows, improve(board, outlook.assignment, effort))
    outlook = _make_the_best(board, outlook)
    before = _before(board, outlook)
    return Plan((*decide(board, outlook, before, base.rows), *refused))


@dataclass(frozen=True, eq=False)
class Outlook:
    """An assignment and what becomes of it; starts and chances are in its order."""

    assignment: Assignment
    starts: Starts
    chance: Floats
    error: Floats

    def unsure(self, board: Board) -> bool:
        """Whether chances are too close to what is asked for to tell on which side of it they are."""
        asked = board.level[self.assignment.order]
        close = np.abs(self.chance - asked) < SURE * self.error
        return bool(np.any(close & np.isfinite(board.due[self.assignment.order])))

    def failing(self, board: Board) -> Bools:
        """Which jobs, by their number, were meant to be in time but are not sure enough to be."""
        order = self.assignment.order
        failing = np.zeros(len(order), dtype=bool)
        failing[order] = self.chance < board.level[order]
        return failing & ~self.assignment.late


def _look(board: Board, assignment: Assignment) -> Outlook:
    rows = assignment.rows[assignment.order]
    starts = board.simulate(rows)
    return Outlook(assignment, starts, *board.chances(rows, starts.begin))


def _assign(board: Board, assignment: Assignment) -> Assignment:
    """Who gives way, and how the slack that is left is spent."""
    starts = board.simulate(assignment.rows[assignment.order])
    slack = slack_of(board, assignment.rows[assignment.order], starts)
    late = give_way(board, assignment, slack)
    if (late != assignment.late).any():
        assignment = Assignment(assignment.rows, ordered(board, late), late)
        starts = board.simulate(assignment.rows[assignment.order])
        slack = slack_of(board, assignment.rows[assignment.order], starts)
    begin = bound_of(starts.begin, board.level[assignment.order])
    return replace(assignment, rows=spend_slack(board, assignment, slack, begin))


def _keep(board: Board, assignment: Assignment) -> Assignment:
    """Let jobs keep what they have where a change gains little, or nothing has been observed since it was chosen.

    They do not keep what is more work than the plan has for them if anybody would be late for it.
    """
    pending = board.snapshot.pending
    has = np.array([job.current is not None for job in pending], dtype=bool)
    if not has.any():
        return assignment
    current = board.first[:-1] + np.array([job.current or 0 for job in pending], dtype=np.int64)
    stale = np.array([not job.news for job in pending], dtype=bool)
    low, high = (reduce(board.worth, board.first[:-1]) for reduce in (np.minimum.reduceat, np.maximum.reduceat))
    little = board.worth[assignment.rows] - board.worth[current] <= WORTH_CHANGING * (high - low)
    keeps = has & board.fits[current] & ~assignment.late & (stale | little)
    planned = _look(board, assignment)
    kept = replace(assignment, rows=np.where(keeps, current, assignment.rows))
    outlook = _look(board, kept)
    worse = outlook.failing(board) & ~planned.failing(board)
    if worse.any():
        heavier = board.work[current] > board.work[assignment.rows]
        keeps &= ~(heavier | worse)
        kept = replace(assignment, rows=np.where(keeps, current, assignment.rows))
    return kept


def _settle(board: Board, least: Ints, assignment: Assignment) -> Outlook:
    """Take back what proves too much, most work first; who is late even so gives way."""
    outlook = _look(board, assignment)
    for attempt in range(REPAIRS):
        failing = outlook.failing(board)
        if not failing.any():
            return outlook
        rows = _taken_back(board, least, outlook, failing) if attempt < REPAIRS - 1 else assignment.rows
        late = assignment.late
        if (rows == assignment.rows).all():
            late = late | failing
            rows = np.where(failing, least, rows)
        assignment = Assignment(rows, ordered(board, late, assignment.order), late)
        outlook = _look(board, assignment)
    return outlook


def _make_the_best(board: Board, outlook: Outlook) -> Outlook:
    """Give those that start now though they are late the most value that hardly lessens their chance.

    The others that are late keep to the least: what they would add delays those behind them.
    """
    assignment, now = outlook.assignment, board.snapshot.now
    starts_now = (outlook.starts.begin <= now).all(axis=1)
    rows = assignment.rows.copy()
    for job in assignment.order[starts_now & assignment.late[assignment.order]].tolist():
        own = np.arange(board.first[job], board.first[job + 1])
        # One that needs more might not start now.
        own = own[(board.cores[own] == board.cores[rows[job]]) & (board.gpus[own] == board.gpus[rows[job]])]
        chance, _ = board.chances(own, np.full((len(own), 1), now))
        if chance.max() >= SLIM:
            near = chance >= NEARLY * chance.max()
            rows[job] = own[np.argmax(np.where(near, board.worth[own], -np.inf))]
    return outlook if (rows == assignment.rows).all() else _look(board, replace(assignment, rows=rows))


def _taken_back(board: Board, least: Ints, outlook: Outlook, failing: Bools) -> Ints:
    """The rows with as many upgrades undone, before each job that fails, as its delay asks for."""
    assignment = outlook.assignment
    rows = assignment.rows
    slack = slack_of(board, rows[assignment.order], outlook.starts).tolist()
    extra = (board.work[rows] - board.work[least]).tolist()
    better, fails = (rows != least).tolist(), failing.tolist()
    freed = 0.0
    upgraded: list[tuple[float, int]] = []
    for place, job in enumerate(assignment.order.tolist()):
        if better[job]:
            heappush(upgraded, (-extra[job], job))
        if not fails[job]:
            continue
        if better[job]:
            better[job] = False
            freed += max(extra[job], 0.0)
        while upgraded and slack[place] + freed < 0:
            taken, other = heappop(upgraded)
            if better[other]:
                better[other] = False
                freed -= taken
    return np.where(better, rows, least)


def _before(board: Board, outlook: Outlook) -> Outlook:
    """What jobs could have expected with what they have had so far, in the same order."""
    pending = board.snapshot.pending
    had = board.first[:-1] + np.array(
        [job.requested if job.current is None else job.current for job in pending], dtype=np.int64
    )
    rows = np.where(board.fits[had], had, outlook.assignment.rows)
    order = outlook.assignment.order
    begin = outlook.starts.begin
    end = begin + board.durations(rows[order])
    chance, error = board.chances(rows[order], begin)
    return Outlook(replace(outlook.assignment, rows=rows), Starts(begin, end), chance, error)
