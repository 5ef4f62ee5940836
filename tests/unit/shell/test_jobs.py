"""Jobs as the shell carries decisions about them out: an API server that refuses, lags, or has more than was known."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from coxswain.core.api.status import JobStatus
from coxswain.core.jobs.life import start
from coxswain.core.jobs.view import FINALIZER, Job
from coxswain.shell.cache import Cache
from coxswain.shell.cluster import BATCH_JOBS, JOBS, PODS, SERVICES, Manifest, Resource
from coxswain.shell.errors import AlreadyExists, Conflict, NotFound, Refused
from coxswain.shell.jobs import Jobs
from coxswain.shell.metrics import Metrics
from coxswain.shell.settings import Settings
from tests.unit.jobs.making import job

KEY = ("here", "train")
QUOTA = 'jobs.batch "train-1" is forbidden: exceeded quota: few'
SETTINGS = Settings.model_validate({"images": {"torch": "torch:1", "spark": "spark:1"}})
KUEUE = {"kueue.x-k8s.io/queue-name": "team"}


class Server:
    """An API server that counts versions and refuses what it is told to."""

    def __init__(self) -> None:
        self.objects: dict[tuple[Resource, str], Manifest] = {}
        self.refuses: dict[Resource, str] = {}
        self.told: list[str] = []
        self.asked: list[tuple[str, str]] = []
        self._version = 100

    def keep(self, resource: Resource, manifest: Manifest) -> Manifest:
        self._version += 1
        name = manifest["metadata"]["name"]
        metadata = {"uid": f"{resource.kind}-{name}", "namespace": "here", **manifest["metadata"]}
        kept = {**manifest, "metadata": {**metadata, "resourceVersion": str(self._version)}}
        self.objects[resource, name] = kept
        return kept

    async def create(self, resource: Resource, _namespace: str, manifest: Manifest) -> Manifest:
        self.asked.append(("create", resource.kind))
        if resource in self.refuses:
            raise Refused(403, self.refuses[resource])
        if (resource, manifest["metadata"]["name"]) in self.objects:
            raise AlreadyExists(409, "there is one")
        spec = {"clusterIP": "10.0.0.1"} if resource == SERVICES else {}
        return self.keep(resource, {**manifest, "spec": {**manifest["spec"], **spec}})

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        found = await self.find(resource, namespace, name)
        if found is None:
            raise NotFound(404, name)
        return found

    async def find(self, resource: Resource, _namespace: str, name: str) -> Manifest | None:
        self.asked.append(("find", resource.kind))
        return self.objects.get((resource, name))

    async def list(self, resource: Resource, *_: object, **__: object) -> list[Manifest]:
        return [each for (kind, _), each in self.objects.items() if kind == resource]

    async def replace(self, resource: Resource, manifest: Manifest, _part: str) -> Manifest:
        name = manifest["metadata"]["name"]
        if self.objects[resource, name]["metadata"]["resourceVersion"] != manifest["metadata"]["resourceVersion"]:
            raise Conflict(409, "it has changed")
        return self.keep(resource, manifest)

    async def delete(
        self, resource: Resource, _namespace: str, name: str, *, uid: str | None = None, version: str | None = None
    ) -> None:
        found = self.objects.get((resource, name))
        if found is None:
            return
        expected = {"uid": uid or found["metadata"]["uid"]}
        expected["resourceVersion"] = version or found["metadata"]["resourceVersion"]
        if not found["metadata"].items() >= expected.items():
            raise Conflict(409, "it is another")
        del self.objects[resource, name]

    async def emit(self, _about: Manifest, reason: str, message: str, *, warning: bool) -> None:
        self.told.append(f"{reason}: {message}" if warning else reason)


class World:
    """A job, the server, and the operator's part that looks after it."""

    def __init__(self, status: JobStatus, labels: dict[str, str] | None = None, **spec: Any) -> None:
        self.server, self.cache = Server(), Cache()
        manifest = job(status, metadata={"finalizers": [FINALIZER], "labels": labels or {}}, **spec).manifest
        self.cache.put(JOBS, self.server.keep(JOBS, dict(manifest)))
        any_of = cast("Any", self.server)
        self._jobs = Jobs(
            any_of,
            self.cache,
            SETTINGS,
            any_of,
            any_of,
            metrics=Metrics(),
            progress=lambda _: None,
            never=lambda _: None,
            outlook=lambda *_: None,
            advice=lambda _: None,
            crowded=lambda _: None,
            probes=lambda _: (),
        )

    def look(self) -> datetime | None:
        return asyncio.run(self._jobs.reconcile(KEY))

    @property
    def status(self) -> JobStatus:
        manifest = self.cache.get(JOBS, KEY)
        assert manifest is not None
        return Job(manifest).status


def begun(seconds_ago: float, **spec: Any) -> World:
    moment = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=seconds_ago)
    return World(start(job(**spec), moment), **spec)


def test_what_the_server_refuses_is_a_condition_and_the_look_counts_as_failed_so_that_pauses_grow() -> None:
    world = begun(5)
    world.server.refuses[BATCH_JOBS] = QUOTA
    for _ in range(3):
        with pytest.raises(Refused, match="exceeded quota"):
            world.look()
    placed = world.status.condition("Placed")
    assert placed
    assert (placed.status, placed.reason, placed.message) == ("False", "NotCreated", QUOTA)
    assert world.server.told == [f"NotCreated: {QUOTA}"]
    assert world.server.asked.count(("find", "Job")) == 0
    world.server.refuses.clear()
    world.look()
    assert world.status.attempts[-1].jobUID == "Job-train-1"


def test_an_attempt_whose_job_is_refused_for_too_long_is_over_and_holds_nothing_any_more() -> None:
    world = begun(700, resources={"workers": 2})
    world.server.refuses[BATCH_JOBS] = QUOTA
    world.server.keep(SERVICES, {"metadata": {"name": "train-1", "ownerReferences": [{"uid": "uid"}]}})
    world.look()
    assert (world.status.state, world.status.attempt) == ("Pending", None)
    assert world.status.attempts[-1].reason == "StartTimeout"
    assert world.server.asked == [("find", "Job"), ("find", "Service")]
    assert (SERVICES, "train-1") not in world.server.objects


def test_a_job_that_is_there_after_all_is_recorded_instead() -> None:
    world = begun(700)
    owner = {"ownerReferences": [{"uid": "uid"}]}
    world.server.keep(BATCH_JOBS, {"metadata": {"name": "train-1", **owner}, "spec": {}})
    world.look()
    attempt = world.status.attempt
    assert attempt is not None
    assert attempt.jobUID == "Job-train-1"


def test_a_service_of_somebody_else_is_named_and_stays() -> None:
    world = begun(5, resources={"workers": 2})
    world.server.keep(SERVICES, {"metadata": {"name": "train-1"}})
    with pytest.raises(Refused):
        world.look()
    placed = world.status.condition("Placed")
    assert placed
    assert placed.message == "Service train-1 belongs to something else; it has to go first."
    late = begun(700, resources={"workers": 2})
    late.server.keep(SERVICES, {"metadata": {"name": "train-1"}})
    late.look()
    assert late.status.attempt is None
    assert (SERVICES, "train-1") in late.server.objects


def test_a_job_leaves_kueue_for_good_and_only_when_its_pods_are_gone_does_another_enter() -> None:
    world = World(JobStatus(), KUEUE)
    for _ in range(4):
        world.look()
    assert world.status.attempts[-1].jobUID == "Job-train-1"
    pod = {"name": "pod-0", "labels": {"coxswain.dev/job": "train", "coxswain.dev/attempt": "1"}}
    pod["creationTimestamp"] = "2026-01-01T12:00:00Z"
    world.server.keep(PODS, {"metadata": pod, "spec": {}, "status": {}})
    manifest = world.server.objects[JOBS, "train"]
    world.cache.put(JOBS, world.server.keep(JOBS, {**manifest, "spec": {"suspend": True}}))
    for _ in range(4):
        world.look()
    assert (BATCH_JOBS, "train-1") not in world.server.objects
    assert (world.cache.get(BATCH_JOBS, ("here", "train-1")), world.status.state) == (None, "Stopping")
    del world.server.objects[PODS, "pod-0"]
    world.look()
    assert world.status.state == "Suspended"
    manifest = world.server.objects[JOBS, "train"]
    world.cache.put(JOBS, world.server.keep(JOBS, {**manifest, "spec": {}}))
    for _ in range(4):
        world.look()
    assert [name for kind, name in world.server.objects if kind == BATCH_JOBS] == ["train-2"]
    assert world.status.attempts[-1].jobUID == "Job-train-2"
