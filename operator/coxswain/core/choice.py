"""The most epochs that a job can train for and still be done in time, by what an experiment has measured.

The job has to be one that the experiment tells about: the same in everything but the experiment's factors, which may
take other values, and the epochs, whose time is learned one by one. Of the numbers of epochs that are allowed, the
largest is chosen whose duration is within the limit with the confidence asked for. The choices are runs of one and the
same setting, so the model is wrong about all of them alike: picking the largest favours none it is too hopeful about.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coxswain.core.api.experiment import ExperimentSpec
from coxswain.core.api.fields import CONCURRENCY, leaves, level_of
from coxswain.core.api.job import Adjustment, JobSpec
from coxswain.core.errors import InputError
from coxswain.core.factors import Level
from coxswain.core.models import CurveRecord, DurationModel, LearningCurve, fit_curve, fit_durations
from coxswain.core.observations import Observation
from coxswain.core.records import Told, records_of

EPOCHS = "parameters.epochs"
# What a job's time depends on, and what of it may differ without making it another job.
_MATTERS = ("engine", "workload", "parameters", "resources", "data")
_FREE = (EPOCHS, "parameters.seed")

Settings = dict[str, Level]


@dataclass(frozen=True)
class Lessons:
    """What an experiment taught: how long its jobs take and, where they have an accuracy, how good they get."""

    durations: DurationModel
    curve: LearningCurve | None


@dataclass(frozen=True)
class Choice:
    """A number of epochs, with what to expect of it: medians, and bounds that hold with the confidence."""

    epochs: int
    confidence: float
    duration: float
    duration_bound: float
    chance: float
    """To be done within the limit."""
    accuracy: float | None = None
    accuracy_bound: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def sure(self) -> bool:
        """Whether it is as sure as asked for to be done within the limit."""
        return self.chance >= self.confidence


def learn(spec: ExperimentSpec, observations: Sequence[Observation]) -> Lessons:
    """Learn from the runs of an experiment that trained by the epoch, also from those that were ended early.

    Raises:
        InputError: if there are too few of them.
    """
    epochs = next((factor.name for factor in spec.factors if factor.field == EPOCHS), None)
    template = spec.template.spec
    horizon_dependent = template.parameters.schedule != "Constant"
    told, curves = [], []
    for each in observations:
        if each.succeeded and not each.curve.seconds:
            continue
        settings = {name: value for name, value in each.settings.items() if name != epochs}
        told.append(Told(each, settings, int(each.settings.get(epochs or "", template.parameters.epochs))))
        accuracies = [value for value in each.curve.accuracy if value is not None]
        if each.succeeded and len(accuracies) == each.epochs:
            curves.append(CurveRecord(settings, accuracies, horizon_dependent))
    records = records_of(told)
    if not records:
        raise InputError("no run that trained by the epoch has succeeded, so there is nothing to learn from.")
    durations = fit_durations(records)
    return Lessons(durations, _learn_curve(curves) if len(curves) == durations.runs else None)


def _learn_curve(curves: Sequence[CurveRecord]) -> LearningCurve | None:
    """The curve, if the runs tell one: those that all have one and the same number of epochs may not."""
    try:
        return fit_curve(curves)
    except InputError:
        return None


def settings_of(job: JobSpec, spec: ExperimentSpec) -> Settings:
    """The values that a job has of an experiment's factors, but for the epochs.

    Raises:
        InputError: if the job differs from the experiment's in something that was not varied there.
    """
    if job.parameters.schedule == "GrowingBatch":
        raise InputError("schedule GrowingBatch changes the time of an epoch as it goes; use another to choose epochs.")
    own, theirs = _leaves(job), _leaves(spec.template.spec)
    varied = {factor.field for factor in spec.factors}
    for field in sorted(own.keys() | theirs.keys()):
        if own.get(field) != theirs.get(field) and field not in varied:
            raise InputError(
                f"{field} of the job is {own.get(field)}, but the experiment ran with {theirs.get(field)} and did not "
                "vary it, so it cannot tell about this job; change the job or learn from another experiment."
            )
    return {
        factor.name: _level(own.get(factor.field), factor.field, numeric=factor.levels is not None)
        for factor in spec.factors
        if factor.field != EPOCHS
    }


def candidates(adjust: Sequence[Adjustment] | None) -> list[int]:
    """The numbers of epochs that a job allows, in ascending order.

    Raises:
        InputError: if it allows none but the one asked for.
    """
    for each in adjust or ():
        if each.field == "epochs":
            if each.values is not None:
                return sorted(int(value) for value in each.values)
            return list(range(int(each.min or 1), int(each.max or 1) + 1, int(each.step or 1)))
    raise InputError("the job does not say which epochs it allows; add adjust: [{field: epochs, min: 1, max: 40}].")


def choose(lessons: Lessons, settings: Settings, allowed: Sequence[int], limit: float, confidence: float) -> Choice:
    """The most epochs that are done within the limit with the confidence; the fewest if none is sure to be."""
    at = lessons.durations.at(settings)
    sure = at.many(allowed).cdf(np.array(limit)) >= confidence
    epochs = allowed[max(int(sure.sum()) - 1, 0)]  # more epochs take longer, so that those which fit come first
    duration = at.one(epochs)
    accuracy = bound = None
    notes = list(duration.notes)
    if lessons.curve is not None:
        expected = lessons.curve.predict(settings, [epochs])
        accuracy, bound = float(expected.point[0]), lessons.curve.at_least(settings, epochs, confidence)
        if epochs > lessons.curve.longest:
            notes.append(f"accuracies are known up to {lessons.curve.longest} epochs; what more bring is a guess")
    return Choice(
        epochs=epochs,
        confidence=confidence,
        duration=duration.point,
        duration_bound=duration.quantile(confidence),
        chance=duration.cdf(limit),
        accuracy=accuracy,
        accuracy_bound=bound,
        notes=tuple(notes),
    )


def _leaves(job: JobSpec) -> dict[str, Any]:
    """Every field that matters, by its name in a manifest."""
    found = {field: value for name in _MATTERS for field, value in leaves(getattr(job, name), name)}
    return {field: value for field, value in found.items() if field not in _FREE}


def _level(value: Any, field: str, *, numeric: bool) -> Level:
    """The value of a field as a factor has it; the inverse of how a factor's value is written into a manifest."""
    if field == CONCURRENCY:
        return 1.0
    if value is None:
        raise InputError(f"{field} is not given, but the experiment varied it; give it.")
    level = level_of(field, value)
    return level if numeric or isinstance(level, str) else str(value)
