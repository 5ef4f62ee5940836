"""Nodes, as far as what they are and offer matters: jobs of one family run on one type of node."""

from collections import Counter
from collections.abc import Iterable, Mapping

from kubernetes.utils.quantity import parse_quantity

from coxswain.shell.cluster import Manifest

_TYPE = "node.kubernetes.io/instance-type"


def type_of(node: Manifest) -> str:
    """The type of a node, as the cloud calls it; empty where it has none."""
    return str((node["metadata"].get("labels") or {}).get(_TYPE, ""))


def likely_type(nodes: Iterable[Manifest], selector: Mapping[str, str]) -> str:
    """The type of node that a job will most likely get."""
    fitting = [node for node in nodes if selector.items() <= (node["metadata"].get("labels") or {}).items()]
    types = Counter(type_of(node) for node in fitting)
    return min(types, key=lambda name: (-types[name], name)) if types else ""


def amount(quantity: str | None) -> float:
    """A quantity as Kubernetes writes it, as a number."""
    return float(parse_quantity(quantity or "0"))  # type: ignore[no-untyped-call]
