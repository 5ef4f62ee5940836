"""How a case is written: a manifest, a change that breaks a rule, what the refusal says, and a change that keeps it.

A rule's message is the same on the server and without one, so each case is tried on both. Rules that compare an object
with what it was before exist on the server alone; a Transition tries one of those.
"""

from dataclasses import dataclass, field
from typing import Any

from tests.contract.manifests import Manifest


@dataclass(frozen=True)
class Case:
    """One rule: the base manifest, a change that breaks the rule, its message, and a change that keeps it."""

    name: str
    base: Manifest
    broken: dict[str, Any]
    message: str
    valid: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


@dataclass(frozen=True)
class Transition:
    """A change of an object whose status says that it began: refused with a message, or None where it is allowed."""

    name: str
    base: Manifest
    status: dict[str, Any]
    change: dict[str, Any]
    message: str | None

    def __str__(self) -> str:
        return self.name.replace(" ", "-")
