"""What is said of a plan to people and programs: of each job, and of what else it could have asked for."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from coxswain.core.api.job import JobSpec
from coxswain.core.errors import InputError
from coxswain.core.families import fields_of
from coxswain.core.forecasts.learning import settings_of
from coxswain.core.jobs.parameters import asked_for, effective
from coxswain.core.jobs.view import Job
from coxswain.core.planning.values import Quantiles
from coxswain.core.steering.alternatives import Alternative, around
from coxswain.core.steering.predictions import accuracies_at
from coxswain.core.steering.scene import Prospect, Situation
from coxswain.core.steering.steps import Step, steps_for


@dataclass(frozen=True)
class Part:
    """One part of the time until a job is done."""

    name: str
    seconds: float


@dataclass(frozen=True, eq=False)
class Said:
    """What the plan says of a job, with the models it was said by."""

    step: Step
    prospect: Prospect
    accuracy: float | None

    def document(self) -> dict[str, Any]:
        """All of it as plain values, by stable names."""
        step, job = self.step, self.step.job
        forecast, times = step.decision.forecast, step.candidate.times
        confidence = job.spec.steering.confidence_percent / 100
        changes = {each.field: {"from": each.before, "to": each.to} for each in step.advice.adjusted}
        return {
            "name": job.name,
            "namespace": job.namespace,
            "rank": step.rank + 1,
            "starts_now": step.decision.starts_now,
            "setting": self.setting,
            "changes": changes,
            "wait_seconds": _pair(forecast.wait),
            "duration_seconds": {"median": times.quantile(0.5), "bound": times.quantile(confidence)},
            "finish": {name: _time(value) for name, value in _pair(forecast.finish).items()},
            "deadline": None if job.deadline is None else job.deadline.isoformat(),
            "chance": forecast.chance,
            "confidence": confidence,
            "attainable": step.advice.attainable,
            "accuracy": self.accuracy,
            "cost": step.cost,
            "reason": step.advice.reason,
            "remedy": step.advice.remedy,
            "runs_learned_from": self.prospect.model.runs if self.prospect.model else 0,
        }

    @property
    def spec(self) -> JobSpec:
        """What it would run with."""
        return effective(self.step.job.spec.model_copy(update={"steered": self.step.steered}))

    @property
    def setting(self) -> dict[str, float]:
        """The same, of the fields that it allows to be adjusted; without any, its epochs."""
        would = asked_for(self.spec)
        return {field: would[field] for field in [each.field for each in self.spec.adjust or ()] or ["epochs"]}


def account_of(situation: Situation) -> list[Said]:
    """What the operator would do with each job that waits, in its order."""
    prospects = {prospect.name: prospect for prospect in situation.waiting}
    said = []
    for step in steps_for(situation):
        one = Said(step, prospects[step.decision.name], None)
        accuracies = accuracies_at(one.prospect.model, [one.spec])
        said.append(replace(one, accuracy=accuracies[0] if accuracies else None))
    return said


def made_of(said: Said, situation: Situation) -> tuple[list[Part], list[str]]:
    """What the time until a job is done is made of, and what that rests on."""
    wait = Part("wait", said.step.decision.forecast.wait.median or 0.0)
    model, epochs = said.prospect.model, said.spec.parameters.epochs
    if model is None or model.durations is None:
        told = f"Nothing has been learned of jobs like it: {(model and model.problem) or 'too few have finished'}."
        return [wait, Part("run, as a guess", said.step.candidate.times.quantile(0.5))], [told]
    at = model.durations.at(settings_of(fields_of(said.spec).items(), situation.load))
    few, many = (float(each) for each in at.many([1, epochs + 1]).point)
    epoch = (many - few) / epochs
    parts = [wait, Part("start-up", few - epoch), Part(f"{epochs} epochs of {epoch:.3g} s", epochs * epoch)]
    shared = said.step.candidate.times.shared
    learned = (
        f"Learned from {model.runs} finished runs like it; {shared:.0%} of the doubt about its time is the model's, "
        "which more runs would lessen, and the rest is how much one run differs from the next."
    )
    return parts, [learned, *(f"{note[:1].upper()}{note[1:]}." for note in at.notes)]


def waiting_job(situation: Situation, name: str) -> Prospect:
    """The one job that waits and has a name, or a namespace and a name with a slash between.

    Raises:
        InputError: if there is none, or it does not wait, or there are several.
    """
    found = [each for each in situation.waiting if name in {each.job.name, each.name}]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{len(found)} jobs have the name {name}; give NAMESPACE/NAME.")
    for state, jobs in (("runs", [each.job for each in situation.running]), ("has finished", situation.ended)):
        if any(name in {job.name, f"{job.namespace}/{job.name}"} for job in jobs):
            raise InputError(f"job {name} {state}, so nothing is to be decided about it; its status tells how it goes.")
    known = ", ".join(each.job.name for each in situation.waiting[:10]) or "none"
    raise InputError(f"no job {name} waits in this queue; those that wait are {known}.")


def instead_of(situation: Situation, prospect: Prospect) -> list[tuple[Alternative, Said]]:
    """What the plan would say of a job if one of its fields were half or twice what it would run with."""
    before = next(said for said in account_of(situation) if said.prospect is prospect)
    spec = prospect.job.spec.model_copy(update={"steered": before.step.steered})
    found = []
    for alternative in around(spec, situation.capacity):
        changed = replace(prospect, job=_asking(prospect.job, alternative))
        waiting = tuple(changed if each is prospect else each for each in situation.waiting)
        account = account_of(replace(situation, waiting=waiting))
        found.append((alternative, next(said for said in account if said.prospect is changed)))
    return found


def _asking(job: Job, alternative: Alternative) -> Job:
    """The job as if it asked for exactly this."""
    spec = alternative.spec.model_copy(update={"adjust": None, "steered": None})
    asked = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    return Job({**job.manifest, "spec": asked})


def _pair(quantiles: Quantiles) -> dict[str, float | None]:
    return {"median": quantiles.median, "bound": quantiles.bound}


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
