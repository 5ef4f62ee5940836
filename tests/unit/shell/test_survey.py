"""A queue of the cluster as `cox plan` sees it: read, and nothing written."""

import asyncio
from typing import Any, cast

from coxswain.core.cost import Prices
from coxswain.core.ledger import objects
from coxswain.core.manifests.attempt import JOB_LABEL
from coxswain.core.planning.values import Capacity
from coxswain.shell.cluster import CONFIG_MAPS, JOBS, NODES, PODS, Cluster, Manifest, Resource
from coxswain.shell.errors import Refused
from coxswain.shell.survey import Wanted, survey
from tests.unit.forecasts.making import NOON, job
from tests.unit.steering.making import entry

NODE: Manifest = {
    "metadata": {"name": "node", "labels": {}},
    "spec": {},
    "status": {
        "allocatable": {"cpu": "3500m", "memory": "8Gi", "nvidia.com/gpu": "2"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}


class ReadOnly:
    """Lists what it was given; it has no other method, so that any write would fail."""

    def __init__(self, *, secret: str = "", **found: list[Manifest]) -> None:
        self.found, self.secret = found, secret
        self.asked: list[tuple[str, str | None]] = []

    async def list(
        self, resource: Resource, namespace: str | None = None, *, metadata_only: bool = False, **_: str
    ) -> list[Manifest]:
        self.asked.append((resource.kind, namespace))
        if resource.kind == self.secret:
            raise Refused(403, f"{resource.plural} is forbidden")
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


def pod(owner: str = "", *, namespace: str = "here", node: str = "node", cpu: str = "1") -> Manifest:
    labels = {JOB_LABEL: owner} if owner else {}
    containers = [{"resources": {"requests": {"cpu": cpu}}}, {}]
    return {
        "metadata": {"name": "pod", "namespace": namespace, "labels": labels},
        "spec": {"nodeName": node, "containers": containers},
    }


def begun(name: str, **spec: Any) -> Manifest:
    attempt = {"number": 1, "jobName": f"{name}-1", "startTime": NOON.isoformat()}
    return waiting(name, **spec) | {"status": {"state": "Running", "attempts": [attempt]}}


def test_nodes_that_take_no_pods_are_no_capacity() -> None:
    lost = NODE | {"status": {**NODE["status"], "conditions": [{"type": "Ready", "status": "Unknown"}]}}
    closed = NODE | {"spec": {"unschedulable": True}}
    assert looked(ReadOnly(Node=[NODE, lost, closed])).capacity == Capacity(3500, 2)


def test_what_others_hold_is_no_capacity_and_what_the_queue_s_own_jobs_hold_is() -> None:
    jobs = [begun("mine"), begun("theirs", queueName="other")]
    ours, others = [pod("mine")], [pod(cpu="200m"), pod("theirs", cpu="300m"), pod("mine", namespace="far")]
    situation = looked(ReadOnly(TrainingJob=jobs, Node=[NODE], Pod=[*ours, *others, pod(node="gone", cpu="64")]))
    assert situation.capacity == Capacity(3500 - 200 - 300 - 1000, 2)
    assert situation.notes == ()
    assert looked(ReadOnly(Node=[NODE], Pod=[pod(cpu="64")])).capacity.cores == 0


def test_where_pods_may_not_be_listed_it_is_said() -> None:
    situation = looked(ReadOnly(secret=PODS.kind, Node=[NODE]))
    assert situation.capacity == Capacity(3500, 2)
    (note,) = situation.notes
    assert "does not let you list the pods" in note
    given = ReadOnly(secret=PODS.kind, Node=[NODE])
    assert looked(given, cores=1.0, gpus=0).notes == ()
    assert (PODS.kind, None) not in given.asked


def test_jobs_in_kueue_are_counted_and_not_shown() -> None:
    def queued(name: str, **spec: Any) -> Manifest:
        made = waiting(name, **spec)
        return made | {"metadata": {**made["metadata"], "labels": {"kueue.x-k8s.io/queue-name": "team"}}}

    jobs = [waiting("mine"), queued("first"), queued("second"), queued("third", queueName="other")]
    situation = looked(ReadOnly(TrainingJob=jobs, Node=[NODE]))
    assert [each.job.name for each in situation.waiting] == ["mine"]
    assert situation.notes == (
        "2 jobs are in Kueue and not shown: Kueue starts them, and the operator steers each by itself.",
    )


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
