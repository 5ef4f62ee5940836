"""What a plan changes: for each job its new `steered`, with what changed from what to what and why."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from coxswain.core.api.job import Steered
from coxswain.core.api.status import Adjusted, Interval
from coxswain.core.jobs.view import Advice, Job
from coxswain.core.planning.values import Decision, Plan
from coxswain.core.steering.scene import Prospect, Scene

_LONGEST_REASON = 512


@dataclass(frozen=True)
class Step:
    """What the plan says of one job: where it stands, what it should run with, and what to tell."""

    job: Job
    rank: int
    steered: Steered | None
    wait: Interval | None
    advice: Advice

    @property
    def rewrites(self) -> bool:
        """Whether `spec.steered` is to be written."""
        mode = self.job.spec.steering.mode
        wanted = None if mode == "Disabled" else self.steered
        return mode != "DryRun" and wanted != self.job.spec.steered


def steps_of(scene: Scene, prospects: list[Prospect], plan: Plan, now: datetime) -> list[Step]:
    """The plan, job by job, in its order."""
    by_name = {prospect.name: prospect for prospect in prospects}
    return [_step(by_name[each.name].job, rank, scene, each, now) for rank, each in enumerate(plan.decisions)]


def _step(job: Job, rank: int, scene: Scene, decision: Decision, now: datetime) -> Step:
    steered = scene.choices[decision.name][decision.choice]
    without = decision.before or decision.forecast
    finish = (_time(without.finish.median), _time(decision.forecast.finish.median))
    adjusted = tuple(
        Adjusted(
            time=now,
            field=field,
            before=before,
            to=after,
            reason=decision.reason[:_LONGEST_REASON],
            finish_before=finish[0],
            finish_after=finish[1],
        )
        for field, before, after in _changes(job, steered)
    )
    advice = Advice(adjusted, decision.attainable, decision.reason[:_LONGEST_REASON], decision.remedy)
    return Step(job=job, rank=rank, steered=steered, wait=_wait(decision), advice=advice)


def _changes(job: Job, steered: Steered | None) -> list[tuple[str, float, float]]:
    """Which fields change, from what to what."""
    asked = _asked(job)
    before, after = asked | _told(job.spec.steered), asked | _told(steered)
    return [(field, before[field], after[field]) for field in sorted(after) if before.get(field) != after[field]]


def _asked(job: Job) -> dict[str, Any]:
    """What the user asked for, of the fields that can be steered."""
    parameters, resources = job.spec.parameters, job.spec.resources
    told: dict[str, Any] = {
        "epochs": parameters.epochs,
        "batchSize": parameters.batch_size,
        "learningRate": parameters.learning_rate,
        "workers": resources.workers,
        "coresPerWorker": resources.cores_per_worker,
    }
    if resources.spark is not None:
        told |= {
            "nodes": resources.spark.nodes,
            "executorsPerNode": resources.spark.executors_per_node,
            "coresPerExecutor": resources.spark.cores_per_executor,
        }
    return told


def _told(steered: Steered | None) -> dict[str, Any]:
    return steered.model_dump(by_alias=True, exclude_none=True) if steered else {}


def _wait(decision: Decision) -> Interval | None:
    wait = decision.forecast.wait
    if wait.median is None or wait.bound is None:
        return None
    return Interval(low=0.0, expected=round(wait.median, 1), high=round(wait.bound, 1))


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
