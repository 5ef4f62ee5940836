"""What a family's models say of settings: how long each takes, what it is worth, and what is left of a running job.

A job whose family has taught nothing yet takes as long as jobs usually do, very roughly.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from coxswain.core.api.job import JobSpec
from coxswain.core.cost import Prices
from coxswain.core.demand import demand_of
from coxswain.core.errors import InputError
from coxswain.core.families import fields_of
from coxswain.core.forecasts.learning import EPOCHS, FamilyModel, settings_of
from coxswain.core.jobs.view import Job, Trained
from coxswain.core.models.varied import LOAD
from coxswain.core.planning.times import LEVELS, Times, exactly, lognormal, times_of
from coxswain.core.planning.values import Capacity

# What is thought of a job of which nothing is known: minutes, give or take a factor of ten.
_USUAL_SECONDS, _USUAL_SPREAD = 300.0, 1.2
_MOST_SHARED = 0.99


def need_of(spec: JobSpec) -> Capacity:
    """What a job holds, in the planner's units."""
    demand = demand_of(spec)
    return Capacity(round(1000 * demand.all_cores), demand.all_gpus)


def cost_of(spec: JobSpec, times: Times, prices: Prices) -> float:
    """What a setting usually costs; `spec` is the effective one.

    By the median: what little is known of a setting may leave open so much that a mean says nothing.
    """
    return prices.of_run(demand_of(spec).reserved, times.quantile(0.5))


def times_at(model: FamilyModel | None, specs: Sequence[JobSpec], load: float) -> list[Times]:
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


def values_at(
    objective: str, model: FamilyModel | None, specs: Sequence[JobSpec], times: Sequence[Times], prices: Prices
) -> list[float]:
    """What each setting is worth by an objective.

    Accuracy is the predicted one, or while no accuracy is learned, the epochs, as with MostWork. LeastCost looks at
    money alone, or where nothing has a price, at core-seconds: what else the user wants is in the bounds of adjust.
    """
    if objective == "LeastCost":
        return [
            -(cost_of(spec, each, prices) or need_of(spec).cores * each.quantile(0.5))
            for spec, each in zip(specs, times, strict=True)
        ]
    accuracies = accuracies_at(model, specs) if objective == "Accuracy" else None
    if accuracies is None:
        return [float(spec.parameters.epochs) for spec in specs]
    return [each or 0.0 for each in accuracies]


def accuracies_at(model: FamilyModel | None, specs: Sequence[JobSpec]) -> list[float | None] | None:
    """The accuracy that each setting reaches; None for one unlike any observed, or for all where none is learned."""
    if model is None or model.curve is None:
        return None
    found: list[float | None] = [None] * len(specs)
    for settings, places in _by_settings(specs, None):
        epochs = [specs[place].parameters.epochs for place in places]
        try:
            points = model.curve.predict(settings, epochs).point
        except InputError:
            continue
        for place, value in zip(places, points, strict=True):
            found[place] = float(value)
    return found


def remaining(job: Job, model: FamilyModel | None, trained: Trained | None, now: datetime, load: float) -> Times:
    """How long a running job still takes: by its own epochs, or by what has passed of all its time."""
    attempt = job.status.attempt
    elapsed = max((now - attempt.start_time).total_seconds(), 0.0) if attempt else 0.0
    if model is None or model.durations is None:
        return _usually_left(elapsed)
    try:
        at = model.durations.at(settings_of(fields_of(job.effective).items(), load))
    except InputError:
        return _usually_left(elapsed)
    epochs = job.effective.parameters.epochs
    if trained is not None and trained.epoch_seconds:
        if trained.epochs >= epochs:
            return exactly(1.0)
        left = at.one(epochs, trained.epoch_seconds)
        since = max((now - trained.at).total_seconds(), 0.0)
        return times_of(lambda levels: left.quantile(levels) - since, min(left.shared_share, _MOST_SHARED))
    whole = at.one(epochs)
    passed = min(whole.cdf(elapsed), 1 - 1e-6)
    return times_of(
        lambda levels: whole.quantile(passed + (1 - passed) * levels) - elapsed, min(whole.shared_share, _MOST_SHARED)
    )


def _usually_left(elapsed: float) -> Times:
    return lognormal(max(_USUAL_SECONDS - elapsed, 0.1 * _USUAL_SECONDS), _USUAL_SPREAD)


def _by_settings(specs: Sequence[JobSpec], load: float | None) -> list[tuple[dict[str, Any], list[int]]]:
    """Which of the specs share their settings but for the epochs."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, spec in enumerate(specs):
        own = (spec.engine, spec.workload, spec.parameters.model_copy(update={"epochs": 1}), spec.resources)
        groups.setdefault(own, []).append(place)
    found = []
    for places in groups.values():
        fields: dict[str, Any] = {name: value for name, value in fields_of(specs[places[0]]).items() if name != EPOCHS}
        found.append((fields if load is None else {**fields, LOAD: load}, places))
    return found
