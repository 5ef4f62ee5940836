"""What a plan says about each job: its forecast, what is done with it, and why, in words."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from coxswain.core.factors import Level
from coxswain.core.models.types import Floats
from coxswain.core.planning.assign import Assignment
from coxswain.core.planning.board import Board, Starts
from coxswain.core.planning.values import Capacity, Decision, Forecast, Infeasible, Pending, Quantiles

if TYPE_CHECKING:
    from coxswain.core.planning.planner import Outlook

# A job starts now if it does in at least this share of the replicates: else it would delay a reservation.
NOW = 0.9
_NEVER = Forecast(Quantiles(None, None), Quantiles(None, None), Quantiles(None, None), None)


def decide(
    board: Board, assignment: Assignment, starts: Starts, chance: Floats, before: "Outlook"
) -> Iterator[Decision]:
    """The decisions on all jobs, in their order."""
    snapshot = board.snapshot
    left = _unused(board)
    for place, number in enumerate(assignment.order.tolist()):
        job = snapshot.pending[number]
        row = int(assignment.rows[number])
        candidate = job.candidates[row - int(board.first[number])]
        timed = job.deadline is not None
        attainable = bool(chance[place] >= job.confidence) if timed else None
        runs = attainable is not False or job.when_infeasible is Infeasible.RUN_ANYWAY
        now = runs and left.holds(candidate.need) and np.mean(starts.begin[place] <= snapshot.now) >= NOW
        if now:
            left = Capacity(left.cores - candidate.need.cores, left.gpus - candidate.need.gpus)
        forecast = _forecast(board, job, starts.begin[place], starts.end[place], chance[place] if timed else None)
        yield Decision(
            name=job.name,
            choice=row - int(board.first[number]),
            starts_now=bool(now),
            forecast=forecast if runs else _NEVER,
            before=_forecast(
                board,
                job,
                before.starts.begin[place],
                before.starts.end[place],
                before.chance[place] if timed else None,
            ),
            attainable=attainable,
            reason=_reason(job, row - int(board.first[number]), float(chance[place]), float(before.chance[place])),
            remedy=_remedy(board, number, starts.begin[place]) if attainable is False else None,
        )


def unplaceable(job: Pending, capacity: Capacity) -> Decision:
    """The decision on a job that needs more than its queue has."""
    least = min(job.candidates, key=lambda each: (each.need.gpus, each.need.cores))
    return Decision(
        name=job.name,
        choice=job.candidates.index(least),
        starts_now=False,
        forecast=_NEVER,
        before=_NEVER,
        attainable=None if job.deadline is None else False,
        reason=f"It needs {_amount(least.need)}, but its queue has {_amount(capacity)}.",
        remedy=f"Ask for no more than {_amount(capacity)}.",
    )


def _unused(board: Board) -> Capacity:
    capacity, running = board.snapshot.capacity, board.snapshot.running
    return Capacity(
        capacity.cores - sum(job.need.cores for job in running), capacity.gpus - sum(job.need.gpus for job in running)
    )


def _forecast(board: Board, job: Pending, begin: Floats, end: Floats, chance: float | None) -> Forecast:
    levels = [0.5, job.confidence]
    start, finish = (Quantiles(*np.quantile(each, levels).tolist()) for each in (begin, end))
    wait = Quantiles(*(np.quantile(begin, levels) - board.snapshot.now).tolist())
    return Forecast(wait, start, finish, None if chance is None else float(chance))


def _reason(job: Pending, choice: int, chance: float, before: float) -> str:
    had = job.requested if job.current is None else job.current
    if job.deadline is None:
        return "It has no deadline, so it runs as requested."
    if chance < job.confidence:
        return f"No setting it allows is in time with {job.confidence:.0%}; the best has a chance of {chance:.0%}."
    if choice == had:
        return f"It is in time with a chance of {chance:.0%}."
    change = f"{_words(job.candidates[had].settings)} → {_words(job.candidates[choice].settings)}"
    if before < job.confidence:
        return f"{change}: in time with a chance of {chance:.0%} instead of {before:.0%}."
    return f"{change}: better, and still in time with a chance of {chance:.0%}."


def _remedy(board: Board, number: int, begin: Floats) -> str:
    """The earliest time that would do, or by when it would have had to start."""
    job = board.snapshot.pending[number]
    rows = np.arange(board.first[number], board.first[number + 1])
    rows = rows[board.fits[rows]]
    finish = {int(row): float(np.quantile(begin + board.durations(np.array([row]))[0], job.confidence)) for row in rows}
    best = min(finish, key=lambda row: finish[row])
    fastest = job.candidates[best - int(board.first[number])]
    after = max(finish[best] - (job.deadline or 0.0), 0.0)
    told = f"A deadline {after:.0f} s later would be met with {job.confidence:.0%}"
    settings = _words(fastest.settings)
    return f"{told} ({settings})." if settings else f"{told}."


def _words(settings: Mapping[str, Level]) -> str:
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in settings.items()
    )


def _amount(capacity: Capacity) -> str:
    cores = f"{capacity.cores / 1000:g} cores"
    return f"{cores} and {capacity.gpus} GPUs" if capacity.gpus else cores
