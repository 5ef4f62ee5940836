"""The pod of a worker, as the restricted Pod Security Standard wants it: no privilege, no token, a read-only root.

Torch and Spark want three writable places: a folder for temporary files, shared memory between processes (in memory,
and counted as the pod's), and where the job has them its two claims.
"""

from typing import Any

from coxswain.core.api.job import JobSpec
from coxswain.core.api.values import render_cores, render_memory
from coxswain.core.demand import demand_of
from coxswain.core.manifests.environment import annotation

Manifest = dict[str, Any]

METRICS_PORT = 9464
RENDEZVOUS_PORT = 29400
DATA_FOLDER = "/data"
OUTPUT_FOLDER = "/output"
# Long enough to finish the step under way and to save what has been trained.
_GRACE_SECONDS = 60
_GROUP = 65532


def pod_spec(spec: JobSpec, image: str, told: dict[str, str], fixed: list[Manifest], gpu_resource: str) -> Manifest:
    """The pod of one worker; `told` are the variables that its annotations hold, `fixed` those that never change."""
    volumes, mounts = _volumes(spec)
    container: Manifest = {
        "name": "worker",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "env": [*fixed, *(_from_annotation(variable) for variable in told)],
        "ports": [{"name": "metrics", "containerPort": METRICS_PORT}],
        "resources": _resources(spec, gpu_resource),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }
    if spec.workload.command:
        container["command"] = list(spec.workload.command)
    pod: Manifest = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _GROUP,
            "runAsGroup": _GROUP,
            "fsGroup": _GROUP,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": volumes,
    }
    return pod | _placement(spec)


def pod_count(spec: JobSpec) -> int:
    """How many pods work together."""
    return demand_of(spec).pods


def _from_annotation(variable: str) -> Manifest:
    path = f"metadata.annotations['{annotation(variable)}']"
    return {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _resources(spec: JobSpec, gpu_resource: str) -> Manifest:
    demand = demand_of(spec)
    amounts: Manifest = {"cpu": str(render_cores(demand.cores)), "memory": str(render_memory(demand.memory))}
    if demand.gpus:
        amounts[gpu_resource] = str(demand.gpus)
    return {"requests": amounts, "limits": amounts}


def _volumes(spec: JobSpec) -> tuple[list[Manifest], list[Manifest]]:
    volumes: list[Manifest] = [
        {"name": "temporary", "emptyDir": {}},
        {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
    ]
    mounts: list[Manifest] = [
        {"name": "temporary", "mountPath": "/tmp"},  # noqa: S108 - the pod's own
        {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108 - likewise
    ]
    if spec.data and spec.data.claim:
        volumes.append({"name": "data", "persistentVolumeClaim": {"claimName": spec.data.claim, "readOnly": True}})
        mounts.append(_mount("data", DATA_FOLDER, spec.data.path) | {"readOnly": True})
    if spec.output:
        volumes.append({"name": "output", "persistentVolumeClaim": {"claimName": spec.output.claim}})
        mounts.append(_mount("output", OUTPUT_FOLDER, spec.output.path))
    return volumes, mounts


def _mount(name: str, folder: str, path: str | None) -> Manifest:
    return {"name": name, "mountPath": folder} | ({"subPath": path} if path else {})


def _placement(spec: JobSpec) -> Manifest:
    given: Manifest = {
        "nodeSelector": spec.node_selector,
        "tolerations": [
            toleration.model_dump(by_alias=True, exclude_none=True) for toleration in spec.tolerations or ()
        ],
        "priorityClassName": spec.priority_class_name,
        "imagePullSecrets": [{"name": secret.name} for secret in spec.image_pull_secrets or ()],
    }
    return {name: value for name, value in given.items() if value}
