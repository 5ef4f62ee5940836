"""The objects of one attempt of a job: one Indexed Job, a Service before its first pod, and Spark's secret.

An attempt is a gang: its pods start together, the first that fails ends them all, and nothing in it is restarted or
replaced. A retry is another attempt, with objects of other names. All of them belong to the TrainingJob and go with it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from coxswain.core.api.job import JobSpec
from coxswain.core.api.objects import owner_reference
from coxswain.core.api.status import render_time
from coxswain.core.manifests.environment import annotation, variables
from coxswain.core.manifests.pods import (
    DATA_FOLDER,
    METRICS_PORT,
    OUTPUT_FOLDER,
    RENDEZVOUS_PORT,
    Manifest,
    pod_count,
    pod_spec,
)

JOB_LABEL = "coxswain.dev/job"
ATTEMPT_LABEL = "coxswain.dev/attempt"
KUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_ENTRY = "spark"


@dataclass(frozen=True)
class Attempt:
    """One try of a TrainingJob; `spec` is the effective one, with what was steered in place of what was asked for."""

    job_name: str
    job_uid: str
    number: int
    spec: JobSpec
    image: str
    gpu_resource: str = "nvidia.com/gpu"
    kueue_queue: str | None = None
    """The queue of Kueue that decides when it starts."""
    stop_at: datetime | None = None
    """When the workers end by themselves with the best they have."""

    @property
    def name(self) -> str:
        """The name of the attempt's objects."""
        return f"{self.job_name}-{self.number}"

    @property
    def labels(self) -> dict[str, str]:
        """What the attempt's objects are found by."""
        return {JOB_LABEL: self.job_name, ATTEMPT_LABEL: str(self.number)}


def needs_service(spec: JobSpec) -> bool:
    """Whether pods have to find each other."""
    return pod_count(spec) > 1


def service(attempt: Attempt) -> Manifest:
    """The address at which the other pods find the first one, from its first moment on."""
    return _object("v1", "Service", attempt) | {
        "spec": {
            "selector": {**attempt.labels, "batch.kubernetes.io/job-completion-index": "0"},
            "publishNotReadyAddresses": True,
            "ports": [{"name": "rendezvous", "port": RENDEZVOUS_PORT}],
        }
    }


def secret(attempt: Attempt, value: str) -> Manifest:
    """What the processes of a Spark cluster know each other by."""
    return _object("v1", "Secret", attempt) | {"immutable": True, "stringData": {_ENTRY: value}}


def batch_job(attempt: Attempt, service_address: str | None = None) -> Manifest:
    """The pods of the attempt; `service_address` is that of its Service, where it has one."""
    spec = attempt.spec
    pods = pod_count(spec)
    told = variables(spec)
    template: Manifest = {
        "metadata": {
            "labels": attempt.labels,
            "annotations": {annotation(name): value for name, value in told.items()},
        },
        "spec": pod_spec(spec, attempt.image, told, _fixed(attempt, service_address), attempt.gpu_resource),
    }
    job: Manifest = {
        "completionMode": "Indexed",
        "completions": pods,
        "parallelism": pods,
        "backoffLimit": 0,
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {
            "rules": [
                {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}},
            ]
        },
        "template": template,
    }
    if spec.engine == "Spark":
        job["successPolicy"] = {"rules": [{"succeededIndexes": "0"}]}
    if spec.active_deadline_seconds:
        job["activeDeadlineSeconds"] = spec.active_deadline_seconds
    made = _object("batch/v1", "Job", attempt) | {"spec": job}
    if attempt.kueue_queue is not None:
        job["suspend"] = True
        made["metadata"]["labels"] = {**attempt.labels, KUEUE_LABEL: attempt.kueue_queue}
    return made


def _object(version: str, kind: str, attempt: Attempt) -> Manifest:
    owner = owner_reference("TrainingJob", attempt.job_name, attempt.job_uid)
    metadata = {"name": attempt.name, "labels": attempt.labels, "ownerReferences": [owner]}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _fixed(attempt: Attempt, service_address: str | None) -> list[Manifest]:
    """The variables that say which attempt this is and where things are."""
    spec = attempt.spec
    values: dict[str, Any] = {
        "COXSWAIN_JOB_UID": attempt.job_uid,
        "COXSWAIN_ATTEMPT": attempt.number,
        "COXSWAIN_METRICS_PORT": METRICS_PORT,
        "COXSWAIN_STOP_AT": render_time(attempt.stop_at) if attempt.stop_at else None,
        "COXSWAIN_RENDEZVOUS_HOST": service_address,
        "COXSWAIN_RENDEZVOUS_PORT": RENDEZVOUS_PORT if service_address else None,
        "COXSWAIN_DATA_PATH": DATA_FOLDER if spec.data and spec.data.claim else None,
        "COXSWAIN_OUTPUT_PATH": OUTPUT_FOLDER if spec.output else None,
        # Libraries look for a home to write to; a pod has none but this.
        "HOME": "/tmp",  # noqa: S108 - the pod's own
    }
    fixed: list[Manifest] = [{"name": name, "value": str(value)} for name, value in values.items() if value is not None]
    fixed.append({"name": "COXSWAIN_POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
    if spec.engine == "Spark":
        reference = {"secretKeyRef": {"name": attempt.name, "key": _ENTRY}}
        fixed.append({"name": "COXSWAIN_SPARK_SECRET", "valueFrom": reference})
    return fixed
