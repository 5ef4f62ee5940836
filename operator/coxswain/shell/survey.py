"""A queue of the cluster as anybody may read it who may read its jobs: nothing is written."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from coxswain.core.cost import Prices
from coxswain.core.families import family_of
from coxswain.core.jobs.view import Job
from coxswain.core.planning.values import Capacity
from coxswain.core.steering.found import Queue, Teaching, situation_of
from coxswain.core.steering.scene import Situation
from coxswain.shell.cluster import JOBS, NODES, Cluster, Manifest
from coxswain.shell.ledger import Ledger
from coxswain.shell.nodes import amount, likely_type

_GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class Wanted:
    """Which queue to look at; what is None of its capacity is what the nodes offer."""

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
    ledger = Ledger(cluster, None if place is None else [place])
    await ledger.load()
    teaching = Teaching(ledger.all(), lambda entry: entry.family.key)
    queue = Queue(wanted.queue, _capacity(wanted, nodes), wanted.prices, datetime.now(UTC))
    return situation_of(jobs, queue, _family(nodes), teaching.of)


def _family(nodes: list[Manifest]) -> Callable[[Job], str]:
    def key(job: Job) -> str:
        return family_of(job.namespace, job.effective, likely_type(nodes, job.spec.node_selector or {})).key

    return key


def _capacity(wanted: Wanted, nodes: list[Manifest]) -> Capacity:
    offered = [node["status"].get("allocatable", {}) for node in nodes if not node["spec"].get("unschedulable")]
    cores = sum(amount(each.get("cpu")) for each in offered) if wanted.cores is None else wanted.cores
    gpus = sum(amount(each.get(_GPU)) for each in offered) if wanted.gpus is None else wanted.gpus
    return Capacity(round(1000 * cores), int(gpus))
