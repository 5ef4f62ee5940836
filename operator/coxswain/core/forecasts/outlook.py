"""A job's forecast: when it will start and finish, how good it gets, and the chance to meet its deadline.

One distribution of its duration gives the interval, the bound and the chance, so these agree. A job that runs is
forecast by the epochs it has done; before the first one, by what the model says of all its time, of which some has
passed. Epochs that were done while more or fewer jobs ran are taken for as long as they would be now, as far as the
family's runs tell what that changes. What is left of a wait is told by whoever plans the queue.
"""

import hashlib
import json
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from coxswain.core.api.job import JobSpec
from coxswain.core.api.status import Forecast, Interval, Issued, render_time
from coxswain.core.errors import InputError
from coxswain.core.families import fields_of
from coxswain.core.forecasts.adapted import plain, read_at
from coxswain.core.forecasts.fan import fan_of
from coxswain.core.forecasts.learning import FamilyModel, settings_of
from coxswain.core.jobs.view import Job, Outlook, Trained
from coxswain.core.models import Basis, DurationModel
from coxswain.core.models.total import Duration
from coxswain.core.models.varied import LOAD

_LEVELS = np.linspace(0.0005, 0.9995, 1000)
# What little is known may leave everything open; a time beyond this says no more than this one.
_LONGEST_SECONDS = 10 * 365 * 86_400.0


def outlook(
    job: Job,
    model: FamilyModel,
    now: datetime,
    *,
    load: float,
    load_so_far: float | None = None,
    wait: Interval | None = None,
    trained: Trained | None = None,
) -> Outlook:
    """The forecast of a job that waits or runs.

    `load` is how many jobs run with it, itself included, and `load_so_far` how many did on average while it did what it
    has `trained`. `wait` is what is left of its wait in seconds, if it waits.
    """
    if model.durations is None:
        if model.missing:
            message = f"{model.missing} more finished runs like it are needed; there are {model.runs}."
            return Outlook(None, "TooFewObservations", message, missing=model.missing, observed=model.observed)
        return Outlook(None, "NotLearned", model.problem or "nothing could be learned from the runs so far.")
    spec = job.effective
    settings = settings_of(fields_of(spec).items(), load)
    epochs = spec.parameters.epochs
    try:
        if trained is not None and load_so_far is not None:
            trained = _at_load(trained, model.durations, settings, load_so_far)
        seconds, duration = _time_left(job, model, settings, now, trained)
    except InputError as error:
        return Outlook(None, "UnlikeAnyObserved", str(error))
    begin = now if job.status.attempt else now + timedelta(seconds=wait.expected if wait else 0.0)
    confidence = spec.steering.confidence_percent
    waits = _spread_of(wait) if wait and not job.status.attempt else np.zeros_like(_LEVELS)
    total = np.minimum(_sum_of(waits, seconds), _LONGEST_SECONDS)
    deadline = job.deadline
    chance = None
    if deadline is not None:
        chance = 100 * float(np.mean(total <= (deadline - now).total_seconds()))
    tail = (1 - confidence / 100) / 2
    expected = min(float(np.quantile(seconds, 0.5)), _LONGEST_SECONDS)
    issued = Issued(
        time=now,
        settings=settings_hash(spec),
        learned=model.knows,
        confidence_percent=confidence,
        wait_seconds=wait if not job.status.attempt else None,
        duration_seconds=_interval(duration.quantile(np.array([tail, 0.5, 1 - tail]))),
        finish_time=begin + timedelta(seconds=expected),
        latest_finish_time=now + timedelta(seconds=float(np.quantile(total, confidence / 100))),
        chance_percent=None if chance is None else round(chance, 1),
        basis=_basis(duration, model),
        quantiles=fan_of(plain(duration).quantile),
        adapted=read_at(duration),
    )
    forecast = Forecast(
        **{name: getattr(issued, name) for name in Issued.model_fields.keys() & Forecast.model_fields.keys()},
        accuracy=_accuracy(job, model, epochs, tail),
        model=model.durations.epoch.chosen,
    )
    return Outlook(forecast, *_learned(model), None if trained and trained.epochs else issued)


def _learned(model: FamilyModel) -> tuple[str, str]:
    """What a forecast was learned from: a reason and a sentence."""
    drift = model.drift
    if drift is None or not model.drifting:
        return "Learned", f"forecast from {model.runs} finished runs like it."
    return "Drifted", (
        f"forecast from {model.runs} finished runs like it that began since {render_time(drift.since)}: "
        f"these took about {drift.ratio:.2g} times as long as forecast, so earlier ones are left out."
    )


def settings_hash(spec: JobSpec) -> str:
    """A short hash of what a forecast depends on, of a job as it would start."""
    return hashlib.sha256(json.dumps(fields_of(spec), sort_keys=True).encode()).hexdigest()[:12]


def _time_left(
    job: Job, model: FamilyModel, settings: dict[str, float | str], now: datetime, trained: Trained | None
) -> tuple[np.ndarray, Duration]:
    """Evenly likely seconds until the job is done once it runs, and the distribution of all its time."""
    assert model.durations is not None  # noqa: S101 - the caller has looked
    epochs = job.effective.parameters.epochs
    at = model.durations.at(settings)
    whole = at.one(epochs)
    attempt = job.status.attempt
    if attempt is None:
        return whole.quantile(_LEVELS), whole
    if trained is not None and trained.epoch_seconds and trained.epochs:
        left = at.one(epochs, trained.epoch_seconds).quantile(_LEVELS)
        return np.maximum(left - (now - trained.at).total_seconds(), 0.0), whole
    elapsed = (now - attempt.start_time).total_seconds()
    # Of all that could be, what has not been done by now.
    passed = min(whole.cdf(elapsed), 1 - 1e-6)
    return np.maximum(whole.quantile(passed + (1 - passed) * _LEVELS) - elapsed, 0.0), whole


def _at_load(
    trained: Trained, durations: DurationModel, settings: dict[str, float | str], load_so_far: float
) -> Trained:
    """What a job has done, with epochs that take as long as they would with the load of the settings."""
    if load_so_far == settings[LOAD]:
        return trained
    measured = durations.at(settings | {LOAD: load_so_far})
    return replace(trained, epoch_seconds=durations.at(settings).as_here(trained.epoch_seconds, measured))


def _accuracy(job: Job, model: FamilyModel, epochs: int, tail: float) -> Interval | None:
    if model.curve is None:
        return None
    settings = {name: value for name, value in fields_of(job.effective).items() if name != "epochs"}
    try:
        found = model.curve.predict(settings, [epochs])
    except InputError:
        return None
    low, middle, high = (min(max(float(found.quantile(level)[0]), 0.0), 1.0) for level in (tail, 0.5, 1 - tail))
    return Interval(low=low, expected=middle, high=high)


def _basis(duration: Duration, model: FamilyModel) -> str:
    kind = "conformal" if duration.basis is Basis.CONFORMAL else "parametric"
    notes = "".join(f"; {note}" for note in duration.notes)
    return f"{kind}, {model.runs} runs{notes}"[:256]


def _interval(values: np.ndarray) -> Interval:
    low, middle, high = (float(f"{min(value, _LONGEST_SECONDS):.4g}") for value in values)
    return Interval(low=low, expected=middle, high=high)


def _spread_of(wait: Interval) -> np.ndarray:
    """Evenly likely waits with this interval."""
    return np.asarray(np.interp(_LEVELS, [0.0, 0.5, 1.0], [wait.low, wait.expected, wait.high]))


def _sum_of(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Evenly likely sums of two independent times, each given by evenly likely values."""
    order = np.random.Generator(np.random.PCG64(0)).permutation(len(second))
    return np.asarray(first + second[order])
