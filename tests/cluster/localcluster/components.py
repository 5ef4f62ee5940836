"""A component: one program of the cluster, how it is started and how it is known to work.

Which there are is told by `control_plane` and `node`; their files are JSON, which all of these programs read in place
of YAML.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.cluster.localcluster import places

LIST = places.STATE / "components.json"


@dataclass(frozen=True)
class Component:
    """A program of the cluster and the address that answers once it works (a URL, `unix:PATH` or `tcp:PORT`)."""

    name: str
    command: tuple[str, ...]
    ready: str


def save(components: Sequence[Component]) -> None:
    """Write the components where the cluster's first process reads them."""
    LIST.write_text(json.dumps([asdict(component) for component in components], indent=2))


def load() -> list[Component]:
    """Read what `save` wrote."""
    return [Component(item["name"], tuple(item["command"]), item["ready"]) for item in json.loads(LIST.read_text())]


def write_file(path: Path, content: Mapping[str, Any]) -> Path:
    """Write a configuration file and hand back its path, for the command line that names it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2))
    return path
