"""The jobs of a queue as the planner sees them: settings to choose from, how long each takes, and what it is worth.

A job whose family has taught nothing yet keeps what it has: its settings are not chosen by a guess.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np

from coxswain.core.api.job import JobSpec, Steered
from coxswain.core.api.status import DEADLINE_ATTAINABLE
from coxswain.core.cost import Prices
from coxswain.core.forecasts.learning import FamilyModel
from coxswain.core.jobs.parameters import effective
from coxswain.core.jobs.view import Job, Trained
from coxswain.core.planning.arrivals import Came, arrivals_like
from coxswain.core.planning.promise import promise_level, strictest
from coxswain.core.planning.times import SCORES, Times
from coxswain.core.planning.values import (
    DAY,
    Arrivals,
    Candidate,
    Capacity,
    Infeasible,
    Pending,
    Running,
    Snapshot,
)
from coxswain.core.steering.choices import asked_for, choices_of, thinned, told
from coxswain.core.steering.predictions import need_of, remaining, times_at, values_at

# How sure a promise has to be is found from so many of a job's settings: those between are nearly the same.
_TRIED = 12


@dataclass(frozen=True, eq=False)
class Prospect:
    """A job, the key of its family, and what that family has taught; of a running job what its workers said last."""

    job: Job
    family: str
    model: FamilyModel | None = None
    trained: Trained | None = None
    news: bool = True

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

    @property
    def load(self) -> float:
        """How many jobs run at the same time, one of those that wait included."""
        return 1.0 + len(self.running)


@dataclass(frozen=True, eq=False)
class Scene:
    """What the planner is given, and what its choices stand for, by the names of the jobs."""

    snapshot: Snapshot
    choices: Mapping[str, Sequence[Steered | None]]


def scene_of(situation: Situation) -> Scene:
    """The jobs of a queue as the planner sees them."""
    choices = {each.name: _allowed(each) for each in situation.waiting}
    pending = tuple(_pending(each, choices[each.name], situation) for each in situation.waiting)
    return Scene(
        Snapshot(
            now=situation.now.timestamp(),
            capacity=situation.capacity,
            pending=pending,
            running=tuple(_running(each, situation) for each in situation.running),
            arrivals=_arrivals(situation, pending),
        ),
        choices,
    )


def _allowed(prospect: Prospect) -> list[Steered | None]:
    """The settings to choose from: none but the present one for a job that nobody may or can steer."""
    job = prospect.job
    known = prospect.model is not None and prospect.model.durations is not None
    if job.spec.steering.mode == "Disabled" or not job.spec.adjust:
        return [None]
    return choices_of(job.spec) if known else [job.spec.steered]


def _pending(prospect: Prospect, choices: Sequence[Steered | None], situation: Situation) -> Pending:
    job, steering = prospect.job, prospect.job.spec.steering
    specs = [effective(job.spec.model_copy(update={"steered": steered})) for steered in choices]
    times = times_at(prospect.model, specs, situation.load)
    values = values_at(steering.objective, prospect.model, specs, times, situation.prices)
    confidence = steering.confidence_percent / 100
    condition = job.status.condition(DEADLINE_ATTAINABLE)
    return Pending(
        name=prospect.name,
        created=job.created.timestamp(),
        candidates=tuple(
            Candidate(_named(job.spec, steered), need_of(spec), each, value)
            for steered, spec, each, value in zip(choices, specs, times, values, strict=True)
        ),
        requested=0,
        current=choices.index(job.spec.steered) if job.spec.steered in choices else None,
        news=prospect.news,
        promised=condition is not None and condition.status == "True",
        priority=job.spec.priority,
        deadline=None if job.deadline is None else job.deadline.timestamp(),
        confidence=confidence,
        level=_level(times, values, confidence) if job.deadline else None,
        when_infeasible=Infeasible(steering.when_infeasible),
        family=prospect.family,
    )


def _named(spec: JobSpec, steered: Steered | None) -> dict[str, float]:
    """What a setting is called: the fields that may be adjusted, as they would be."""
    values = asked_for(spec) | told(steered)
    return {each.field: values[each.field] for each in spec.adjust or ()}


def _level(times: Sequence[Times], values: Sequence[float], confidence: float) -> float:
    """How sure a promise has to be, so that it is kept with the confidence although the setting is picked."""
    tried = thinned(sorted(range(len(times)), key=lambda place: times[place].values[len(SCORES) // 2]), _TRIED)
    seconds, shared = np.array([times[place].values for place in tried]), [times[place].shared for place in tried]
    return _level_of(seconds.tobytes(), tuple(shared), tuple(values[place] for place in tried), confidence)


@lru_cache(maxsize=4096)
def _level_of(seconds: bytes, shared: tuple[float, ...], values: tuple[float, ...], confidence: float) -> float:
    """The same for jobs with the same settings, of which there are many, and for every plan until there is news."""
    rows = np.frombuffer(seconds).reshape(len(shared), -1)
    times = [Times(row, share) for row, share in zip(rows, shared, strict=True)]
    return promise_level(times, np.array(values), confidence) or strictest(confidence)


def _running(prospect: Prospect, situation: Situation) -> Running:
    job = prospect.job
    return Running(
        name=prospect.name,
        need=need_of(job.effective),
        remaining=remaining(job, prospect.model, prospect.trained, situation.now, situation.load),
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
