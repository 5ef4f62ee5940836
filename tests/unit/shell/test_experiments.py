"""Experiments as the shell carries them out: a cluster that does what it is told, planning in another process."""

import asyncio
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any, cast

from coxswain.core.jobs.view import Job
from coxswain.core.ledger.entry import Entry
from coxswain.shell.experiments import Experiments
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

    async def apply(self, _kind: object, _namespace: str, name: str, manifest: Manifest) -> None:
        self.stored[name] = manifest

    async def create(self, _kind: object, _namespace: str, manifest: Manifest) -> Manifest:
        made = {"uid": manifest["metadata"]["name"], "creationTimestamp": "2026-01-01T12:00:00Z"}
        return {**manifest, "metadata": {**manifest["metadata"], **made}}

    async def replace(self, _kind: object, manifest: Manifest, _part: str) -> Manifest:
        return manifest

    async def emit(self, _about: Manifest, reason: str, message: str, *, warning: bool) -> None:
        assert not warning
        self.told.append((reason, message))


async def to_the_end(world: World, around: Around) -> Manifest:
    with ProcessPoolExecutor(1) as processes:
        any_of = cast("Any", around)
        experiments = Experiments(any_of, any_of, any_of, any_of, processes)
        for _ in range(40):
            await experiments.reconcile(("here", "study"))
            status: Manifest = world.manifest["status"]
            if status["state"] in {"Succeeded", "Failed"}:
                return status
            for name in list(world.jobs):
                world.end(name, duration=duration_of(world, name))
    raise AssertionError(status)


def test_a_search_is_carried_out_step_by_step_and_its_course_stored_with_the_results() -> None:
    world = climbing(parallelism=2)
    around = Around(world)
    status = asyncio.run(to_the_end(world, around))
    assert status["state"] == "Succeeded"
    assert status["counts"]["succeeded"] == status["counts"]["total"] == len(world.entries) == 10
    assert status["search"]["best"] == [{"name": "rate", "level": 0.044}]
    assert [reason for reason, _ in around.told] == ["Designed", *["Searching"] * 4, "Completed"]
    assert around.told[2][1].startswith("Trying row 2 (rate 0.04); so far the best is rate 0.02")
    assert set(around.stored) == {"study-results"}
