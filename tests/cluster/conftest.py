"""What all cluster tests share: a cluster, namespaces in it, and images its pods can run.

The cluster is a local one, started once for all tests and taken down at the end, or the one that
COXSWAIN_TEST_KUBECONFIG names. Tests of the local cluster's own start and end come first, while no other runs; those
that have the operator installed come last.
"""

import functools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster import conditions, helm
from tests.cluster.helm import Release
from tests.cluster.kube import Cluster
from tests.cluster.localcluster import binary, images, lifecycle, places
from tests.cluster.localcluster.errors import ClusterError
from tests.cluster.operating import Operating
from tests.contract.crds import FOLDER

HERE = Path(__file__).parent
REASON_TO_SKIP = conditions.reason_to_skip(sys.platform, getattr(os, "geteuid", lambda: -1)(), os.environ)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, skip them where they cannot run, and put them into an order that works."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.cluster)
            if REASON_TO_SKIP and not conditions.skip_is_failure(os.environ):
                item.add_marker(pytest.mark.skip(reason=REASON_TO_SKIP))
    if os.environ.get(conditions.OTHER_CLUSTER):
        config.hook.pytest_deselected(items=[item for item in items if _uses(item, "no_cluster", "local_cluster")])
        items[:] = [item for item in items if not _uses(item, "no_cluster", "local_cluster")]
    # An operator looks after every job in the cluster: those that tests run by hand have to be done before.
    items.sort(key=lambda item: (not _uses(item, "no_cluster"), _uses(item, "release")))


def _uses(item: pytest.Item, *fixtures: str) -> bool:
    return not set(fixtures).isdisjoint(getattr(item, "fixturenames", ()))


def pytest_runtest_setup() -> None:
    """Fail where a skip is not allowed."""
    if REASON_TO_SKIP:
        pytest.fail(REASON_TO_SKIP, pytrace=False)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The cluster for this run of the tests."""
    if other := os.environ.get(conditions.OTHER_CLUSTER):
        yield Cluster(Path(other), shutil.which("kubectl") or str(binary.programs() / "kubectl"), is_local=False)
        return
    try:
        with lifecycle.running():
            yield Cluster(places.KUBECONFIG, str(binary.programs() / "kubectl"), is_local=True)
    except ClusterError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


@pytest.fixture(scope="session")
def crds(cluster: Cluster) -> Cluster:
    """The cluster with both CRDs, applied client-side as most people do."""
    cluster.kubectl("apply", f"--filename={FOLDER}")
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"--filename={FOLDER}")
    return cluster


@pytest.fixture
def local_cluster(cluster: Cluster) -> Cluster:
    """The cluster, for what holds on the local one alone."""
    return cluster


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace of the test's own, under the restricted Pod Security Standard."""
    with cluster.namespace() as name:
        yield name


@pytest.fixture(scope="session")
def image(cluster: Cluster) -> Callable[[str], str]:
    """Give the image of that name in images/ to the cluster; the answer is what pods call it.

    Another cluster finds its images in a registry of its own, COXSWAIN_TEST_REGISTRY; putting them there is not ours.
    """

    @functools.cache
    def give(name: str) -> str:
        if cluster.is_local:
            images.load(name)
            return images.reference(name)
        if registry := os.environ.get(conditions.OTHER_REGISTRY):
            return images.reference(name, registry)
        pytest.fail(
            f"Say in {conditions.OTHER_REGISTRY} where the other cluster finds the image {name}.", pytrace=False
        )

    return give


@pytest.fixture(scope="session")
def busybox(image: Callable[[str], str]) -> str:
    """An image with a shell."""
    return image("busybox")


@pytest.fixture
def no_cluster() -> Iterator[None]:
    """For tests that start and end the local cluster themselves; nothing of it is left when they are done."""
    if lifecycle.is_running():
        pytest.fail(f"This test needs a machine without a local cluster. {lifecycle.status()}", pytrace=False)
    lifecycle.down()
    yield
    lifecycle.down()


@pytest.fixture(scope="session")
def release(cluster: Cluster, image: Callable[[str], str]) -> Iterator[Release]:
    """The operator, installed by its chart, quick to notice and to take over."""
    for name in ("worker-torch", "busybox"):
        image(name)
    values = helm.quick_values(image("operator"))
    with cluster.namespace() as name, helm.installed(cluster, name, values, "--wait", "--timeout=3m") as made:
        yield made


@pytest.fixture
def operating(release: Release, namespace: str) -> Operating:
    """The operator, with a namespace for the test's own jobs."""
    return Operating(release, namespace)


@pytest.fixture
def gpus(local_cluster: Cluster) -> Iterator[int]:
    """So many GPUs, which the node claims to have."""
    (node,) = local_cluster.get("nodes")
    name = node["metadata"]["name"]
    patch = '[{"op": "%s", "path": "/status/capacity/nvidia.com~1gpu"%s}]'
    local_cluster.kubectl(
        "patch", "node", name, "--subresource=status", "--type=json", "--patch", patch % ("add", ', "value": "3"')
    )
    yield 3
    local_cluster.kubectl(
        "patch", "node", name, "--subresource=status", "--type=json", "--patch", patch % ("remove", "")
    )
