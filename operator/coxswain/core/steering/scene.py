"""The jobs of a queue as the planner sees them: settings to choose from, how long each takes, and what it is worth.

A job whose family has taught nothing yet takes as long as jobs of the queue usually do, very roughly. Its settings are
not chosen by that: it keeps what it has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from coxswain.core.api.job import JobSpec, Steered
from coxswain.core.cost import Prices
from coxswain.core.demand import demand_of
from coxswain.core.errors import InputError
from coxswain.core.families import fields_of
from coxswain.core.forecasts.learning import EPOCHS, FamilyModel, settings_of
from coxswain.core.jobs.parameters import effective
from coxswain.core.jobs.view import Job, Trained
from coxswain.core.planning.times import LEVELS, Times, exactly, lognormal, times_of
from coxswain.core.planning.values import Candidate, Capacity, Infeasible, Pending, Running, Snapshot
from coxswain.core.steering.choices import choices_of

# What is thought of a job of which nothing is known: minutes, give or take a factor of ten.
_USUAL_SECONDS, _USUAL_SPREAD = 300.0, 1.2
_MOST_SHARED = 0.99


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
class Scene:
    """What the planner is given, and what its choices stand for, by the names of the jobs."""

    snapshot: Snapshot
    choices: Mapping[str, Sequence[Steered | None]]


def scene_of(
    waiting: Sequence[Prospect],
    running: Sequence[Prospect],
    capacity: Capacity,
    now: datetime,
    *,
    prices: Prices,
    load: float,
) -> Scene:
    """The jobs of a queue, `load` being how many jobs run on average at the same time."""
    choices = {each.name: _allowed(each) for each in waiting}
    return Scene(
        Snapshot(
            now=now.timestamp(),
            capacity=capacity,
            pending=tuple(_pending(each, choices[each.name], prices, load) for each in waiting),
            running=tuple(_running(each, now, load) for each in running),
        ),
        choices,
    )


def need_of(spec: JobSpec) -> Capacity:
    """What a job holds, in the planner's units."""
    demand = demand_of(spec)
    return Capacity(round(1000 * demand.all_cores), demand.all_gpus)


def _allowed(prospect: Prospect) -> list[Steered | None]:
    """The settings to choose from: none but the present one for a job that nobody may or can steer."""
    job = prospect.job
    known = prospect.model is not None and prospect.model.durations is not None
    if job.spec.steering.mode == "Disabled" or not job.spec.adjust:
        return [None]
    return choices_of(job.spec) if known else [job.spec.steered]


def _pending(prospect: Prospect, choices: Sequence[Steered | None], prices: Prices, load: float) -> Pending:
    job = prospect.job
    specs = [effective(job.spec.model_copy(update={"steered": steered})) for steered in choices]
    times = _times(prospect.model, specs, load)
    values = _values(job, prospect.model, specs, times, prices)
    current = choices.index(job.spec.steered) if job.spec.steered in choices else None
    deadline = job.deadline
    return Pending(
        name=prospect.name,
        created=job.created.timestamp(),
        candidates=tuple(
            Candidate(_told(steered), need_of(spec), each, value)
            for steered, spec, each, value in zip(choices, specs, times, values, strict=True)
        ),
        requested=0,
        current=current,
        news=prospect.news,
        priority=job.spec.priority,
        deadline=None if deadline is None else deadline.timestamp(),
        confidence=job.spec.steering.confidence_percent / 100,
        when_infeasible=Infeasible(job.spec.steering.when_infeasible),
        family=prospect.family,
    )


def _running(prospect: Prospect, now: datetime, load: float) -> Running:
    job = prospect.job
    deadline = job.deadline
    return Running(
        name=prospect.name,
        need=need_of(job.effective),
        remaining=_remaining(prospect, now, load),
        deadline=None if deadline is None else deadline.timestamp(),
        confidence=job.spec.steering.confidence_percent / 100,
        family=prospect.family,
    )


def _remaining(prospect: Prospect, now: datetime, load: float) -> Times:
    job, model, trained = prospect.job, prospect.model, prospect.trained
    attempt = job.status.attempt
    elapsed = (now - attempt.start_time).total_seconds() if attempt else 0.0
    if model is None or model.durations is None:
        return lognormal(max(_USUAL_SECONDS - elapsed, 0.1 * _USUAL_SECONDS), _USUAL_SPREAD)
    try:
        at = model.durations.at(settings_of(fields_of(job.effective).items(), load))
    except InputError:
        return lognormal(max(_USUAL_SECONDS - elapsed, 0.1 * _USUAL_SECONDS), _USUAL_SPREAD)
    epochs = job.effective.parameters.epochs
    if trained is not None and trained.epoch_seconds:
        if trained.epochs >= epochs:
            return exactly(1.0)
        left = at.one(epochs, trained.epoch_seconds)
        since = (now - trained.at).total_seconds()
        return times_of(lambda levels: left.quantile(levels) - since, min(left.shared_share, _MOST_SHARED))
    whole = at.one(epochs)
    passed = min(whole.cdf(elapsed), 1 - 1e-6)
    return times_of(
        lambda levels: whole.quantile(passed + (1 - passed) * levels) - elapsed, min(whole.shared_share, _MOST_SHARED)
    )


def _times(model: FamilyModel | None, specs: Sequence[JobSpec], load: float) -> list[Times]:
    """How long each of some settings takes; those that differ in their epochs alone are predicted together."""
    times: list[Times] = [lognormal(_USUAL_SECONDS, _USUAL_SPREAD)] * len(specs)
    if model is None or model.durations is None:
        return times
    for settings, places in _by_settings(specs, load):
        epochs = [specs[place].parameters.epochs for place in places]
        try:
            durations = model.durations.at(settings).many(epochs)
        except InputError:
            continue
        values = np.maximum.accumulate(np.maximum(durations.quantile(LEVELS), 0.0), axis=0)
        for column, place in enumerate(places):
            times[place] = Times(values[:, column], min(float(durations.shared_share[column]), _MOST_SHARED))
    return times


def _values(
    job: Job, model: FamilyModel | None, specs: Sequence[JobSpec], times: Sequence[Times], prices: Prices
) -> list[float]:
    """What each setting is worth by the job's objective."""
    objective = job.spec.steering.objective
    if objective == "LeastCost":
        return [-prices.of_run(demand_of(spec).reserved, each.mean) for spec, each in zip(specs, times, strict=True)]
    if objective == "Accuracy" and model is not None and model.curve is not None:
        values = [0.0] * len(specs)
        for settings, places in _by_settings(specs, None):
            epochs = [specs[place].parameters.epochs for place in places]
            try:
                found = model.curve.predict(settings, epochs).point
            except InputError:
                continue
            for place, value in zip(places, found, strict=True):
                values[place] = float(value)
        return values
    return [float(spec.parameters.epochs) for spec in specs]


def _by_settings(specs: Sequence[JobSpec], load: float | None) -> list[tuple[dict[str, Any], list[int]]]:
    """Which of the specs share their settings but for the epochs."""
    groups: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for place, spec in enumerate(specs):
        fields = {name: value for name, value in fields_of(spec).items() if name != EPOCHS}
        if load is not None:
            fields["load"] = load
        groups.setdefault(tuple(sorted(fields.items())), []).append(place)
    return [(dict(key), places) for key, places in groups.items()]


def _told(steered: Steered | None) -> dict[str, Any]:
    return steered.model_dump(by_alias=True, exclude_none=True) if steered else {}
