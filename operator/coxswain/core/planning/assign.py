"""Which setting each job is given, when there are too many jobs to try everything.

One delay is traded against another in one currency: the time by which all that come later start later, which is the
work a job adds over the capacity of the queue. Three steps follow from it.

1. Everybody starts with the least work that would be in time if it started right away.
2. Where that is too much for somebody, some of those before it give way: those with the least claim (by priority, then
   by what has been promised) and of these the ones that take the most, as in Moore's and Hodgson's rule, which is
   optimal for one machine and known times.
3. What slack is left is spent: steps towards better settings are taken, those with the most value for their delay
   first, as long as everybody who comes later stays within its slack. Slack is kept in buckets of neighbouring jobs, so
   that a step costs the same for ten jobs and for a hundred thousand.

Starts come from the simulation; the currency is only used to foresee what changes do to them.
"""

import heapq
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from coxswain.core.models.types import Bools, Floats, Ints
from coxswain.core.planning.board import Board, Starts, bound_of
from coxswain.core.planning.order import in_order
from coxswain.core.planning.times import draw

BUCKETS = 256


@dataclass(frozen=True, eq=False)
class Assignment:
    """A candidate's row for each job, the order of the jobs, and which of them cannot be in time."""

    rows: Ints
    order: Ints
    late: Bools


def ordered(board: Board, late: Bools, earlier: Ints | None = None) -> Ints:
    """The order of jobs of which some are late."""
    return in_order(
        board.snapshot,
        priority=board.priority,
        due=board.due,
        created=board.created,
        late=late,
        earlier=earlier,
    )


def least_work(board: Board) -> Assignment:
    """The row of each job with the least work that is in time if it starts at once; who has none is late.

    Those get the one with the best chance; jobs without a deadline get what was requested.
    """
    jobs = board.job_of
    chance, _ = board.chances(np.arange(len(jobs)), np.full((len(jobs), 1), board.snapshot.now))
    timed = np.isfinite(board.due)
    able = board.fits & (chance >= board.level[jobs])
    # By job: first those that are able, by their work; then the others, by their chance (in percent), then their work.
    order = np.lexsort((board.work, np.where(able, 0.0, -np.round(chance, 2)), ~able, ~board.fits, jobs))
    best = order[board.first[:-1]]
    requested = board.first[:-1] + np.array([job.requested for job in board.snapshot.pending], dtype=np.int64)
    rows = np.where(timed | ~board.fits[requested], best, requested)
    late = timed & ~able[best]
    return Assignment(rows, ordered(board, late), late)


def slack_of(board: Board, rows: Ints, starts: Starts) -> Floats:
    """By how much each job may start later and still be in time."""
    jobs = board.job_of[rows]
    return board.due[jobs] - bound_of(starts.end, board.level[jobs])


def give_way(board: Board, assignment: Assignment, slack: Floats) -> Bools:
    """Who is late after the jobs that take most have given way; `slack` is in the order of the assignment."""
    late = assignment.late.copy()
    work = board.work[assignment.rows]
    heap: list[tuple[int, float, int]] = []
    freed = 0.0
    takes_part = (np.isfinite(board.due) & ~late).tolist()
    claims, works = board.claim.tolist(), work.tolist()
    for job, own in zip(assignment.order.tolist(), slack.tolist(), strict=True):
        if not takes_part[job]:
            continue
        heapq.heappush(heap, (claims[job], -works[job], job))
        while heap and own + freed < 0:
            _, taken, gone = heapq.heappop(heap)
            late[gone] = True
            freed -= taken
            if gone == job:
                break
    return late


def spend_slack(board: Board, assignment: Assignment, slack: Floats, begin: Floats) -> Ints:
    """Better settings for as many jobs as the slack of those behind them allows.

    `slack` and `begin` (when each starts, at its confidence) are in the order of the assignment.
    """
    jobs, rows = assignment.order, assignment.rows.copy()
    timed = np.isfinite(board.due[jobs]) & ~assignment.late[jobs]
    places = np.flatnonzero(timed)
    if not len(places):
        return rows
    place_of = np.full(len(jobs), -1)
    place_of[jobs[places]] = np.arange(len(places))
    steps = _steps(board, rows, jobs[places], begin[places])
    bucket = np.arange(len(places)) * min(BUCKETS, len(places)) // len(places)
    room = np.full(int(bucket[-1]) + 1, np.inf)
    np.minimum.at(room, bucket, slack[places])
    bucket_of = np.where(place_of >= 0, bucket[place_of], -1).tolist()
    least = np.minimum.reduce
    stuck: set[int] = set()
    for job, row, delay, shorter in zip(*(each.tolist() for each in steps), strict=True):
        if job in stuck:
            continue
        here = bucket_of[job]
        behind = room[here:]
        if shorter < 0 or least(behind) < delay:
            stuck.add(job)
            continue
        behind -= delay
        behind[0] = min(behind[0], shorter)
        rows[job] = row
    return rows


def _steps(board: Board, rows: Ints, jobs: Ints, begin: Floats) -> tuple[Ints, Ints, Floats, Floats]:
    """Steps from each job's row upwards, the best first: the job, the row, the delay, the slack it leaves itself."""
    begins = np.full(len(board.first) - 1, np.nan)
    begins[jobs] = begin
    own = begins[board.job_of]
    bound = draw(board.values, ndtri(board.level)[board.job_of, None])[:, 0]
    leaves = board.due[board.job_of] - own - bound
    base = rows[board.job_of]
    better = board.fits & (board.worth > board.worth[base]) & np.isfinite(own) & (leaves >= 0)
    delay = board.work - board.work[base]
    order = np.lexsort((-board.worth, delay, board.job_of))
    order = order[better[order]]
    kept, last_job, top = [], -1, -np.inf
    for row, job, worth in zip(order.tolist(), board.job_of[order].tolist(), board.worth[order].tolist(), strict=True):
        if job != last_job:
            last_job, top = job, -np.inf
        if worth > top:
            kept.append(row)
            top = worth
    chosen = np.array(kept, dtype=np.int64)
    owner = board.job_of[chosen]
    first = np.diff(owner, prepend=-1) != 0
    delays = np.where(first, delay[chosen], np.diff(delay[chosen], prepend=0.0))
    gains = np.where(first, board.worth[chosen] - board.worth[rows[owner]], np.diff(board.worth[chosen], prepend=0.0))
    ratio = (gains / np.maximum(delays, 1e-9)).tolist()
    # A job's steps are taken one after the other: a later one counts for no more than the one before it.
    for place in np.flatnonzero(~first).tolist():
        ratio[place] = min(ratio[place], ratio[place - 1])
    best = np.argsort(-np.asarray(ratio), kind="stable")
    return owner[best], chosen[best], delays[best], leaves[chosen][best]
