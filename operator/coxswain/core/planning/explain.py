"""What a plan says about each job: its forecast, what is done with it, and why, in words."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from coxswain.core.models.types import Floats, Ints
from coxswain.core.planning.board import Board, Starts
from coxswain.core.planning.harm import unused
from coxswain.core.planning.openings import openings
from coxswain.core.planning.times import SCORES
from coxswain.core.planning.values import Capacity, Decision, Forecast, Infeasible, Pending
from coxswain.core.planning.words import told_amount, told_settings, told_span

if TYPE_CHECKING:
    from coxswain.core.planning.planner import Outlook

# A job starts now if it does in at least this share of the replicates: else it would delay a reservation.
NOW = 0.9
_NEVER = Forecast(0.0, None, None, None, None, None)


def decide(board: Board, outlook: "Outlook", before: "Outlook", least: Ints) -> Iterator[Decision]:
    """The decisions on all jobs, in their order; `least` is the row of everybody's least work."""
    snapshot = board.snapshot
    assignment, starts, chance = outlook.assignment, outlook.starts, outlook.chance
    failing = np.zeros(len(chance), dtype=bool)
    failing[assignment.order] = chance < board.level[assignment.order]
    found = openings(board, least, assignment.order, failing)
    left = unused(snapshot)
    at_once = np.mean(starts.begin <= snapshot.now, axis=1) >= NOW
    forecasts = _forecasts(board, assignment.order, starts, chance)
    changed = np.flatnonzero((before.assignment.rows != assignment.rows)[assignment.order])
    had = dict(
        zip(
            changed.tolist(),
            _forecasts(
                board,
                assignment.order[changed],
                Starts(before.starts.begin[changed], before.starts.end[changed]),
                before.chance[changed],
            ),
            strict=True,
        )
    )
    choices = (assignment.rows - board.first[:-1]).tolist()
    fails, chances, chances_before = failing.tolist(), chance.tolist(), before.chance.tolist()
    for place, (number, starts_first) in enumerate(zip(assignment.order.tolist(), at_once.tolist(), strict=True)):
        job, choice = snapshot.pending[number], choices[number]
        attainable = None if job.deadline is None else not fails[number]
        runs = attainable is not False or job.when_infeasible is Infeasible.RUN_ANYWAY
        now = runs and starts_first and left.holds(job.candidates[choice].need)
        if now:
            need = job.candidates[choice].need
            left = Capacity(left.cores - need.cores, left.gpus - need.gpus)
        yield Decision(
            name=job.name,
            choice=choice,
            starts_now=now,
            forecast=forecasts[place] if runs else _NEVER,
            before=had.get(place),
            attainable=attainable,
            reason=_reason(job, choice, snapshot.now, chances[place], chances_before[place]),
            remedy=_remedy(board, number, starts.begin[place]) if attainable is False else None,
            opening=found.get(number),
        )


def unplaceable(job: Pending, capacity: Capacity) -> Decision:
    """The decision on a job that needs more than its queue has."""
    least = min(job.candidates, key=lambda each: (each.need.gpus, each.need.cores))
    return Decision(
        name=job.name,
        choice=job.candidates.index(least),
        starts_now=False,
        forecast=_NEVER,
        attainable=None if job.deadline is None else False,
        reason=f"It needs {told_amount(least.need)}, but its queue has {told_amount(capacity)}.",
        remedy=f"Ask for no more than {told_amount(capacity)}.",
    )


def _forecasts(board: Board, jobs: Ints, starts: Starts, chance: Floats) -> list[Forecast]:
    asked = board.asked[jobs]
    half = np.full(len(asked), 0.5)
    begin, end = np.sort(starts.begin, axis=1), np.sort(starts.end, axis=1)
    columns = [quantile_of(each, level) for each in (begin, end) for level in (half, asked)]
    now = board.snapshot.now
    if board.snapshot.arrivals is not None:
        columns[1] = np.maximum(columns[1], _may_be_put_off(board, jobs, chance, columns))
    return [
        Forecast(now, start, start_bound, finish, finish_bound, likely if timed else None)
        for start, start_bound, finish, finish_bound, likely, timed in zip(
            *(column.tolist() for column in columns),
            chance.tolist(),
            np.isfinite(board.due[jobs]).tolist(),
            strict=True,
        )
    ]


def _may_be_put_off(board: Board, jobs: Ints, chance: Floats, columns: list[Floats]) -> Floats:
    """Until when each job may be put off for those to come: while it is in time, or else until its patience is over."""
    _, start, _, finish = columns
    in_time = board.due[jobs] - (finish - start)
    patient = board.created[jobs] + board.snapshot.patience + start - board.snapshot.now
    return np.where(chance >= board.level[jobs], np.where(np.isfinite(in_time), in_time, -np.inf), patient)


def quantile_of(ascending: Floats, levels: Floats) -> Floats:
    """The quantile of each row, whose values are in ascending order, at its own level."""
    place = levels * (ascending.shape[1] - 1)
    below = np.minimum(place.astype(np.int64), ascending.shape[1] - 2)
    rows = np.arange(len(ascending))
    low = ascending[rows, below]
    return np.asarray(low + (place - below) * (ascending[rows, below + 1] - low), dtype=float)


def _reason(job: Pending, choice: int, now: float, chance: float, before: float) -> str:  # noqa: PLR0911 - one a case
    had = job.requested if job.current is None else job.current
    if job.deadline is None:
        return "It has no deadline, so it runs as requested."
    if job.deadline <= now:
        return f"Its deadline passed {told_span(now - job.deadline)} ago."
    if chance < job.asks_for:
        needs = f" (a promise of that needs {_percent(job.asks_for)} here)" if job.asks_for > job.confidence else ""
        asked = f"{_percent(job.confidence)}{needs}"
        return f"No setting it allows is in time with {asked}; it has a chance of {_percent(chance)}."
    if choice == had:
        return f"It is in time with a chance of {_percent(chance)}."
    change = f"{told_settings(job.candidates[had].settings)} → {told_settings(job.candidates[choice].settings)}"
    if before < job.asks_for:
        return f"{change}: in time with a chance of {_percent(chance)} instead of {_percent(before)}."
    if job.candidates[choice].value < job.candidates[had].value:
        return f"{change}: it makes room for others, and is in time with a chance of {_percent(chance)}."
    return f"{change}: better, and still in time with a chance of {_percent(chance)}."


def _percent(chance: float) -> str:
    """A chance in whole per cent, rounded down: what is short of enough must not look like enough."""
    return f"{int(100 * chance + 1e-9)} %"


def _remedy(board: Board, number: int, begin: Floats) -> str:
    """What would do without asking for less: an earlier start, where one would, and the earliest deadline."""
    job = board.snapshot.pending[number]
    rows = np.arange(board.first[number], board.first[number + 1])
    rows = rows[board.fits[rows]]
    ends = np.sort(begin + board.durations(rows), axis=1)
    finish = quantile_of(ends, np.full(len(rows), job.asks_for))
    fastest = int(rows[np.argmin(finish)])
    deadline = job.deadline or 0.0
    settings = told_settings(job.candidates[fastest - int(board.first[number])].settings)
    latest = deadline - board.snapshot.now - float(np.interp(ndtri(job.asks_for), SCORES, board.values[fastest]))
    later = told_span(max(float(finish.min()) - deadline, 1.0))
    told = f"A deadline {later} later would be met with {_percent(job.confidence)}"
    told = f"{told} ({settings})." if settings else f"{told}."
    if latest < 0:
        return told
    return f"It would be in time if it started within {told_span(latest)}, but others come first. {told}"
