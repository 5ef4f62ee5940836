"""The jobs of a queue as the planner sees them: settings to choose from, how long each takes, and what it is worth.

A job whose family has taught nothing yet keeps what it has: its settings are not chosen by a guess.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from coxswain.core.api.job import Steered
from coxswain.core.api.status import DEADLINE_ATTAINABLE
from coxswain.core.cost import Prices
from coxswain.core.forecasts.learning import FamilyModel
from coxswain.core.jobs.view import Job, Trained
from coxswain.core.planning.arrivals import Came, arrivals_like
from coxswain.core.planning.values import (
    DAY,
    Arrivals,
    Capacity,
    Infeasible,
    Pending,
    Running,
    Snapshot,
)
from coxswain.core.steering.contention import contention_of
from coxswain.core.steering.explore import drawn, explores
from coxswain.core.steering.options import Options, options_of
from coxswain.core.steering.predictions import need_of, remaining, times_at


@dataclass(frozen=True, eq=False)
class Prospect:
    """A job, the key of its family, and what that family has taught; of a running job what its workers said last."""

    job: Job
    family: str
    model: FamilyModel | None = None
    trained: Trained | None = None
    news: bool = True

    @property
    def known(self) -> bool:
        """Whether its family has taught how long it takes; what is said without that is a guess."""
        return self.model is not None and self.model.durations is not None

    @property
    def name(self) -> str:
        """What the planner calls it."""
        return f"{self.job.namespace}/{self.job.name}"


@dataclass(frozen=True, eq=False)
class Situation:
    """A queue as it is found: who waits and who runs, what it has, what that costs, and who has ended."""

    waiting: tuple[Prospect, ...]
    running: tuple[Prospect, ...]
    capacity: Capacity
    now: datetime
    prices: Prices
    ended: tuple[Job, ...] = ()
    """They tell, with the others, how often jobs come."""
    notes: tuple[str, ...] = ()
    """What is not in it, or not known, in sentences."""

    @property
    def load(self) -> float:
        """How many jobs run at the same time, one of those that wait included."""
        return 1.0 + len(self.running)


@dataclass(frozen=True, eq=False)
class Scene:
    """What the planner is given, and what its choices stand for, by the names of the jobs."""

    snapshot: Snapshot
    choices: Mapping[str, Sequence[Steered | None]]
    explored: frozenset[str] = frozenset()
    """Those whose setting was drawn at random."""


def scene_of(situation: Situation) -> Scene:
    """The jobs of a queue as the planner sees them."""
    slow_down = contention_of(((each.job, each.family, each.model) for each in situation.waiting), situation.capacity)
    # Where it is known, the planner itself sees who else runs when a job starts; else times are those beside what runs.
    load = 1.0 if slow_down else situation.load
    load_of_running = float(len(situation.running)) if slow_down else situation.load
    found = {
        each.name: options_of(each.job.spec, each.model, load, situation.prices, fixed=each.job.begun)
        for each in situation.waiting
    }
    explored = {each.name: _explored(each, found[each.name], situation) for each in situation.waiting}
    options = found | {name: own for name, own in explored.items() if own}
    pending = tuple(_pending(each, options[each.name]) for each in situation.waiting)
    return Scene(
        Snapshot(
            now=situation.now.timestamp(),
            capacity=situation.capacity,
            pending=pending,
            running=tuple(_running(each, situation.now, load_of_running) for each in situation.running),
            arrivals=_arrivals(situation, pending),
            contention=slow_down,
        ),
        {name: own.choices for name, own in options.items()},
        frozenset(name for name, own in explored.items() if own),
    )


def _explored(prospect: Prospect, options: Options, situation: Situation) -> Options | None:
    """The one setting that a job which explores is to run with."""
    if len(options.choices) < 2 or not explores(prospect.job):
        return None
    place = drawn(prospect.job, [each.times for each in options.candidates], situation.now)
    return None if place is None else options.only(place)


def _pending(prospect: Prospect, options: Options) -> Pending:
    job, steering = prospect.job, prospect.job.spec.steering
    condition = job.status.condition(DEADLINE_ATTAINABLE)
    return Pending(
        name=prospect.name,
        created=job.created.timestamp(),
        candidates=options.candidates,
        requested=0,
        current=options.choices.index(job.spec.steered) if job.spec.steered in options.choices else None,
        news=prospect.news,
        promised=condition is not None and condition.status == "True",
        priority=job.spec.priority,
        deadline=None if job.deadline is None else job.deadline.timestamp(),
        confidence=options.confidence,
        level=options.level if job.deadline else None,
        # Nobody is given up by a guess.
        when_infeasible=Infeasible(steering.when_infeasible) if prospect.known else Infeasible.RUN_ANYWAY,
        family=prospect.family,
    )


def _running(prospect: Prospect, now: datetime, load: float) -> Running:
    job = prospect.job
    return Running(
        name=prospect.name,
        need=need_of(job.effective),
        remaining=remaining(job, prospect.model, prospect.trained, now, load),
        deadline=None if job.deadline is None else job.deadline.timestamp(),
        confidence=job.spec.steering.confidence_percent / 100,
        family=prospect.family,
    )


def _arrivals(situation: Situation, pending: Sequence[Pending]) -> Arrivals | None:
    """Who is to come, if it is like those who came: what they took, or are thought to take as they asked for."""
    waiting = [_came(each.job, _median(job)) for each, job in zip(situation.waiting, pending, strict=True)]
    running = [
        _came(each.job, times_at(each.model, [each.job.effective], situation.load)[0].quantile(0.5))
        for each in situation.running
    ]
    ended = [
        _came(job, result.duration_seconds)
        for job in situation.ended
        if (result := job.status.result) is not None and result.duration_seconds is not None
    ]
    return arrivals_like([*waiting, *running, *ended], situation.now.timestamp())


def _median(job: Pending) -> float:
    return job.candidates[job.requested].times.quantile(0.5)


def _came(job: Job, seconds: float) -> Came:
    deadline = job.deadline
    due = DAY if deadline is None else (deadline - job.created).total_seconds()
    return Came(job.created.timestamp(), need_of(job.effective), seconds, due, job.spec.priority)
