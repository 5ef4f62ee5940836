"""Nodes, as far as what they are and offer matters: jobs of one family run on one type of node."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kubernetes.utils.quantity import parse_quantity

from coxswain.core.demand import Demand
from coxswain.shell.cluster import Manifest

LIVE_PODS = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!="
"""The pods that hold something of a node."""

_TYPE = "node.kubernetes.io/instance-type"


def type_of(node: Manifest) -> str:
    """The type of a node, as the cloud calls it; empty where it has none."""
    return str((node["metadata"].get("labels") or {}).get(_TYPE, ""))


def likely_type(nodes: Iterable[Manifest], selector: Mapping[str, str]) -> str:
    """The type of node that a job will most likely get."""
    fitting = [node for node in nodes if selector.items() <= (node["metadata"].get("labels") or {}).items()]
    types = Counter(type_of(node) for node in fitting)
    return min(types, key=lambda name: (-types[name], name)) if types else ""


def usable(node: Manifest) -> bool:
    """Whether pods can be placed on a node now."""
    conditions = node.get("status", {}).get("conditions", ())
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not node["spec"].get("unschedulable")


def requests_of(pod: Manifest, gpu: str) -> Demand:
    """What a pod holds of its node."""
    wanted: list[dict[str, Any]] = [
        each.get("resources", {}).get("requests") or {} for each in pod["spec"].get("containers", ())
    ]
    return Demand(
        pods=1,
        cores=sum(amount(each.get("cpu")) for each in wanted),
        memory=int(sum(amount(each.get("memory")) for each in wanted)),
        gpus=int(sum(amount(each.get(gpu)) for each in wanted)),
    )


def amount(quantity: str | None) -> float:
    """A quantity as Kubernetes writes it, as a number."""
    return float(parse_quantity(quantity or "0"))  # type: ignore[no-untyped-call]
