"""The CRD files by themselves: what can be said of them without a server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.crds import EXPERIMENTS, JOBS, schema, with_current_template

FILES = (JOBS, EXPERIMENTS)

# Annotations of one object may have so many bytes together; client-side apply keeps the whole object in one.
MOST_ANNOTATION_BYTES = 262_144


def _nodes(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for name, below in node.get("properties", {}).items():
        yield from _nodes(below, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in node:
            yield from _nodes(node[name], f"{path}.{name}")


def test_the_template_is_a_copy_of_the_job_s_spec() -> None:
    assert EXPERIMENTS.read_text() == with_current_template(JOBS.read_text(), EXPERIMENTS.read_text()), (
        "run `make crds` to copy the spec of trainingjobs.yaml into the template of trainingexperiments.yaml"
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_field_is_described_in_one_sentence(file: Path) -> None:
    for path, node in _nodes(schema(file)):
        if path.endswith((".metadata", ".additionalProperties")) and "properties" not in node:
            continue
        description = node.get("description", "")
        assert description.endswith("."), f"{path} has no description that is a sentence"
        assert "\n" not in description.strip(), path


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_everything_in_a_spec_is_bounded(file: Path) -> None:
    for path, node in _nodes(schema(file)["properties"]["spec"]):
        match node.get("type"):
            case "array":
                assert {"maxItems", "x-kubernetes-list-type"} <= node.keys(), path
            case "string":
                assert {"maxLength", "enum"} & node.keys(), path
            case "integer" | "number" if not path.endswith(".atMost"):
                assert {"minimum", "maximum"} <= node.keys(), path
            case "object" if "additionalProperties" in node:
                assert "maxProperties" in node, path


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_client_side_apply_can_store_it(file: Path) -> None:
    size = len(json.dumps(yaml.safe_load(file.read_text())))
    assert size < MOST_ANNOTATION_BYTES / 2, f"{file.name} has {size} bytes; leave room for other annotations"
