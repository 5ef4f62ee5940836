"""The chart on a real API server: what it renders, installs and upgrades, and what the operator may and may not do."""

import itertools
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from coxswain.shell import settings
from tests.cluster.helm import HelmError, Release, helm, images, installed
from tests.cluster.kube import Cluster
from tests.contract.chart import CHART, COPIES
from tests.contract.crds import JOBS

Right = tuple[str, str, str]
"""A verb, an API group, and a resource; a subresource or a name after it."""

WAIT_SECONDS = 120
REGISTRY = {"images": {"registry": "registry.test/coxswain"}}
NOTHING_RUNS = {**REGISTRY, "replicas": 0}


def rights(verbs: str, group: str, *resources: str) -> list[Right]:
    return [(verb, group, resource) for verb, resource in itertools.product(verbs.split(), resources)]


NEEDED = [
    *rights("get list watch create patch delete", "coxswain.dev", "trainingjobs", "trainingexperiments"),
    *rights("update patch", "coxswain.dev", "trainingjobs/status", "trainingexperiments/status"),
    *rights("update", "coxswain.dev", "trainingjobs/finalizers", "trainingexperiments/finalizers"),
    *rights("get list watch create patch delete", "batch", "jobs"),
    *rights("get list watch", "", "pods"),
    *rights("get create delete", "", "services"),
    *rights("create delete", "", "secrets"),
    *rights("get list create patch delete", "", "configmaps"),
    *rights("list create patch", "", "events"),
]
NEEDED_OF_THE_CLUSTER = [*rights("get list watch", "", "nodes"), ("list", "", "pods")]
REFUSED = [
    *rights("get list watch update patch", "", "secrets"),
    *rights("create update patch delete", "", "pods", "pods/exec", "pods/ephemeralcontainers", "nodes", "namespaces"),
    *rights("create", "", "serviceaccounts", "serviceaccounts/token"),
    *rights("create update patch delete", "rbac.authorization.k8s.io", "roles", "rolebindings", "clusterroles"),
    *rights("create update patch delete", "apps", "deployments", "daemonsets"),
    *rights("get update patch delete", "apiextensions.k8s.io", "customresourcedefinitions"),
    *rights("deletecollection", "batch", "jobs"),
    *rights("deletecollection", "coxswain.dev", "trainingjobs"),
    *rights("get update", "coordination.k8s.io", "leases//another"),
    *rights("impersonate", "", "users"),
]


def verdicts(cluster: Cluster, user: str, namespace: str, asked: list[Right], *groups: str) -> dict[Right, bool]:
    """What the API server would allow a user in a namespace; in no namespace if it is empty."""
    reviews = []
    for verb, group, place in asked:
        resource, subresource, name = (*place.split("/"), "", "")[:3]
        attributes = {"verb": verb, "group": group, "resource": resource, "subresource": subresource, "name": name}
        spec = {"user": user, "groups": groups, "resourceAttributes": {**attributes, "namespace": namespace}}
        reviews.append({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec})
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": reviews})
    answers = cluster.kubectl("create", "--filename=-", "--output=jsonpath={.status.allowed} ", stdin=given).split()
    return {right: answer == "true" for right, answer in zip(asked, answers, strict=True)}


def operator_may(release: Release, namespace: str, asked: list[Right]) -> dict[Right, bool]:
    """The same for the operator's own account."""
    account = f"system:serviceaccount:{release.namespace}:{release.name}"
    return verdicts(release.cluster, account, namespace, asked, "system:serviceaccounts", "system:authenticated")


def rendered(values: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that the chart makes of values."""
    text = helm("template", "coxswain", str(CHART), "--namespace=operators", "--values=-", stdin=json.dumps(values))
    return [document for document in yaml.safe_load_all(text) if document]


def test_helm_finds_nothing_to_complain_about() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART), "--values=-", stdin=json.dumps(REGISTRY))


def test_the_rendered_settings_are_ones_that_the_operator_takes() -> None:
    (config_map,) = (each for each in rendered(REGISTRY) if each["kind"] == "ConfigMap")
    found = settings.parse(yaml.safe_load(config_map["data"]["settings.yaml"]))
    assert found.images.torch == f"registry.test/coxswain/worker-torch:{_version()}"
    assert (found.lease.name, found.lease.namespace) == ("coxswain", "operators")
    assert found.scrape == settings.Scrape()


def _version() -> str:
    version: str = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    return version


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({}, "images.registry: say where the images are"),
        ({**REGISTRY, "setings": {}}, "additional properties 'setings' not allowed"),
        ({**REGISTRY, "settings": {"workers": 0}}, "/settings/workers"),
        ({**REGISTRY, "settings": {"scrape": {"interval": 5}}}, "additional properties 'interval' not allowed"),
        ({**REGISTRY, "settings": {"queues": [{"cores": 4}]}}, "missing property 'name'"),
    ],
)
def test_values_that_make_no_sense_are_refused_before_anything_is_installed(
    values: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(HelmError) as refused:
        rendered(values)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(("amount", "sees_all_pods"), [("auto", True), (4, False), (0, False)])
def test_other_people_s_pods_are_seen_only_where_a_queue_depends_on_them(
    amount: str | int, *, sees_all_pods: bool
) -> None:
    queues = [{"name": "default", "cores": amount, "gpus": 0}]
    documents = rendered({**REGISTRY, "settings": {"namespaces": ["team"], "queues": queues}})
    (capacity,) = (
        each for each in documents if each["metadata"]["name"] == "coxswain-operators-capacity" and "rules" in each
    )
    assert any(rule["resources"] == ["pods"] for rule in capacity["rules"]) is sees_all_pods


@pytest.fixture(scope="module")
def everywhere(cluster: Cluster) -> Iterator[Release]:
    """The chart for all namespaces, with no operator running."""
    with cluster.namespace() as namespace, installed(cluster, namespace, NOTHING_RUNS) as release:
        yield release


def test_the_operator_may_do_what_it_needs_and_nothing_else(everywhere: Release, namespace: str) -> None:
    allowed = operator_may(everywhere, namespace, NEEDED) | operator_may(everywhere, "", NEEDED_OF_THE_CLUSTER)
    assert [right for right, is_allowed in allowed.items() if not is_allowed] == []
    refused = operator_may(everywhere, namespace, REFUSED)
    assert [right for right, is_allowed in refused.items() if is_allowed] == []


def test_the_lease_is_the_operator_s_own_and_no_other(everywhere: Release, namespace: str) -> None:
    own = [
        ("create", "coordination.k8s.io", "leases"),
        *rights("get update", "coordination.k8s.io", "leases//coxswain"),
    ]
    assert all(operator_may(everywhere, everywhere.namespace, own).values())
    assert not any(operator_may(everywhere, namespace, own).values())


def test_rights_end_at_the_namespaces_given(cluster: Cluster, namespace: str) -> None:
    with cluster.namespace() as team:
        values = {**NOTHING_RUNS, "settings": {"namespaces": [team]}}
        with installed(cluster, namespace, values, name="coxswain-team") as release:
            inside, outside = operator_may(release, team, NEEDED), operator_may(release, namespace, NEEDED)
            assert [right for right, is_allowed in inside.items() if not is_allowed] == []
            # The requests of all pods count for `auto`.
            assert [right for right, is_allowed in outside.items() if is_allowed] == [("list", "", "pods")]


def test_who_may_edit_a_namespace_may_edit_its_jobs_and_who_may_view_sees_them(
    everywhere: Release, namespace: str
) -> None:
    cluster = everywhere.cluster
    for role in ("view", "edit"):
        cluster.kubectl(
            "create", "rolebinding", role, f"--clusterrole={role}", f"--user={role}er", f"--namespace={namespace}"
        )
    see, change = (
        rights("get list watch", "coxswain.dev", "trainingjobs"),
        rights("create", "coxswain.dev", "trainingjobs"),
    )
    status = rights("update patch", "coxswain.dev", "trainingjobs/status")

    def as_expected() -> bool:
        viewer = verdicts(cluster, "viewer", namespace, [*see, *change, *status])
        editor = verdicts(cluster, "editer", namespace, [*see, *change, *status])
        return list(viewer.values()) == [True] * 3 + [False] * 3 and list(editor.values()) == [True] * 4 + [False] * 2

    eventually(as_expected)  # a controller adds the chart's roles to Kubernetes' own


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    until = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < until, f"not within {WAIT_SECONDS} s"
        time.sleep(0.5)


def test_an_upgrade_upgrades_the_crds_and_an_uninstall_leaves_them(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    newer = tmp_path / "coxswain"
    shutil.copytree(CHART, newer)
    crd = newer / COPIES[JOBS].relative_to(CHART)
    column = "    - {name: Newer, type: string, jsonPath: .status.state}\n"
    crd.write_text(crd.read_text().replace("    schema:\n", column + "    schema:\n", 1))

    def columns() -> list[str]:
        found = cluster.get("crd", "trainingjobs.coxswain.dev")["spec"]["versions"][0]["additionalPrinterColumns"]
        return [each["name"] for each in found]

    with installed(cluster, namespace, NOTHING_RUNS, name="coxswain-upgraded") as release:
        before = columns()
        release.upgrade(NOTHING_RUNS, newer)
        assert columns() == [*before, "Newer"]
        release.upgrade(NOTHING_RUNS)
        assert columns() == before
    assert columns() == before


@pytest.fixture
def running(cluster: Cluster, namespace: str, image: Callable[[str], str]) -> Iterator[Release]:
    """Two operators for a namespace under the restricted Pod Security Standard."""
    quick = {"durationSeconds": 6, "renewSeconds": 4, "retrySeconds": 1}
    values = {"images": images(image("operator")), "replicas": 2}
    values["settings"] = {"namespaces": [namespace], "lease": quick, "logFormat": "text"}
    values["resources"] = {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}}
    with installed(cluster, namespace, values) as release:
        yield release


@pytest.mark.long
def test_two_operators_are_ready_one_leads_and_the_other_follows(running: Release) -> None:
    cluster, here = running.cluster, f"--namespace={running.namespace}"
    cluster.kubectl("rollout", "status", here, f"--timeout={WAIT_SECONDS}s", "deployment/coxswain")

    def holder() -> str:
        found: str = cluster.get(here, "lease", "coxswain")["spec"].get("holderIdentity") or ""
        return found

    def leads() -> dict[str, bool]:
        names = [pod["metadata"]["name"] for pod in cluster.get(here, "pods")]
        path = f"/api/v1/namespaces/{running.namespace}/pods/{{}}:8080/proxy/metrics"
        return {name: "\ncoxswain_leader 1.0\n" in cluster.kubectl("get", "--raw", path.format(name)) for name in names}

    eventually(lambda: sorted(leads().values()) == [False, True])
    (first,) = (name for name, is_leading in leads().items() if is_leading)
    assert holder().startswith(first)

    cluster.kubectl("delete", "pod", here, first, "--wait=false")

    eventually(lambda: holder() != "" and not holder().startswith(first))
    cluster.kubectl("rollout", "status", here, f"--timeout={WAIT_SECONDS}s", "deployment/coxswain")
