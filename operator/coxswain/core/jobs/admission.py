"""Which of the jobs that wait in a queue may start now.

Jobs are taken by priority, then as the plan says, and where there is none yet by deadline; one without a deadline is
treated as if it had one a day after its creation, so that it moves up as it waits. The first job that does not fit may
be passed by others for a while, so that the capacity is used; when it has waited longer than that, what becomes free is
kept for it.

Where the queue's capacity is what the nodes offer, a job fits when each of its pods finds a node with room.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from coxswain.core.demand import Demand

PATIENCE = timedelta(minutes=5)
"""How long a job that does not fit lets others pass."""
AGEING = timedelta(days=1)
_SMALL = 1e-9


@dataclass(frozen=True)
class Waiting:
    """A job that waits; `since` is when it joined the queue, `not_before` the earliest time of another attempt."""

    key: tuple[str, str]
    demand: Demand
    created: datetime
    priority: int = 0
    deadline: datetime | None = None
    not_before: datetime | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    rank: int | None = None
    """Its place in the plan, once it has one."""
    starts_now: bool = False
    """Whether the plan has it start now, whoever waits before it."""

    @property
    def order(self) -> Any:
        """Who comes first."""
        rank = math.inf if self.rank is None else self.rank
        return (-self.priority, rank, self.deadline or self.created + AGEING, self.created, self.key)


@dataclass(frozen=True)
class Node:
    """What one node offers in all, and what of it is free."""

    name: str
    cores: float
    memory: int
    gpus: int
    free_cores: float
    free_memory: int
    free_gpus: int
    labels: Mapping[str, str] = field(default_factory=dict)

    def less(self, demand: Demand) -> "Node":
        """The node with one more pod on it."""
        return replace(
            self,
            free_cores=self.free_cores - demand.cores,
            free_memory=self.free_memory - demand.memory,
            free_gpus=self.free_gpus - demand.gpus,
        )

    def takes(self, demand: Demand) -> bool:
        """Whether there is room for one more pod."""
        return (
            demand.cores <= self.free_cores + _SMALL
            and demand.memory <= self.free_memory
            and demand.gpus <= self.free_gpus
        )

    def could_take(self, demand: Demand) -> bool:
        """Whether there would be room for a pod if the node were empty."""
        return demand.cores <= self.cores + _SMALL and demand.memory <= self.memory and demand.gpus <= self.gpus

    def matches(self, selector: Mapping[str, str]) -> bool:
        """Whether it is one of the nodes that a job asks for."""
        return all(self.labels.get(name) == value for name, value in selector.items())


@dataclass(frozen=True)
class Capacity:
    """What a queue has: a total of cores and GPUs, where None is no limit.

    `nodes` are those on which pods have to find a place; None leaves that to the cluster.
    """

    cores: float | None
    gpus: float | None
    held_cores: float = 0.0
    held_gpus: int = 0
    nodes: tuple[Node, ...] | None = None
    beside: tuple[Node, ...] = ()
    """The nodes as they would be without any pod of ours: what pods of others leave."""

    def place(self, job: Waiting) -> "Capacity | None":
        """What is left when the job has its place, or None if it finds none."""
        demand = job.demand
        if self.cores is not None and self.held_cores + demand.all_cores > self.cores + _SMALL:
            return None
        if self.gpus is not None and self.held_gpus + demand.all_gpus > self.gpus:
            return None
        nodes = list(self.nodes or ())
        for _ in range(demand.pods if self.nodes is not None else 0):
            # The fullest node that has room: what is left is then in large pieces.
            found = [
                index for index, node in enumerate(nodes) if node.matches(job.node_selector) and node.takes(demand)
            ]
            if not found:
                return None
            best = min(found, key=lambda index: (nodes[index].free_cores, nodes[index].name))
            nodes[best] = nodes[best].less(demand)
        return replace(
            self,
            held_cores=self.held_cores + demand.all_cores,
            held_gpus=self.held_gpus + demand.all_gpus,
            nodes=tuple(nodes) if self.nodes is not None else None,
        )

    def never(self, job: Waiting) -> str | None:
        """A sentence that says why the job could not start even if nothing else ran."""
        demand = job.demand
        if self.cores is not None and demand.all_cores > self.cores + _SMALL:
            return f"it asks for {demand.all_cores:g} cores, but its queue has {self.cores:g}; ask for fewer."
        if self.gpus is not None and demand.all_gpus > self.gpus:
            return f"it asks for {demand.all_gpus} GPUs, but its queue has {self.gpus:g}; ask for fewer."
        fitting = [node for node in self.nodes or () if node.matches(job.node_selector)]
        if self.nodes and not fitting:
            return "no node has the labels of its nodeSelector; correct it."
        if self.nodes and not any(node.could_take(demand) for node in fitting):
            largest = max(fitting, key=lambda node: (node.gpus, node.cores, node.memory))
            return (
                f"each of its pods asks for {_told(demand.cores, demand.memory, demand.gpus)}, but the largest node "
                f"has {_told(largest.cores, largest.memory, largest.gpus)}; ask for less."
            )
        return None

    def crowded(self, job: Waiting) -> str | None:
        """A sentence that says what pods of others take, if they alone leave no room for the job."""
        if not self.beside or Capacity(None, None, nodes=self.beside).place(job) is not None:
            return None
        demand, nodes = job.demand, [node for node in self.beside if node.matches(job.node_selector)]
        needed = _told(demand.cores, demand.memory, demand.gpus)
        free = _told(
            sum(max(node.free_cores, 0.0) for node in nodes),
            sum(max(node.free_memory, 0) for node in nodes),
            sum(max(node.free_gpus, 0) for node in nodes),
        )
        pods = f"each of its {demand.pods} pods needs" if demand.pods > 1 else "it needs"
        offered = sum(node.cores for node in nodes)
        return f"pods that are not Coxswain's fill the nodes: {pods} {needed}; free of {offered:g} cores are {free}."


@dataclass(frozen=True)
class Admission:
    """Which jobs start now, in order; why some never can; and when to look again, if time alone changes something."""

    start: tuple[Waiting, ...] = ()
    never: Mapping[tuple[str, str], str] = field(default_factory=dict)
    crowded: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Of those that have to wait, whom pods of others leave no room."""
    again_at: datetime | None = None


def admit(waiting: Sequence[Waiting], capacity: Capacity, now: datetime) -> Admission:
    """Choose from the jobs of a queue."""
    start: list[Waiting] = []
    never: dict[tuple[str, str], str] = {}
    crowded: dict[tuple[str, str], str] = {}
    again: list[datetime] = []
    reserved = False
    for job in sorted(waiting, key=lambda each: each.order):
        if reason := capacity.never(job):
            never[job.key] = reason
            continue
        if reserved and not job.starts_now:
            continue
        if job.not_before is not None and job.not_before > now:
            again.append(job.not_before)
            continue
        left = capacity.place(job)
        if left is not None:
            start.append(job)
            capacity = left
            continue
        if reason := capacity.crowded(job):
            # It waits for others to leave; to hold back jobs of ours would not help it.
            crowded[job.key] = reason
        elif now >= job.created + PATIENCE:
            reserved = True
        else:
            again.append(job.created + PATIENCE)
    return Admission(tuple(start), never, crowded, min(again, default=None))


def _told(cores: float, memory: int, gpus: float) -> str:
    return f"{cores:g} cores, {memory / 2**30:.3g} GiB" + (f" and {gpus:g} GPUs" if gpus else "")
