"""Which fields of a job a factor may set, what values they take, and how a value is written into a manifest.

The same table serves the checks of an experiment's factors and the expansion of a row into a job.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from enum import Enum
from typing import Any

from coxswain.core.api.values import GIB, render_cores, render_memory
from coxswain.core.factors import Level


class Kind(Enum):
    """What values a field takes."""

    CATEGORY = "category"
    SWITCH = "switch"
    WHOLE = "whole"
    FRACTION = "fraction"
    CORES = "cores"
    GIBIBYTES = "gibibytes"
    TEXT = "text"


# So many identical jobs at a time: no field of a job, but a factor of the experiment.
CONCURRENCY = "concurrency"

FIELDS: Mapping[str, Kind] = {
    CONCURRENCY: Kind.WHOLE,
    "parameters.epochs": Kind.WHOLE,
    "parameters.batchSize": Kind.WHOLE,
    "parameters.learningRate": Kind.FRACTION,
    "parameters.optimizer": Kind.CATEGORY,
    "parameters.schedule": Kind.CATEGORY,
    "resources.workers": Kind.WHOLE,
    "resources.processesPerWorker": Kind.WHOLE,
    "resources.coresPerWorker": Kind.CORES,
    "resources.memoryPerWorker": Kind.GIBIBYTES,
    "resources.gpusPerWorker": Kind.WHOLE,
    "resources.spark.nodes": Kind.WHOLE,
    "resources.spark.executorsPerNode": Kind.WHOLE,
    "resources.spark.coresPerExecutor": Kind.CORES,
    "resources.spark.memoryPerExecutor": Kind.GIBIBYTES,
    "workload.network": Kind.CATEGORY,
    "workload.dataset": Kind.CATEGORY,
    "workload.samples": Kind.WHOLE,
    "workload.strategy": Kind.CATEGORY,
    "workload.ingest.format": Kind.CATEGORY,
    "workload.ingest.batches": Kind.WHOLE,
    "workload.ingest.partitions": Kind.WHOLE,
    "workload.ingest.cache": Kind.SWITCH,
}
EXTRA = "parameters.extra."
_EXTRA_FIELD = re.compile(r"^parameters[.]extra[.][a-zA-Z][a-zA-Z0-9_]{0,62}$")


def kind_of(field: str) -> Kind | None:
    """What values a field takes, or None when a factor cannot set it."""
    return Kind.TEXT if _EXTRA_FIELD.match(field) else FIELDS.get(field)


def with_value(spec: Mapping[str, Any], field: str, value: Level) -> dict[str, Any]:
    """A job's spec, as in a manifest, with one field set to a factor's value."""
    changed = deepcopy(dict(spec))
    if field == CONCURRENCY:
        return changed
    if field.startswith(EXTRA):
        parameters = changed.setdefault("parameters", {})
        name = field.removeprefix(EXTRA)
        others = [item for item in parameters.get("extra", []) if item["name"] != name]
        parameters["extra"] = [*others, {"name": name, "value": _text(value)}]
        return changed
    *folders, leaf = field.split(".")
    place = changed
    for folder in folders:
        place = place.setdefault(folder, {})
    place[leaf] = _rendered(FIELDS[field], value)
    return changed


def _rendered(kind: Kind, value: Level) -> Any:
    if isinstance(value, str):
        return value == "true" if kind is Kind.SWITCH else value
    match kind:
        case Kind.CORES:
            return render_cores(value)
        case Kind.GIBIBYTES:
            return render_memory(round(value * GIB))
        case Kind.WHOLE:
            return round(value)
        case _:
            return value


def _text(value: Level) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"
