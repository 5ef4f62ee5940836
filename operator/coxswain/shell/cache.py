"""What is known of the cluster: the newest version seen of every object, from watches, lists and our own writes.

A watch tells of changes, but after an interruption it does not tell what has vanished meanwhile: so everything is
listed now and then, and what is gone is dropped. Our own writes are put here at once, so that what was decided a moment
ago counts in the next decision, whatever the watches lag.

Pods that are gone are kept until their attempt is over, because their last word may not have been read yet.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from coxswain.core.jobs.view import Job
from coxswain.core.manifests.attempt import JOB_LABEL
from coxswain.shell.cluster import JOBS, PODS, Manifest, Resource

Key = tuple[str, str]
"""Namespace and name; the namespace of a node is empty."""


def key_of(manifest: Mapping[str, Any]) -> Key:
    """What an object is found by."""
    metadata = manifest["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


class Cache:
    """Objects by kind and key. `clock` is monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._objects: dict[Resource, dict[Key, Manifest]] = defaultdict(dict)
        self._put_at: dict[tuple[Resource, Key], float] = {}
        self._pods: dict[Key, dict[str, Manifest]] = defaultdict(dict)
        self._read: dict[Key, Job] = {}

    def get(self, resource: Resource, key: Key) -> Manifest | None:
        """The newest version seen of an object."""
        return self._objects[resource].get(key)

    def all(self, resource: Resource) -> list[Manifest]:
        """All objects of a kind."""
        return list(self._objects[resource].values())

    def jobs(self) -> list[Job]:
        """All TrainingJobs, each read once however often it is asked for."""
        current = self._objects[JOBS]
        if len(self._read) > 2 * len(current):
            self._read = {key: job for key, job in self._read.items() if key in current}
        return [self._job(key, manifest) for key, manifest in current.items()]

    def _job(self, key: Key, manifest: Manifest) -> Job:
        known = self._read.get(key)
        if known is None or known.manifest is not manifest:
            known = self._read[key] = Job(manifest)
        return known

    def put(self, resource: Resource, manifest: Manifest) -> bool:
        """Take note of an object; an older version of what is known changes nothing. Tells whether it was news."""
        key = key_of(manifest)
        known = self._objects[resource].get(key)
        if known is not None and known["metadata"]["uid"] == manifest["metadata"]["uid"]:
            if _version(known) >= _version(manifest):
                return False
        elif known is not None and _version(known) > _version(manifest):
            return False
        self._objects[resource][key] = manifest
        self._put_at[resource, key] = self._clock()
        if resource == PODS and (job := _job_of(manifest)):
            self._pods[job][manifest["metadata"]["name"]] = manifest
        return True

    def drop(self, resource: Resource, manifest: Manifest) -> None:
        """Take note that an object is gone; a pod's last version stays until `forget_pods`."""
        key = key_of(manifest)
        known = self._objects[resource].get(key)
        if known is not None and known["metadata"]["uid"] == manifest["metadata"]["uid"]:
            del self._objects[resource][key]
            self._put_at.pop((resource, key), None)
        job = _job_of(manifest) if resource == PODS else None
        if job and manifest["metadata"]["name"] in self._pods.get(job, ()):
            self._pods[job][manifest["metadata"]["name"]] = manifest

    def pods_of(self, job: Key) -> list[Manifest]:
        """The pods of a job, also those that are gone."""
        return list(self._pods.get(job, {}).values())

    def forget_pods(self, job: Key) -> None:
        """The job's pods that are gone are of no use to anybody any more."""
        present = self._objects[PODS]
        left = {name: pod for name, pod in self._pods.pop(job, {}).items() if (job[0], name) in present}
        if left:
            self._pods[job] = left

    def replace(
        self, resource: Resource, listed: Iterable[Manifest], began: float, namespace: str | None = None
    ) -> list[Key]:
        """Take a list of one or all namespaces, begun at a time of the clock, for the truth; gives what has changed."""
        found = {key_of(manifest): manifest for manifest in listed}
        changed = [key for key, manifest in found.items() if self.put(resource, manifest)]
        gone = [
            key
            for key in self._objects[resource].keys() - found.keys()
            if namespace in {None, key[0]} and self._put_at.get((resource, key), 0.0) < began
        ]
        for key in gone:
            self.drop(resource, self._objects[resource][key])
        return changed + gone


def _version(manifest: Manifest) -> int:
    # Versions of one kind of object may be compared as numbers, as Kubernetes promises since 1.35.
    return int(manifest["metadata"].get("resourceVersion") or 0)


def _job_of(pod: Manifest) -> Key | None:
    name = (pod["metadata"].get("labels") or {}).get(JOB_LABEL)
    return (pod["metadata"]["namespace"], name) if name else None
