"""A job's forecast and what was steered, in its status: told when it is news, with what it means for the deadline."""

from datetime import datetime

from coxswain.core.api.status import (
    DEADLINE_ATTAINABLE,
    MODEL_READY,
    Adjusted,
    Forecast,
    IssuedForecasts,
    JobStatus,
)
from coxswain.core.jobs.parameters import asked_for, steered_to
from coxswain.core.jobs.view import Advice, Job, Snapshot

Change = tuple[str, float, float]
"""A field, what it was and what it is."""

STEERED = "Steered"
MOST_ADJUSTMENTS = 20
_NOT_BY_THE_LAST_PLAN = "found so: an operator wrote it that ended before it could say why, or somebody else did."
_TOO_LATE = "Kueue had started it before the last change reached its pods."
# A forecast is news when it moves by this share of what is left, or the chance by so many points.
_NEWS_SHARE, _NEWS_SECONDS, _NEWS_POINTS = 0.05, 2.0, 2.0
_ASKED = "are asked for."


def with_outlook(status: JobStatus, seen: Snapshot) -> JobStatus:
    """The status with the newest forecast, if it differs enough from the one that was told."""
    status = _with_passed(status, seen)
    told = seen.outlook
    if told is None:
        return status
    if told.forecast is None:
        status = status.model_copy(update={"forecast": None})
        return status.having(MODEL_READY, "False", told.reason, told.message, now=seen.now)
    status = status.having(MODEL_READY, "True", told.reason, told.message, now=seen.now)
    if is_news(status.forecast, told.forecast, seen.now):
        status = status.model_copy(update={"forecast": told.forecast})
        return _with_chance(status, told.forecast, seen)
    if status.forecast is not None and _lacks_remedy(status, seen):
        return _with_chance(status, status.forecast, seen)
    return status


def with_issued(status: JobStatus, seen: Snapshot, *, starts: bool = False) -> JobStatus:
    """The status with the forecasts that are scored later: the first of the job as it is, and the one at its start."""
    new = seen.outlook.issued if seen.outlook else None
    if new is None:
        return status
    kept = status.issued or IssuedForecasts()
    if kept.first is None or kept.first.settings != new.settings:
        kept = kept.model_copy(update={"first": new})
    if starts:
        kept = kept.model_copy(update={"at_start": new})
    return status if kept == status.issued else status.model_copy(update={"issued": kept})


def with_advice(status: JobStatus, seen: Snapshot) -> JobStatus:
    """The status with what the plan changed, or would change."""
    advice = seen.advice or Advice()
    if seen.job.spec.steering.mode == "DryRun":
        would = ", ".join(f"{each.field} {each.before:g} → {each.to:g}" for each in advice.adjusted)
        message = f"it would change {would}: {advice.reason}"
        return status.having(STEERED, "False", "DryRun", message, now=seen.now) if would else status
    new = tuple(_record(change, seen.job, advice, seen.now) for change in unrecorded(seen.job))
    if not new:
        return status
    status = status.model_copy(update={"adjustments": (*status.adjustments, *new)[-MOST_ADJUSTMENTS:]})
    return status.having(STEERED, "True", "Adjusted", new[-1].reason, now=seen.now)


def unrecorded(job: Job) -> list[Change]:
    """What is steered and the status does not tell yet, whoever wrote it; once a job has begun, what it began with."""
    if job.spec.steering.mode == "DryRun":
        return []
    recorded = {each.field: each.to for each in job.status.adjustments}
    before, now = asked_for(job.spec) | recorded, asked_for(job.effective)
    known = sorted((recorded.keys() | steered_to(job.spec.steered).keys()) & now.keys())
    return [(field, before[field], now[field]) for field in known if before[field] != now[field]]


def _record(change: Change, job: Job, advice: Advice, now: datetime) -> Adjusted:
    field, before, to = change
    planned = next((each for each in advice.adjusted if (each.field, each.to) == (field, to)), None)
    if planned is None:
        as_wanted = steered_to(job.spec.steered).get(field, to) == to
        reason = _NOT_BY_THE_LAST_PLAN if as_wanted else _TOO_LATE
        return Adjusted(time=now, field=field, before=before, to=to, reason=reason)
    return planned.model_copy(update={"before": before})


def is_news(before: Forecast | None, after: Forecast, now: datetime) -> bool:
    """Whether a forecast differs enough from the one that was told."""
    if before is None or before.finish_time is None or after.finish_time is None:
        return True
    left = max((before.finish_time - now).total_seconds(), 0.0)
    moved = abs((after.finish_time - before.finish_time).total_seconds())
    if moved > max(_NEWS_SHARE * left, _NEWS_SECONDS):
        return True
    if (before.chance_percent is None) != (after.chance_percent is None):
        return True
    return abs((before.chance_percent or 0.0) - (after.chance_percent or 0.0)) >= _NEWS_POINTS


def _with_chance(status: JobStatus, forecast: Forecast, seen: Snapshot) -> JobStatus:
    deadline, chance = seen.job.deadline, forecast.chance_percent
    if deadline is None or chance is None or deadline <= seen.now:
        return status
    wanted = seen.job.spec.steering.confidence_percent
    message = f"the chance to meet it is {chance:.0f} %, {wanted} % {_ASKED}"
    if seen.advice is not None and seen.advice.remedy and chance < wanted:
        message = f"{message} {seen.advice.remedy}"
    if chance >= wanted:
        return status.having(DEADLINE_ATTAINABLE, "True", "Attainable", message, now=seen.now)
    reason = "AtRisk" if chance >= 1 else "Infeasible"
    return status.having(DEADLINE_ATTAINABLE, "False", reason, message, now=seen.now)


def _with_passed(status: JobStatus, seen: Snapshot) -> JobStatus:
    """A deadline that has passed is told whether or not anything can be forecast."""
    deadline = None if seen.job.problem else seen.job.deadline
    if deadline is None or deadline > seen.now:
        return status
    return status.having(DEADLINE_ATTAINABLE, "False", "Passed", "the deadline has passed.", now=seen.now)


def _lacks_remedy(status: JobStatus, seen: Snapshot) -> bool:
    """Whether the plan knows what would do, and the condition that should name it was written before."""
    told = status.condition(DEADLINE_ATTAINABLE)
    remedy = seen.advice.remedy if seen.advice else None
    return bool(remedy) and told is not None and told.status == "False" and told.message.endswith(_ASKED)
