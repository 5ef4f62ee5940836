"""What people read about a job: columns of `kubectl get`, progress, results, and sentences."""

from datetime import UTC, datetime
from typing import Any

from coxswain.core.api.status import Columns, JobStatus, Progress, Result
from coxswain.core.jobs.ending import LOST
from coxswain.core.jobs.parameters import asked_for, steered_to
from coxswain.core.jobs.view import Job, Snapshot
from coxswain.core.observations import STOPPED, SUCCEEDED
from coxswain.core.verdict import Verdict

CREATING = "Creating"


def placement(seen: Snapshot) -> tuple[str, str]:
    """Why not all pods of an attempt run, in the cluster's own words: a reason and a sentence."""
    for pod in seen.pods:
        if pod.complaint:
            reason, sentence = pod.complaint
            return _word(reason), f"worker {pod.index}: {sentence}"
    if seen.complaints and len(seen.pods) < seen.job.pod_count:
        reason, sentence = seen.complaints[-1]
        return _word(reason), sentence
    running = sum(pod.running for pod in seen.pods)
    return CREATING, f"{running} of {seen.job.pod_count} pods run."


def with_progress(status: JobStatus, seen: Snapshot) -> JobStatus:
    """The status with what the workers said last; the time they said it moves only with their progress."""
    told = seen.progress
    if told is None or seen.attempt is None:
        return status
    before = status.progress
    if before is not None and (before.epoch, before.epochs) == (told.epochs, told.planned):
        return status
    left = (told.planned - told.epochs) * told.seconds_per_epoch if told.seconds_per_epoch else None
    progress = Progress(
        epoch=told.epochs,
        epochs=told.planned,
        seconds_per_epoch=_short(told.seconds_per_epoch),
        loss=_short(told.loss),
        accuracy=_short(told.accuracy),
        expected_finish_time=None if left is None else datetime.fromtimestamp(told.at.timestamp() + left, UTC),
        last_scrape_time=told.at,
    )
    return status.model_copy(update={"progress": progress})


def last_progress(job: Job, verdict: Verdict) -> Progress | None:
    """How far the job came, by its worker's last word."""
    epochs = verdict.word.get("epochs")
    if epochs is None:
        return None
    result = verdict.word.get("result") or {}
    return Progress(
        epoch=epochs,
        epochs=job.effective.parameters.epochs,
        loss=result.get("loss"),
        accuracy=result.get("accuracy"),
    )


def result_of(job: Job, verdict: Verdict, sentence: str) -> Result:
    """What came out of the job."""
    word: dict[str, Any] = verdict.word
    seconds, result = word.get("seconds") or {}, word.get("result") or {}
    outcome = {SUCCEEDED: "Completed", STOPPED: "Stopped"}.get(verdict.state, "Failed")
    output = job.spec.output
    return Result(
        outcome="Lost" if verdict.reason == LOST else outcome,
        duration_seconds=seconds.get("total"),
        startup_seconds=seconds.get("startup"),
        epochs=word.get("epochs"),
        loss=result.get("loss"),
        accuracy=result.get("accuracy"),
        samples_per_second=word.get("samplesPerSecond"),
        model=f"{output.claim}:{output.path or ''}/model.pt" if output and outcome != "Failed" else None,
        observation=job.uid,
        message=None if verdict.state == SUCCEEDED else sentence,
    )


def summary(status: JobStatus) -> str:
    """A finished job in a sentence."""
    result = status.result
    if result is None:
        return "it is finished."
    trained = f"{result.epochs} epochs" if result.epochs is not None else "it"
    took = f" in {result.duration_seconds:.1f} s" if result.duration_seconds is not None else ""
    reached = f", accuracy {result.accuracy:.4g}" if result.accuracy is not None else ""
    ended = "stopped after" if result.outcome == "Stopped" else "trained"
    return f"{ended} {trained}{took}{reached}."


def with_columns(status: JobStatus, job: Job) -> JobStatus:
    """The status with what `kubectl get` shows."""
    if job.problem:
        return status
    epochs = job.effective.parameters.epochs
    done = status.progress.epoch if status.progress else 0
    forecast = status.forecast
    chance = forecast.chance_percent if forecast else None
    finish = status.completion_time or (forecast.finish_time if forecast else None)
    columns = Columns(
        epochs=f"{done}/{epochs}",
        forecast=None if finish is None else _clock(finish),
        deadline=None if status.deadline_time is None else _clock(status.deadline_time),
        chance=None if chance is None or status.finished else f"{chance:.0f}%",
        adjusted=_adjusted(job),
    )
    return status.model_copy(update={"columns": columns})


def _adjusted(job: Job) -> str | None:
    runs_with = asked_for(job.effective)
    steered = [field for field in steered_to(job.spec.steered) if field in runs_with]
    return ", ".join(f"{field}={runs_with[field]:g}" for field in steered)[:64] or None


def _clock(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%m-%d %H:%M:%SZ")


def _word(reason: str) -> str:
    """A reason as conditions spell it: letters only, with a capital first."""
    letters = "".join(character for character in reason if character.isalpha())
    return letters[:1].upper() + letters[1:64] if letters else "Unknown"


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
