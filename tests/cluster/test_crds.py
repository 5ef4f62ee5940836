"""The contract on a real API server: every rule and bound, the defaults, and bad input through kubectl."""

import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from kubernetes import client, config

from coxswain.core.api import parse
from coxswain.core.errors import InputError
from tests.cluster.kube import Cluster, KubectlError
from tests.contract import strategies
from tests.contract.bounds import Bound, all_bounds
from tests.contract.cases import Case, Transition
from tests.contract.crds import FOLDER
from tests.contract.experiment_rules import EXPERIMENT_CASES
from tests.contract.job_rules import JOB_CASES
from tests.contract.manifests import COMPLETE, MINIMAL_EXPERIMENT, MINIMAL_JOB, Manifest, changed
from tests.contract.transitions import TRANSITIONS

EXAMPLES = sorted((FOLDER.parent / "examples").glob("**/*.yaml"))
PLURALS = {"TrainingJob": "trainingjobs", "TrainingExperiment": "trainingexperiments"}


class Server:
    """The two resources on a real API server, in one namespace, with unknown fields refused as kubectl has it."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        connection = config.new_client_from_config(str(cluster.kubeconfig))  # type: ignore[no-untyped-call]
        self._objects: Any = client.CustomObjectsApi(connection)
        self._namespace = namespace

    def _place(self, manifest: Manifest) -> dict[str, str]:
        plural = PLURALS[manifest["kind"]]
        return {"group": "coxswain.dev", "version": "v1alpha1", "namespace": self._namespace, "plural": plural}

    def try_to_create(self, manifest: Manifest) -> Any:
        """What the server would store, with its defaults; nothing is stored."""
        return self._objects.create_namespaced_custom_object(
            **self._place(manifest), body=manifest, dry_run="All", field_validation="Strict"
        )

    def create(self, manifest: Manifest, status: dict[str, Any]) -> None:
        """Create an object with a status."""
        self._objects.create_namespaced_custom_object(**self._place(manifest), body=manifest)
        self._objects.patch_namespaced_custom_object_status(
            **self._place(manifest), name=manifest["metadata"]["name"], body={"status": status}
        )

    def try_to_replace(self, manifest: Manifest) -> None:
        """Try to update an object; nothing is stored."""
        place = {**self._place(manifest), "name": manifest["metadata"]["name"]}
        version = self._objects.get_namespaced_custom_object(**place)["metadata"]["resourceVersion"]
        body = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}
        self._objects.replace_namespaced_custom_object(**place, body=body, dry_run="All", field_validation="Strict")


@pytest.fixture
def fresh(tmp_path: Path) -> str:
    """The option of kubectl that makes it ask the server which resources and short names there are."""
    return f"--cache-dir={tmp_path}"


@pytest.fixture(scope="module")
def server(crds: Cluster) -> Iterator[Server]:
    """The resources in a namespace of this module's own."""
    with crds.namespace() as namespace:
        yield Server(crds, namespace)


@pytest.mark.parametrize("case", JOB_CASES + EXPERIMENT_CASES, ids=str)
def test_a_rule_refuses_with_its_message_and_accepts_its_neighbour(server: Server, case: Case) -> None:
    with pytest.raises(client.ApiException) as refused:
        server.try_to_create(changed(case.base, case.broken))
    assert refused.value.status == 422
    assert case.message in _text(refused.value)
    server.try_to_create(changed(case.base, case.valid))


@pytest.mark.parametrize("bound", tuple(all_bounds()), ids=str)
def test_a_bound_refuses_by_name_of_the_field_and_accepts_its_neighbour(server: Server, bound: Bound) -> None:
    with pytest.raises(client.ApiException) as refused:
        server.try_to_create(bound.broken())
    assert refused.value.status in {400, 422}
    assert bound.path.replace(".", "").rstrip("0123456789") in _text(refused.value).translate(
        {ord(character): None for character in ".[]"}
    )
    server.try_to_create(bound.valid())


@pytest.mark.parametrize("transition", TRANSITIONS, ids=str)
def test_what_may_change_once_begun_and_what_may_not(server: Server, transition: Transition) -> None:
    before = {**transition.base, "metadata": {"name": f"transition-{uuid.uuid4().hex}"}}
    server.create(before, transition.status)
    after = changed(before, transition.change)
    if transition.message is None:
        server.try_to_replace(after)
    else:
        with pytest.raises(client.ApiException) as refused:
            server.try_to_replace(after)
        assert transition.message in _text(refused.value)


@pytest.mark.parametrize("manifest", [MINIMAL_JOB, MINIMAL_EXPERIMENT, *COMPLETE], ids=lambda m: m["metadata"]["name"])
def test_the_server_s_defaults_are_ours(server: Server, manifest: Manifest) -> None:
    stored = server.try_to_create(manifest)
    parsed = parse(manifest)
    assert parse(stored).spec == parsed.spec
    if manifest in (MINIMAL_JOB, MINIMAL_EXPERIMENT):
        assert stored["spec"] == parsed.spec.model_dump(by_alias=True, exclude_none=True, mode="json")


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_accepted(server: Server, file: Path) -> None:
    for manifest in yaml.safe_load_all(file.read_text()):
        if manifest["kind"] in PLURALS:
            server.try_to_create(manifest)


def test_random_specs_are_refused_or_parsed_and_never_judged_differently(server: Server) -> None:
    verdicts: Counter[str] = Counter()

    @given(strategies.manifests)
    @settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def judge(manifest: Manifest) -> None:
        ours, theirs = "accepted", "accepted"
        try:
            parse(manifest)
        except InputError as error:
            ours = f"refused: {error}"
        try:
            server.try_to_create(manifest)
        except client.ApiException as error:
            theirs = f"refused: {_text(error)}"
        assert ours.split(":")[0] == theirs.split(":")[0], f"{manifest}\nours: {ours}\ntheirs: {theirs}"
        verdicts[ours.split(":")[0]] += 1

    judge()
    # A test of agreement means something only if both verdicts are common.
    assert min(verdicts["accepted"], verdicts["refused"]) >= 40, verdicts


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("kind: TrainingJob\n  spec: [", "error converting YAML to JSON"),
        (yaml.safe_dump(changed(MINIMAL_JOB, {"epochs": 3})), 'unknown field "spec.epochs"'),
        (yaml.safe_dump(changed(MINIMAL_JOB, {"parameters": {"epochs": "many"}})), "must be of type integer"),
        (
            yaml.safe_dump(
                changed(
                    MINIMAL_EXPERIMENT,
                    {
                        "factors": [
                            {"name": f"f{n}", "field": f"parameters.extra.f{n}", "levels": list(range(32))}
                            for n in range(20)
                        ]
                    },
                )
            ),
            "a design may have at most 10000 runs",
        ),
    ],
    ids=["no-yaml", "unknown-field", "wrong-type", "huge-design"],
)
def test_bad_input_is_refused_by_kubectl_and_nothing_is_created(
    crds: Cluster, fresh: str, namespace: str, text: str, complaint: str
) -> None:
    with pytest.raises(KubectlError) as refused:
        crds.kubectl("apply", f"--namespace={namespace}", "--filename=-", stdin=text)
    assert complaint in str(refused.value)
    assert crds.get("coxswain", fresh, f"--namespace={namespace}") == []


def test_explain_is_the_reference_manual(crds: Cluster, fresh: str) -> None:
    assert "What Coxswain may change while the job waits" in crds.kubectl("explain", fresh, "tjob.spec.adjust")
    assert "The type of the design, or of the search." in crds.kubectl("explain", fresh, "texp.spec.design.type")


def test_the_columns_people_see(crds: Cluster, fresh: str, namespace: str) -> None:
    Server(crds, namespace).create(
        MINIMAL_JOB,
        {
            "state": "Pending",
            "columns": {
                "epochs": "0/12",
                "forecast": "in 9 min",
                "deadline": "in 15 min",
                "chance": "97%",
                "adjusted": "epochs 20→12",
            },
        },
    )
    header, row = crds.kubectl("get", "tjob", fresh, f"--namespace={namespace}").splitlines()
    assert header.split() == ["NAME", "STATE", "EPOCHS", "FORECAST", "DEADLINE", "CHANCE", "ADJUSTED", "AGE"]
    assert "in 9 min" in row


def _text(error: client.ApiException) -> str:
    """What the server said, with the escapes of JSON undone."""
    return str(yaml.safe_load(error.body or "")["message"])
