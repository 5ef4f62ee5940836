"""Random specs made from the schemas: whole ones, and complete manifests with a few random changes.

Whole random specs break some rule nearly always, so they try refusals; changed ones are close to valid and try both.
"""

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tests.contract.bounds import leaves
from tests.contract.crds import EXPERIMENTS, JOBS, schema
from tests.contract.manifests import COMPLETE, LEFT_OUT, Manifest, changed

if TYPE_CHECKING:
    from collections.abc import Callable

Schema = dict[str, Any]

_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
_QUANTITIES = st.sampled_from(["500m", "0.5", "2", "10m", "9m", "1Gi", "16Mi", "1.5Gi", "64Ti", "100M", "1", "", "-1"])
_TIMES = st.datetimes().map(lambda time: time.strftime("%Y-%m-%dT%H:%M:%SZ")) | st.sampled_from(
    ["2030-02-30T00:00:00Z", "2030-01-31T24:00:00Z", "2030-01-31T18:00:00+01:00", "2030-01-31", "tomorrow"]
)


def values(node: Schema) -> st.SearchStrategy[Any]:
    """Values that fit a schema, as far as one field alone can tell."""
    if "enum" in node:
        return st.sampled_from(node["enum"])
    if node.get("x-kubernetes-int-or-string"):
        return st.integers(-1, 2000) | _QUANTITIES | st.from_regex(node["pattern"], fullmatch=True)
    by_type: dict[str, Callable[[Schema], st.SearchStrategy[Any]]] = {
        "boolean": lambda _: st.booleans(),
        "integer": lambda node: st.integers(node.get("minimum", -100), node.get("maximum", 100)),
        "number": _numbers,
        "string": _strings,
        "array": _lists,
        "object": _objects,
    }
    return by_type[node["type"]](node)


def _numbers(node: Schema) -> st.SearchStrategy[float]:
    least, most = node.get("minimum", -1e6), node.get("maximum", 1e6)
    numbers = st.floats(least, most, exclude_min=node.get("exclusiveMinimum", False))
    return numbers | st.sampled_from([n for n in (0.01, 0.5, 1, 2, 3, 32, 64, 256) if n <= most])


def _strings(node: Schema) -> st.SearchStrategy[Any]:
    if node.get("format") == "date-time":
        return _TIMES
    if "pattern" in node:
        return st.from_regex(node["pattern"], fullmatch=True).filter(lambda text: len(text) <= node["maxLength"])
    return _TEXT


def _lists(node: Schema) -> st.SearchStrategy[list[Any]]:
    fewest = node.get("minItems", 0)
    return st.lists(values(node["items"]), min_size=fewest, max_size=fewest + 2)


def _objects(node: Schema) -> st.SearchStrategy[dict[str, Any]]:
    if "additionalProperties" in node:
        return st.dictionaries(_TEXT, values(node["additionalProperties"]), max_size=3)
    required = node.get("required", [])
    below = {name: values(child) for name, child in node["properties"].items() if "type" in child or len(child) > 1}
    return st.fixed_dictionaries(
        {name: strategy for name, strategy in below.items() if name in required},
        optional={name: strategy for name, strategy in below.items() if name not in required},
    )


_SPECS = {
    "TrainingJob": schema(JOBS)["properties"]["spec"],
    "TrainingExperiment": schema(EXPERIMENTS)["properties"]["spec"],
}


@st.composite
def whole_manifests(draw: st.DrawFn) -> Manifest:
    """A manifest whose whole spec is random."""
    kind = draw(st.sampled_from(sorted(_SPECS)))
    return {
        "apiVersion": "coxswain.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "random"},
        "spec": draw(values(_SPECS[kind])),
    }


@st.composite
def changed_manifests(draw: st.DrawFn) -> Manifest:
    """A complete manifest with one or two fields changed or left out."""
    manifest = draw(st.sampled_from(COMPLETE))
    for _ in range(draw(st.integers(1, 2))):
        fields = [(path, node) for path, node, _ in leaves(_SPECS[manifest["kind"]], manifest["spec"])]
        path, node = draw(st.sampled_from(fields))
        in_a_list = path.rpartition(".")[2].isdigit()
        value = draw(values(node) if in_a_list else st.just(LEFT_OUT) | values(node))
        manifest = changed(manifest, {path: value})
    return manifest


manifests = whole_manifests() | changed_manifests() | changed_manifests()
