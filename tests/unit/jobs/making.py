"""TrainingJobs, Jobs and pods as the API server would show them, for tests of decisions."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from coxswain.core.api.status import JobStatus, render_time
from coxswain.core.jobs.actions import Launch
from coxswain.core.jobs.decision import Decision
from coxswain.core.jobs.life import decide, start
from coxswain.core.jobs.view import FINALIZER, Child, Job, Pod, Snapshot

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CHILD_UID = "child"


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def job(status: JobStatus | None = None, *, metadata: dict[str, Any] | None = None, **spec: Any) -> Job:
    """A job of one small worker, created at noon."""
    named = {"name": "train", "namespace": "here", "uid": "uid", "generation": 1, "resourceVersion": "5"}
    manifest = {
        "apiVersion": "coxswain.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {**named, "creationTimestamp": "2026-01-01T12:00:00Z", **(metadata or {})},
        "spec": spec,
    }
    return Job(manifest | ({"status": status.render()} if status else {}))


def begun(*, uid: str | None = CHILD_UID, metadata: dict[str, Any] | None = None, **spec: Any) -> Job:
    """A job whose first attempt began at noon, and whose Job has been created."""
    status = start(job(**spec), NOON)
    last = status.attempts[-1].model_copy(update={"jobUID": uid})
    status = status.model_copy(update={"attempts": (last,)})
    return job(status, metadata={"finalizers": [FINALIZER], **(metadata or {})}, **spec)


def child(
    *conditions: tuple[str, str],
    uid: str = CHILD_UID,
    suspend: bool = False,
    active: int = 0,
    metadata: dict[str, Any] | None = None,
    seconds: float = 60.0,
    **spec: Any,
) -> Child:
    """The Job of the first attempt, begun at noon; conditions are types that hold, since then, with their reasons."""
    since = render_time(after(seconds))
    held = [{"type": kind, "status": "True", "reason": why, "lastTransitionTime": since} for kind, why in conditions]
    named = {"name": "train-1", "uid": uid, "resourceVersion": "7", "ownerReferences": [{"uid": "uid"}]}
    return Child(
        {
            "metadata": {**named, **(metadata or {})},
            "spec": {"suspend": suspend, **spec},
            "status": {"startTime": render_time(NOON), "conditions": held, "active": active},
        }
    )


def pod(index: int = 0, attempt: int = 1, *, state: dict[str, Any] | None = None, **status: Any) -> Pod:
    """A pod of an attempt, its container in some state."""
    labels = {"batch.kubernetes.io/job-completion-index": str(index), "coxswain.dev/attempt": str(attempt)}
    metadata = {"name": f"pod-{index}", "labels": labels, "creationTimestamp": "2026-01-01T12:00:01Z"}
    container = {"containerStatuses": [{"state": state or {}}]}
    return Pod({"metadata": metadata, "spec": {}, "status": {**container, **status}})


def running(index: int = 0) -> Pod:
    return pod(index, state={"running": {}})


def ended(code: int, word: dict[str, Any] | None = None, index: int = 0, **more: Any) -> Pod:
    """A pod whose worker has ended and said something."""
    message = json.dumps(word) if word else ""
    return pod(index, state={"terminated": {"exitCode": code, "message": message, **more}})


def seen(job: Job, seconds: float = 60.0, **more: Any) -> Snapshot:
    return Snapshot(job, after(seconds), **more)


def next_job(job: Job, decision: Decision) -> Job:
    """The job once a decision about it has been carried out."""
    status = decision.status
    for action in decision.actions:
        if isinstance(action, Launch):
            last = status.attempts[-1].model_copy(update={"jobUID": f"{CHILD_UID}{action.number}"})
            status = status.model_copy(update={"attempts": (*status.attempts[:-1], last)})
    return Job({**job.manifest, "status": status.render()})


__all__ = ["NOON", "after", "begun", "child", "decide", "ended", "job", "next_job", "pod", "running", "seen"]
