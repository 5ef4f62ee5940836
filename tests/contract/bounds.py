"""A case for every bound, enum, pattern and length in the schemas, made from the schemas themselves.

Each complete manifest is walked along its kind's schema; at every leaf it has, the value just outside each bound must
be refused by name of the field, and the value just inside accepted. A field that no complete manifest has would go
untried, so a test holds that there is none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.contract.crds import EXPERIMENTS, JOBS, schema
from tests.contract.manifests import COMPLETE, Manifest, changed

Schema = dict[str, Any]


@dataclass(frozen=True)
class Bound:
    """A leaf of the schema with a value just outside a bound, and one just inside."""

    manifest: Manifest
    path: str
    what: str
    outside: Any
    inside: Any

    def __str__(self) -> str:
        return f"{self.manifest['metadata']['name']}-{self.path}-{self.what}"

    def broken(self) -> Manifest:
        """The manifest with the value outside."""
        return changed(self.manifest, {self.path: self.outside})

    def valid(self) -> Manifest:
        """The manifest with the value inside, or as it is where a rule that reads other fields forbids that value."""
        if starred(self.path) in AGAINST_A_RULE or starred(self.path).split(".")[0] == "steered":
            return self.manifest
        return changed(self.manifest, {self.path: self.inside})


# Just inside the bound of the schema, but against a rule that reads other fields too: the rules' own cases try these.
AGAINST_A_RULE = {
    "adjust.*.field": "a field of the other engine, or one listed twice",
    "adjust.*.min": "min above max, or a steered value left outside",
    "adjust.*.max": "a range of too many values",
    "adjust.*.step": "a range of too many values",
    "adjust.*.values": "a steered value left outside",
    "adjust.*.values.*": "a repeated value, or a steered one left outside",
    "engine": "fields of the other engine",
    "workload.type": "fields of the other types",
    "resources.workers": "more processes than samples in a batch",
    "parameters.batchSize": "more processes than samples in a batch",
    "data.claim": "a claim beside a url",
    "deadline.within": "a time of nothing",
    "factors": "generators and rows without their factors",
    "factors.*.name": "generators and rows without their factors",
    "factors.*.field": "levels where there should be categories",
    "factors.*.levels": "a repeated level",
    "factors.*.levels.*": "a level that is not above 0",
    "factors.*.categories": "a repeated category",
    "factors.*.coding": "the logarithm of a name",
    "design.type": "options of the other types",
    "design.runs": "more than 10000 runs",
    "design.replications": "more than 10000 runs",
    "design.generators": "generators without their factors",
    "design.generators.*": "generators without their factors",
    "design.rows": "rows that leave out a factor",
    "design.rows.*.settings": "rows that leave out a factor",
    "design.rows.*.settings.*.name": "rows that leave out a factor",
    "design.exclude.*.settings": "the same factor twice",
    "design.search.minimize": "a response that is not there",
    "design.search.limit.response": "a response that is not there",
    "arrivals.type": "Poisson arrivals without a rate",
    "analysis.responses": "a repeated response",
    "analysis.responses.*.name": "a response that is not measured",
    "budget.duration": "a time of nothing",
}


def all_bounds() -> Iterator[Bound]:
    """Every bound of every leaf that a complete manifest has."""
    for manifest in COMPLETE:
        kind_schema = schema(JOBS if manifest["kind"] == "TrainingJob" else EXPERIMENTS)
        for path, leaf_schema, value in leaves(kind_schema["properties"]["spec"], manifest["spec"]):
            for what, outside, inside in _edges(leaf_schema, value):
                yield Bound(manifest, path, what, outside, inside)


def schema_paths() -> set[tuple[str, str]]:
    """Kind and path of every field of the specs, list indices as `*`; a template's spec is a job's, tried there."""
    return {
        (kind, path)
        for kind, file in (("TrainingJob", JOBS), ("TrainingExperiment", EXPERIMENTS))
        for path in _schema_paths(schema(file)["properties"]["spec"], "")
        if not path.startswith("template.spec.")
    }


def tried_paths() -> set[tuple[str, str]]:
    """Kind and path of every field that a complete manifest has."""
    found = set()
    for manifest in COMPLETE:
        kind_schema = schema(JOBS if manifest["kind"] == "TrainingJob" else EXPERIMENTS)
        for path, _, _ in leaves(kind_schema["properties"]["spec"], manifest["spec"]):
            found.add((manifest["kind"], starred(path)))
    return found


def starred(path: str) -> str:
    """A path with its list indices as `*`."""
    return ".".join("*" if part.isdigit() else part for part in path.split("."))


def _schema_paths(node: Schema, path: str) -> Iterator[str]:
    if path:
        yield path
    for name, below in node.get("properties", {}).items():
        yield from _schema_paths(below, f"{path}.{name}".lstrip("."))
    if "items" in node:
        yield from _schema_paths(node["items"], f"{path}.*")


def leaves(node: Schema, value: Any, path: str = "") -> Iterator[tuple[str, Schema, Any]]:
    """Path, schema and value of everything in a spec, outer before inner."""
    if path:
        yield path, node, value
    if isinstance(value, dict):
        for name, below in value.items():
            if name in node.get("properties", {}):
                yield from leaves(node["properties"][name], below, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from leaves(node["items"], below, f"{path}.{index}")


def _edges(node: Schema, value: Any) -> Iterator[tuple[str, Any, Any]]:
    yield from _number_edges(node)
    if "enum" in node:
        yield "enum", "Nothing", node["enum"][-1]
    if node.get("type") == "string":
        yield from _text_edges(node, value)
    if "minItems" in node:
        yield "fewest-items", value[: node["minItems"] - 1], value
    if "maxItems" in node:
        yield "most-items", (value * (node["maxItems"] + 1))[: node["maxItems"] + 1], value
    if node.get("type") in {"integer", "number", "boolean", "object", "array"}:
        yield "type", "text", value


def _number_edges(node: Schema) -> Iterator[tuple[str, Any, Any]]:
    whole = node.get("type") == "integer"
    if "minimum" in node:
        least = node["minimum"]
        if node.get("exclusiveMinimum"):
            yield "above-minimum", least, least + 1e-6
        else:
            yield "minimum", least - (1 if whole else 1e-6 * max(1, abs(least))), least
    if "maximum" in node:
        most = node["maximum"]
        yield "maximum", most + (1 if whole else 1e-6 * max(1, abs(most))), most


def _text_edges(node: Schema, value: str) -> Iterator[tuple[str, Any, Any]]:
    if "pattern" in node:
        yield "pattern", "not like this!", value
    if "maxLength" in node:
        yield "length", "a" * (node["maxLength"] + 1), value if "pattern" in node else "a" * node["maxLength"]
    yield "type", 12, value
