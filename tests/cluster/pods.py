"""Manifests of the small pods that tests run: BusyBox under the restricted Pod Security Standard."""

from typing import Any


def pod_spec(image: str, script: str) -> dict[str, Any]:
    """A pod that runs a shell script as the restricted standard wants it, on a read-only root."""
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "main",
                "image": image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["sh", "-c", script],
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}},
            }
        ],
    }


def pod(name: str, image: str, script: str) -> dict[str, Any]:
    """One such pod, with a label to find it by."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": pod_spec(image, script),
    }


def service(name: str, port: int) -> dict[str, Any]:
    """A Service before the pod of the same name."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": port}]},
    }


def indexed_job(name: str, image: str, script: str, pods: int) -> dict[str, Any]:
    """An Indexed Job of so many such pods."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completionMode": "Indexed",
            "completions": pods,
            "parallelism": pods,
            "backoffLimit": 0,
            "template": {"spec": pod_spec(image, script)},
        },
    }
