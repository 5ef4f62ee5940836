"""A queue of the cluster as anybody may read it who may read its jobs: nothing is written.

What the queue has is what the operator would count for one whose capacity is `auto`: what the usable nodes offer, less
what all pods request but those of the queue's own jobs. The operator's settings are not read.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from coxswain.core.cost import Prices
from coxswain.core.families import family_of
from coxswain.core.jobs.view import Job
from coxswain.core.manifests.attempt import JOB_LABEL
from coxswain.core.planning.values import Capacity
from coxswain.core.steering.found import Queue, Teaching, situation_of
from coxswain.core.steering.scene import Situation
from coxswain.shell.cluster import JOBS, NODES, PODS, Cluster, Manifest
from coxswain.shell.errors import Refused
from coxswain.shell.ledger import Ledger
from coxswain.shell.nodes import LIVE_PODS, amount, likely_type, requests_of, usable

_GPU = "nvidia.com/gpu"
_UNSEEN = (
    "What other pods hold of the nodes is not known, because the cluster does not let you list the pods of all "
    "namespaces; give --cores and --gpus if it is much."
)


@dataclass(frozen=True)
class Wanted:
    """Which queue to look at; what is None of its capacity is what the nodes have for it."""

    queue: str
    cores: float | None
    gpus: int | None
    prices: Prices
    everywhere: bool = False
    """In all namespaces, as the operator does, and not in one alone."""


async def survey(cluster: Cluster, namespace: str, wanted: Wanted) -> Situation:
    """The jobs of a queue, with what their families have taught."""
    place = None if wanted.everywhere else namespace
    jobs = [Job(manifest) for manifest in await cluster.list(JOBS, place)]
    nodes = await cluster.list(NODES)
    pods, notes = await _pods(cluster, wanted)
    ledger = Ledger(cluster, None if place is None else [place])
    await ledger.load()
    teaching = Teaching(ledger.all(), lambda entry: entry.family.key)
    capacity = _capacity(wanted, nodes, _beside(pods, jobs, wanted.queue))
    queue = Queue(wanted.queue, capacity, wanted.prices, datetime.now(UTC), notes)
    return situation_of(jobs, queue, _family(nodes), teaching.of)


def _family(nodes: list[Manifest]) -> Callable[[Job], str]:
    def key(job: Job) -> str:
        return family_of(job.namespace, job.effective, likely_type(nodes, job.spec.node_selector or {})).key

    return key


async def _pods(cluster: Cluster, wanted: Wanted) -> tuple[list[Manifest], tuple[str, ...]]:
    """All pods that hold something, and what is to be said where they may not be listed."""
    if wanted.cores is not None and wanted.gpus is not None:
        return [], ()
    try:
        return await cluster.list(PODS, fieldSelector=LIVE_PODS), ()
    except Refused:
        return [], (_UNSEEN,)


def _beside(pods: Sequence[Manifest], jobs: Collection[Job], queue: str) -> list[Manifest]:
    """The pods of everybody else: those of the queue's running jobs hold what the queue has."""
    own = {
        (job.namespace, job.name)
        for job in jobs
        if not job.problem and job.spec.queue_name == queue and job.holds_capacity and not job.status.finished
    }
    return [pod for pod in pods if _owner(pod) not in own]


def _owner(pod: Manifest) -> tuple[str, str]:
    metadata = pod["metadata"]
    return metadata["namespace"], (metadata.get("labels") or {}).get(JOB_LABEL, "")


def _capacity(wanted: Wanted, nodes: Sequence[Manifest], beside: Sequence[Manifest]) -> Capacity:
    placed: dict[str, list[Manifest]] = {}
    for pod in beside:
        placed.setdefault(pod["spec"]["nodeName"], []).append(pod)
    cores, gpus = 0.0, 0.0
    for node in filter(usable, nodes):
        offered = node["status"].get("allocatable", {})
        taken = [requests_of(pod, _GPU) for pod in placed.get(node["metadata"]["name"], ())]
        cores += max(amount(offered.get("cpu")) - sum(each.cores for each in taken), 0.0)
        gpus += max(amount(offered.get(_GPU)) - sum(each.gpus for each in taken), 0.0)
    cores = cores if wanted.cores is None else wanted.cores
    return Capacity(round(1000 * cores), int(gpus if wanted.gpus is None else wanted.gpus))
