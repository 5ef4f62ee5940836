"""Which fields of a job a factor may set, what values they take, and how a value is written into a manifest.

The same table serves the checks of an experiment's factors, the expansion of a row into a job, and the way back: from a
job's fields to the numbers and names that models are fitted on.
"""

import math
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from enum import Enum
from typing import Any

from coxswain.core.api.values import GIB, Model, render_cores, render_memory
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


def leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every field below a path that has a value, by its name in a manifest; extra parameters by their own names."""
    if f"{path}." == EXTRA:
        for item in value or ():
            yield f"{path}.{item.name}", item.value
    elif isinstance(value, Model):
        for name, info in type(value).model_fields.items():
            yield from leaves(getattr(value, name), f"{path}.{info.alias}")
    elif value is not None:
        yield path, value


def level_of(field: str, value: Any) -> Level:
    """The value of a job's field as a factor would have it: a number where it is one, memory in GiB, else text."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return value / GIB if kind_of(field) is Kind.GIBIBYTES else float(value)
        case _:
            return _number_or_text(str(value)) if field.startswith(EXTRA) else str(value)


def _number_or_text(text: str) -> Level:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text
