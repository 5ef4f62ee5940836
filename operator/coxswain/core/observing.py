"""From the last word of a job's workers to its observation: what they measured, else what was seen from outside."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from coxswain.core.expand import PlannedJob, PlannedRun
from coxswain.core.observations import Curve, Observation
from coxswain.core.verdict import Verdict


def observe(
    experiment: str,
    run: PlannedRun,
    job: PlannedJob,
    verdict: Verdict,
    *,
    attempt: int,
    began: datetime,
    wait: float | None = None,
    load: float | None = None,
    seconds: float | None = None,
) -> Observation:
    """The observation of a job: what its last word says, else what was seen from outside."""
    word = verdict.word
    times: Mapping[str, Any] = word.get("seconds", {})
    result: Mapping[str, Any] = word.get("result", {})
    responses = {
        "duration": times.get("total", seconds),
        "startup": times.get("startup"),
        "accuracy": result.get("accuracy"),
        "loss": result.get("loss"),
        "samplesPerSecond": word.get("samplesPerSecond"),
        "imagesWrittenPerSecond": word.get("imagesWrittenPerSecond"),
        "wait": wait,
    }
    return Observation(
        experiment=experiment,
        run=run.name,
        job=job.name,
        row=run.row,
        replicate=run.replicate,
        block=run.block,
        digest=job.digest,
        settings=run.settings,
        responses={name: float(value) for name, value in responses.items() if value is not None},
        state=verdict.state,
        reason=verdict.reason,
        message=verdict.message,
        attempts=attempt,
        started=word.get("startedAt") or timestamp(began),
        finished=word.get("finishedAt") or timestamp(began + timedelta(seconds=seconds or 0.0)),
        epochs=word.get("epochs", 0),
        load=load,
        curve=_curve(word.get("curve", {})),
        versions=word.get("versions", {}),
    )


def _curve(columns: Mapping[str, Sequence[Any]]) -> Curve:
    return Curve(
        epoch=tuple(columns.get("epoch", ())),
        seconds=tuple(columns.get("seconds", ())),
        loss=tuple(columns.get("loss", ())),
        accuracy=tuple(columns.get("accuracy", ())),
        training_loss=tuple(columns.get("trainingLoss", ())),
        training_accuracy=tuple(columns.get("trainingAccuracy", ())),
    )


def timestamp(moment: datetime) -> str:
    """A time in UTC as ISO 8601 writes it, to the millisecond."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
