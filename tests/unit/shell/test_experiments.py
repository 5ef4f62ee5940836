"""Experiments as the shell carries them out: a cluster that does what it is told, planning in another process."""

import asyncio
import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import pytest

from coxswain.core.cost import Prices
from coxswain.core.jobs.view import Job
from coxswain.core.ledger.entry import Entry
from coxswain.shell.errors import AlreadyExists
from coxswain.shell.experiments import Experiments
from coxswain.shell.processes import Processes
from tests.unit.experiments.test_life import World
from tests.unit.experiments.test_search import climbing, duration_of

Manifest = dict[str, Any]


class Around:
    """The cluster, its cache, the ledger and the recorder, over the world of a test."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.stored: dict[str, Manifest] = {}
        self.told: list[tuple[str, str]] = []

    def get(self, *_: object) -> Manifest:
        return self.world.manifest

    def jobs(self) -> Iterable[Job]:
        return list(self.world.jobs.values())

    def all(self, _: object) -> Iterable[Manifest]:
        return ()

    def put(self, _: object, manifest: Manifest) -> None:
        if manifest["kind"] == "TrainingExperiment":
            self.world.manifest = manifest
        else:
            self.world.jobs[manifest["metadata"]["name"]] = Job(manifest)

    def of_experiment(self, *_: object) -> Mapping[str, Entry]:
        return self.world.entries

    async def find(self, _kind: object, _namespace: str, name: str) -> Manifest | None:
        return self.stored.get(name)

    async def create(self, _kind: object, namespace: str, manifest: Manifest) -> Manifest:
        name = manifest["metadata"]["name"]
        made = {"uid": name, "namespace": namespace, "creationTimestamp": "2026-01-01T12:00:00Z"}
        created = {**manifest, "metadata": {**manifest["metadata"], **made, "resourceVersion": "1"}}
        if manifest["kind"] == "ConfigMap":
            if name in self.stored:
                raise AlreadyExists(409, name)
            self.stored[name] = created
        return created

    async def replace(self, _kind: object, manifest: Manifest, _part: str | None = None) -> Manifest:
        if manifest["kind"] == "ConfigMap":
            known = self.stored[manifest["metadata"]["name"]]["metadata"]
            assert known["resourceVersion"] == manifest["metadata"]["resourceVersion"]
            version = str(int(known["resourceVersion"]) + 1)
            metadata = {**manifest["metadata"], "resourceVersion": version}
            self.stored[manifest["metadata"]["name"]] = {**manifest, "metadata": metadata}
        return manifest

    async def emit(self, _about: Manifest, reason: str, message: str, *, warning: bool) -> None:
        assert not warning
        self.told.append((reason, message))


@pytest.fixture
def processes() -> Iterator[Processes]:
    processes = Processes(1)
    yield processes
    processes.shutdown()


async def look(around: Around, processes: Processes) -> Manifest:
    any_of = cast("Any", around)
    experiments = Experiments(any_of, any_of, any_of, any_of, processes=processes, prices=Prices())
    await experiments.reconcile(("here", "study"))
    status: Manifest = around.world.manifest["status"]
    return status


async def to_the_end(world: World, around: Around, processes: Processes) -> Manifest:
    for _ in range(40):
        status = await look(around, processes)
        if status["state"] in {"Succeeded", "Failed"}:
            return status
        for name in list(world.jobs):
            world.end(name, duration=duration_of(world, name))
    raise AssertionError(status)


def test_a_search_is_carried_out_step_by_step_and_its_course_stored_with_the_results(processes: Processes) -> None:
    world = climbing(parallelism=2)
    around = Around(world)
    status = asyncio.run(to_the_end(world, around, processes))
    assert status["state"] == "Succeeded"
    assert status["counts"]["succeeded"] == status["counts"]["total"] == len(world.entries) == 10
    assert status["search"]["best"] == [{"name": "rate", "level": 0.044}]
    assert [reason for reason, _ in around.told] == ["Designed", *["Searching"] * 4, "Completed"]
    assert around.told[2][1].startswith("Trying row 2 (rate 0.04); so far the best is rate 0.02")
    assert set(around.stored) == {"study-results"}


def test_a_config_map_of_somebody_else_is_left_alone_and_results_are_stored_once_it_is_gone(
    processes: Processes,
) -> None:
    theirs = {"kind": "ConfigMap", "metadata": {"name": "study-results"}, "data": {"mine": "precious"}}
    world = World(parallelism=4)
    around = Around(world)
    around.stored["study-results"] = copy.deepcopy(theirs)

    async def play() -> tuple[Manifest, Manifest]:
        for _ in range(2):
            await look(around, processes)
        for name in list(world.jobs):
            world.end(name)
        waiting = await look(around, processes)
        assert around.stored == {"study-results": theirs}
        del around.stored["study-results"]
        for _ in range(2):
            status = await look(around, processes)
        return waiting, status

    waiting, status = asyncio.run(play())
    assert waiting["state"] == "Analysing"
    (stored,) = (each for each in waiting["conditions"] if each["type"] == "ResultsStored")
    assert (stored["status"], stored["reason"]) == ("False", "NameTaken")
    assert "save its content under another name and delete it" in stored["message"]
    assert status["state"] == "Succeeded"
    (stored,) = (each for each in status["conditions"] if each["type"] == "ResultsStored")
    assert stored["status"] == "True"
    (owner,) = around.stored["study-results"]["metadata"]["ownerReferences"]
    assert owner["uid"] == "uid"


def test_more_replications_replace_the_results_of_the_experiment_itself(processes: Processes) -> None:
    world = World(parallelism=4)
    around = Around(world)

    async def play() -> list[Manifest]:
        found = []
        for replications in (1, 2):
            world.manifest["spec"]["design"] = {**world.manifest["spec"]["design"], "replications": replications}
            world.manifest["metadata"]["generation"] = replications
            for _ in range(2):
                await look(around, processes)
            for name in list(world.jobs):
                world.end(name)
            for _ in range(2):
                status = await look(around, processes)
            assert status["state"] == "Succeeded"
            found.append(around.stored["study-results"])
        return found

    first, second = asyncio.run(play())
    assert first["binaryData"] != second["binaryData"]
    assert second["metadata"]["resourceVersion"] == "2"
