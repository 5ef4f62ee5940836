"""From a manifest to a typed value, or to one sentence that says what to change.

Manifests are read the way the API server reads them: a field that is null is a field left out, a whole number may be
written with a decimal point, and nothing is converted from one type to another.
"""

import json
import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from coxswain.core.api.experiment import ExperimentSpec, TrainingExperiment
from coxswain.core.api.job import JobSpec, TrainingJob
from coxswain.core.api.values import Model
from coxswain.core.errors import InputError

API_VERSION = "coxswain.dev/v1alpha1"

Spec = TypeVar("Spec", bound=Model)


def parse(manifest: Any) -> TrainingJob | TrainingExperiment:
    """The resource that a manifest describes.

    Raises:
        InputError: in one sentence that names the field to mend.
    """
    kind = _header(manifest).get("kind")
    if kind == "TrainingJob":
        return parse_job(manifest)
    if kind == "TrainingExperiment":
        return parse_experiment(manifest)
    raise InputError(f"kind is {kind!r}; it must be TrainingJob or TrainingExperiment.")


def parse_job(manifest: Any) -> TrainingJob:
    """The TrainingJob that a manifest describes."""
    name, namespace = _identity(manifest, "TrainingJob")
    return TrainingJob(name=name, namespace=namespace, spec=_parse_spec(JobSpec, manifest))


def parse_experiment(manifest: Any) -> TrainingExperiment:
    """The TrainingExperiment that a manifest describes."""
    name, namespace = _identity(manifest, "TrainingExperiment")
    return TrainingExperiment(name=name, namespace=namespace, spec=_parse_spec(ExperimentSpec, manifest))


def _header(manifest: Any) -> Mapping[str, Any]:
    if not isinstance(manifest, Mapping):
        raise InputError("the manifest is not a mapping; it must have apiVersion, kind, metadata and spec.")
    if manifest.get("apiVersion") != API_VERSION:
        raise InputError(f"apiVersion is {manifest.get('apiVersion')!r}; it must be {API_VERSION}.")
    return manifest


def _identity(manifest: Any, kind: str) -> tuple[str, str | None]:
    header = _header(manifest)
    if header.get("kind") != kind:
        raise InputError(f"kind is {header.get('kind')!r}; it must be {kind}.")
    unknown = sorted(set(header) - {"apiVersion", "kind", "metadata", "spec", "status"})
    if unknown:
        raise InputError(f"{unknown[0]}: unknown field; leave it out or correct its spelling.")
    metadata = header.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(metadata, Mapping) or not isinstance(name, str) or not name:
        raise InputError("metadata.name: is missing; give the object a name.")
    return name, metadata.get("namespace")


def _parse_spec(model: type[Spec], manifest: Mapping[str, Any]) -> Spec:
    if manifest.get("spec") is None:
        raise InputError("spec: is missing; say what to run.")
    return read_as(model, manifest["spec"], "spec")


def read_as(model: type[Spec], content: Any, place: str) -> Spec:
    """What a part of a document describes; `place` is where that part begins.

    Raises:
        InputError: in one sentence that names the field to mend.
    """
    try:
        # By way of JSON, because that is what a manifest is: lists become tuples, and yet no text becomes a number.
        return model.model_validate_json(json.dumps(_plain(content, place)))
    except ValidationError as error:
        first, *others = error.errors(include_url=False)
        more = f" (and {len(others)} more)" if others else ""
        raise InputError(_sentence(first, model, place) + more) from error


def _plain(value: Any, path: str) -> Any:
    """The value as the API server sees it: without nulls, and with whole numbers whole."""
    match value:
        case Mapping():
            return {str(key): _plain(item, f"{path}.{key}") for key, item in value.items() if item is not None}
        case list() | tuple():
            return [_plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
        case float() if not math.isfinite(value):
            raise InputError(f"{path}: {value} is not a finite number; give one that is.")
        case float() if value == int(value):
            return int(value)
        case datetime():  # what YAML makes of an unquoted time
            return value.isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case _:
            return value


def _sentence(error: ErrorDetails, model: type[Model], begin: str) -> str:
    place = begin + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"])
    match error["type"]:
        case "missing":
            return f"{place}: is missing; it is required."
        case "extra_forbidden":
            return f"{place}: unknown field; leave it out or correct its spelling ({_known_fields(model, error)})."
        case "value_error":
            return f"{place}: {error['msg'].removeprefix('Value error, ')}."
    given = f", but is {json.dumps(error['input'])[:60]}" if not isinstance(error["input"], (dict, list)) else ""
    return f"{place}: {error['msg'].replace('Input should', 'should')}{given}."


def _known_fields(model: type[Model], error: ErrorDetails) -> str:
    """The fields that an unknown one may have been meant to be: those of the model it stands in."""
    current: Any = model
    for part in error["loc"][:-1]:
        if isinstance(part, int):
            continue
        field = next(info for info in current.model_fields.values() if info.alias == part)
        current = next(found for found in _models_in(field.annotation))
    return "known are " + ", ".join(str(info.alias) for info in current.model_fields.values())


def _models_in(annotation: Any) -> list[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models_in(part)]
