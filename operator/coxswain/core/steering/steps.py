"""What a plan changes: for each job its new `steered`, with what changed from what to what and why."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from coxswain.core.api.job import Steered
from coxswain.core.api.status import Adjusted, Interval
from coxswain.core.jobs.parameters import asked_for, effective, steered_to
from coxswain.core.jobs.view import Advice, Job
from coxswain.core.planning.planner import plan
from coxswain.core.planning.values import Candidate, Decision, Pending
from coxswain.core.steering.explore import REASON
from coxswain.core.steering.predictions import cost_of
from coxswain.core.steering.remedies import remedy_of
from coxswain.core.steering.scene import Prospect, Situation, scene_of

_LONGEST_REASON = 512
# What little is known may leave everything open; no calendar goes further than this.
_LATEST = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Step:
    """What the plan says of one job: where it stands, what it should run with, and what to tell."""

    job: Job
    rank: int
    steered: Steered | None
    wait: Interval | None
    advice: Advice
    decision: Decision
    candidate: Candidate
    cost: float
    held: bool = False
    """Whether it does not start now though it might find room: it would slow down others."""

    @property
    def rewrites(self) -> bool:
        """Whether `spec.steered` is to be written."""
        mode = self.job.spec.steering.mode
        wanted = None if mode == "Disabled" else self.steered
        return mode != "DryRun" and wanted != self.job.spec.steered and not self.job.begun


def steps_for(situation: Situation, *, seed: int = 0) -> list[Step]:
    """Plan a queue: what is to be done with each job that waits, in the order of the plan."""
    scene = scene_of(situation)
    jobs = dict(zip(situation.waiting, scene.snapshot.pending, strict=True))
    prospects = {prospect.name: prospect for prospect in jobs}
    steps = []
    for rank, decision in enumerate(plan(scene.snapshot, seed=seed).decisions):
        prospect = prospects[decision.name]
        steered = scene.choices[decision.name][decision.choice]
        told_by = decision._replace(reason=REASON) if decision.name in scene.explored else decision
        step = _step(prospect, jobs[prospect], told_by, steered, rank=rank, situation=situation)
        steps.append(replace(step, held=scene.snapshot.contention > 0 and not decision.starts_now))
    return steps


def _step(
    prospect: Prospect,
    pending: Pending,
    decision: Decision,
    steered: Steered | None,
    *,
    rank: int,
    situation: Situation,
) -> Step:
    job, candidate = prospect.job, pending.candidates[decision.choice]
    without = decision.before or decision.forecast
    reason = decision.reason[:_LONGEST_REASON]
    adjusted = tuple(
        Adjusted(
            time=situation.now,
            field=field,
            before=before,
            to=after,
            reason=reason,
            finish_before=_time(without.finish.median),
            finish_after=_time(decision.forecast.finish.median),
        )
        for field, before, after in _changes(job, steered)
    )
    attainable, remedy = None, None
    if prospect.known:
        attainable = decision.attainable
        remedy = remedy_of(prospect, pending, decision, steered, situation)
    spec = effective(job.spec.model_copy(update={"steered": steered}))
    return Step(
        job=job,
        rank=rank,
        steered=steered,
        wait=_wait(decision),
        advice=Advice(adjusted, attainable, reason, remedy),
        decision=decision,
        candidate=candidate,
        cost=cost_of(spec, candidate.times, situation.prices),
    )


def _changes(job: Job, steered: Steered | None) -> list[tuple[str, float, float]]:
    """Which fields change, from what to what."""
    asked = asked_for(job.spec)
    before, after = asked | steered_to(job.spec.steered), asked | steered_to(steered)
    return [(field, before[field], after[field]) for field in sorted(after) if before.get(field) != after[field]]


def _wait(decision: Decision) -> Interval | None:
    wait = decision.forecast.wait
    if wait.median is None or wait.bound is None:
        return None
    return Interval(low=0.0, expected=round(wait.median, 1), high=round(wait.bound, 1))


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(min(seconds, _LATEST.timestamp()), UTC)
