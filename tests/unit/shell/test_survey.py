"""A queue of the cluster as `cox plan` sees it: read, and nothing written."""

import asyncio
from typing import Any, cast

from coxswain.core.cost import Prices
from coxswain.core.ledger import objects
from coxswain.core.planning.values import Capacity
from coxswain.shell.cluster import CONFIG_MAPS, JOBS, NODES, Cluster, Manifest, Resource
from coxswain.shell.survey import Wanted, survey
from tests.unit.forecasts.making import NOON, job
from tests.unit.steering.making import entry

NODE: Manifest = {
    "metadata": {"name": "node", "labels": {}},
    "spec": {},
    "status": {"allocatable": {"cpu": "3500m", "memory": "8Gi", "nvidia.com/gpu": "2"}},
}


class ReadOnly:
    """Lists what it was given; it has no other method, so that any write would fail."""

    def __init__(self, **found: list[Manifest]) -> None:
        self.found = found
        self.asked: list[tuple[str, str | None]] = []

    async def list(
        self, resource: Resource, namespace: str | None = None, *, metadata_only: bool = False, **_: str
    ) -> list[Manifest]:
        self.asked.append((resource.kind, namespace))
        # Only chunks of the ledger are listed by their metadata, and there are none.
        return [] if metadata_only else self.found.get(resource.kind, [])


def looked(cluster: ReadOnly, **wanted: Any) -> Any:
    asked = Wanted(**{"queue": "default", "cores": None, "gpus": None, "prices": Prices(), **wanted})
    return asyncio.run(survey(cast("Cluster", cluster), "here", asked))


def waiting(name: str, **spec: Any) -> Manifest:
    return dict(job(name, **spec).manifest)


def test_jobs_of_the_queue_are_found_with_what_their_family_taught() -> None:
    observed = [objects.entry_object(entry(number, 2 + number % 3, 64)) for number in range(6)]
    named = [{**each, "metadata": {**each["metadata"], "uid": "1"}} for each in observed]
    cluster = ReadOnly(
        TrainingJob=[waiting("mine"), waiting("theirs", queueName="other")], Node=[NODE], ConfigMap=named
    )
    situation = looked(cluster)
    (found,) = situation.waiting
    assert found.job.name == "mine"
    assert found.model.runs == 6
    assert situation.capacity == Capacity(3500, 2)
    assert (JOBS.kind, "here") in cluster.asked
    assert (NODES.kind, None) in cluster.asked
    assert (CONFIG_MAPS.kind, "here") in cluster.asked


def test_what_is_given_stands_in_the_place_of_what_the_nodes_offer() -> None:
    cluster = ReadOnly(Node=[NODE])
    assert looked(cluster, cores=2.0, gpus=0, everywhere=True).capacity == Capacity(2000, 0)
    assert (JOBS.kind, None) in cluster.asked


def test_running_and_finished_jobs_are_told_apart_from_those_that_wait() -> None:
    attempt = {"number": 1, "jobName": "run-1", "startTime": NOON.isoformat()}
    progress = {"epoch": 3, "epochs": 5, "secondsPerEpoch": 2.0, "lastScrapeTime": NOON.isoformat()}
    running = waiting("running") | {"status": {"state": "Running", "attempts": [attempt], "progress": progress}}
    complete = {"type": "Complete", "status": "True", "reason": "Trained", "message": "done."}
    done = waiting("done") | {
        "status": {"conditions": [{**complete, "lastTransitionTime": NOON.isoformat()}], "state": "Succeeded"}
    }
    kept = waiting("suspended", suspend=True)
    situation = looked(ReadOnly(TrainingJob=[running, done, kept, waiting("waits")], Node=[NODE]))
    assert [each.job.name for each in situation.waiting] == ["waits"]
    assert [each.name for each in situation.ended] == ["done"]
    (runs,) = situation.running
    assert runs.job.name == "running"
    assert runs.trained.epoch_seconds == (2.0, 2.0, 2.0)
