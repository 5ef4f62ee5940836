"""What every object of the cluster has: a name, a place, a UID, a birth; and how one says that another is its owner."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from coxswain.core.api.parsing import API_VERSION
from coxswain.core.api.status import parse_time


@dataclass(frozen=True)
class Object:
    """An object as the cluster holds it."""

    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Where it is."""
        return str(self.manifest["metadata"]["namespace"])

    @property
    def uid(self) -> str:
        """What tells it from an earlier one of the same name."""
        return str(self.manifest["metadata"]["uid"])

    @property
    def generation(self) -> int:
        """Counts the changes of its spec."""
        return int(self.manifest["metadata"].get("generation", 0))

    @cached_property
    def created(self) -> datetime:
        """When it was created."""
        return parse_time(self.manifest["metadata"]["creationTimestamp"])

    @property
    def deleting(self) -> bool:
        """Whether somebody has deleted it, and only finalizers keep it."""
        return "deletionTimestamp" in self.manifest["metadata"]

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self.manifest["metadata"].get("labels") or {}


def owner_reference(kind: str, name: str, uid: str) -> dict[str, Any]:
    """What an object says of the one of our kinds that it belongs to, and goes with."""
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
