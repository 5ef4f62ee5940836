"""The whole operator, given a cluster in memory: what it does with jobs that it cannot forecast, or has no room for."""

import asyncio
import copy
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest

from coxswain.core.forecasts.learning import FamilyModel
from coxswain.core.jobs.view import Job
from coxswain.shell.cluster import JOBS, NODES, Cluster, Manifest, Resource
from coxswain.shell.errors import AlreadyExists
from coxswain.shell.metrics import Metrics
from coxswain.shell.operator import Operator
from coxswain.shell.settings import Images, Settings

HERE = "here"


class Memory:
    """What a Cluster does with objects, in memory."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Manifest] = {}
        self._numbers = itertools.count(1)

    async def create(self, resource: Resource, namespace: str, manifest: Mapping[str, Any]) -> Manifest:
        key = (resource.kind, namespace, manifest["metadata"]["name"])
        if key in self.objects:
            raise AlreadyExists(409, key[2])
        return self._put(key, {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}})

    async def replace(self, resource: Resource, manifest: Mapping[str, Any], _: str = "") -> Manifest:
        metadata = manifest["metadata"]
        return self._put((resource.kind, metadata["namespace"], metadata["name"]), manifest)

    async def merge(self, resource: Resource, namespace: str, name: str, patch: Mapping[str, Any]) -> Manifest:
        key = (resource.kind, namespace, name)
        found = self.objects[key]
        return self._put(key, {**found, "metadata": {**found["metadata"], **patch.get("metadata", {})}})

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        return copy.deepcopy(self.objects[resource.kind, namespace, name])

    async def list(self, *_: Any, **__: Any) -> list[Manifest]:
        return [OTHER]

    def _put(self, key: tuple[str, str, str], manifest: Mapping[str, Any]) -> Manifest:
        number = next(self._numbers)
        stored = copy.deepcopy(dict(manifest))
        born = {"uid": f"uid-{number}", "creationTimestamp": "2026-01-01T12:00:00Z"}
        stored["metadata"] = {**born, **stored["metadata"], "resourceVersion": str(number)}
        self.objects[key] = stored
        return copy.deepcopy(stored)


OTHER = {
    "metadata": {"name": "other", "namespace": "kube-system"},
    "spec": {"nodeName": "node", "containers": [{"resources": {"requests": {"cpu": "3500m"}}}]},
}
NODE = {
    "metadata": {"name": "node", "uid": "node", "resourceVersion": "1"},
    "spec": {},
    "status": {
        "allocatable": {"cpu": "4", "memory": "8Gi"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}


class Trial:
    """An operator and its cluster."""

    def __init__(self) -> None:
        self.memory = Memory()
        settings = Settings(images=Images(torch="torch", spark="spark"))
        self.operator = Operator(cast("Cluster", self.memory), settings, Metrics())
        self.operator.cache.put(NODES, NODE)

    async def apply(self, name: str, **spec: Any) -> None:
        """What a user does; a family that nobody has run yet has taught nothing."""
        metadata = {"name": name, "namespace": HERE}
        kind = {"apiVersion": "coxswain.dev/v1alpha1", "kind": "TrainingJob"}
        made = await self.memory.create(JOBS, HERE, {**kind, "metadata": metadata, "spec": spec})
        self.operator.cache.put(JOBS, made)
        self.operator.learning._models[self.operator._family(Job(made))] = FamilyModel(0)

    async def look(self, name: str) -> None:
        """One pass over the queue, and one look at a job."""
        await self.operator.queues.admit("default")
        await self.operator.jobs.reconcile((HERE, name))

    def job(self, name: str) -> Job:
        return Job(self.memory.objects["TrainingJob", HERE, name])

    def admitted(self, name: str) -> tuple[str, str]:
        condition = self.job(name).status.condition("Admitted")
        assert condition is not None
        return condition.reason, condition.message

    def names(self) -> list[str]:
        return sorted(name for kind, _, name in self.memory.objects if kind == "TrainingJob")


@pytest.fixture
def trial() -> Iterator[Trial]:
    trial = Trial()
    yield trial
    trial.operator._processes.shutdown()


def test_a_probe_is_made_once_however_often_a_job_is_looked_at(trial: Trial) -> None:
    async def play() -> None:
        await trial.apply("train", parameters={"epochs": 9}, steering={"coldStart": "Probe"})
        for _ in range(3):
            await trial.look("train")
        # A cache that lags does no harm: what is there already is the job's own.
        trial.operator.cache.drop(JOBS, trial.memory.objects["TrainingJob", HERE, "train-probe-1"])
        await trial.look("train")

    asyncio.run(play())
    assert trial.names() == ["train", "train-probe-1"]
    assert trial.job("train-probe-1").probe_of == trial.job("train").uid
    assert trial.job("train").status.attempts == ()
    assert trial.admitted("train")[0] == "ColdStart"


def test_a_held_job_does_not_start_and_one_that_is_not_does(trial: Trial) -> None:
    async def play() -> None:
        await trial.apply("held", steering={"coldStart": "Hold"})
        await trial.apply("free")
        await trial.look("held")
        await trial.look("free")

    asyncio.run(play())
    assert trial.job("held").status.state == "Held"
    assert len(trial.job("free").status.attempts) == 1


def test_a_job_is_told_that_pods_of_others_fill_the_nodes(trial: Trial) -> None:
    async def play() -> None:
        await trial.operator.queues.look_around()
        await trial.apply("wide", resources={"coresPerWorker": "2"})
        await trial.look("wide")

    asyncio.run(play())
    reason, message = trial.admitted("wide")
    assert (trial.job("wide").status.state, reason) == ("Pending", "NoRoom")
    assert "it needs 2 cores, 1 GiB; free of 4 cores are 0.5 cores, 8 GiB." in message
