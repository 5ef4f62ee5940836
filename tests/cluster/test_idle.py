"""What an operator costs that has nothing to do: with many finished jobs it writes nothing but its Lease."""

import copy
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster import helm
from tests.cluster.helm import Release
from tests.cluster.localcluster import places
from tests.cluster.operating import WORD, Operating, shell_job
from tests.contract.chart import CHART

FINISHED_JOBS = 1000
SETTLE_SECONDS, WATCH_SECONDS = 60, 120
MOST_OF_A_CORE = 0.02


@pytest.fixture
def usual_settings(release: Release, image: Callable[[str], str]) -> Iterator[None]:
    """The operator as people have it, who do not look again every few seconds."""
    options = ("--wait", "--timeout=3m")
    release.upgrade({"images": helm.images(image("operator"))}, CHART, *options)
    yield
    release.upgrade(helm.quick_values(image("operator")), CHART, *options)


@pytest.mark.long
@pytest.mark.usefixtures("usual_settings")
def test_with_a_thousand_finished_jobs_and_nothing_to_do_only_the_lease_is_written(
    operating: Operating, busybox: str
) -> None:
    operating.apply(shell_job("model", busybox, WORD))
    operating.until_state("model", "Succeeded")
    operating.until("no finalizer", lambda: not operating.get("trainingjob", "model")["metadata"].get("finalizers"))
    _copy(operating, operating.get("trainingjob", "model"), FINISHED_JOBS - 1)
    time.sleep(SETTLE_SECONDS)
    began, before = time.monotonic(), _cpu_seconds(operating)
    lines = len(places.AUDIT_LOG.read_text().splitlines())
    time.sleep(WATCH_SECONDS)
    share = (_cpu_seconds(operating) - before) / (time.monotonic() - began)
    written = _written(operating, places.AUDIT_LOG.read_text().splitlines()[lines:])
    assert len(operating.all("trainingjobs")) == FINISHED_JOBS
    assert set(written) == {"leases"}
    assert share < MOST_OF_A_CORE, f"{100 * share:.1f} % of a core"


def _copy(operating: Operating, finished: dict[str, Any], copies: int) -> None:
    """As many jobs like a finished one: none of them waits, because they come with the word that they are done."""
    manifests = []
    for number in range(copies):
        manifest = copy.deepcopy(finished)
        manifest["metadata"] = {"name": f"copy-{number}"}
        manifest["spec"]["suspend"] = True
        manifests.append(manifest)
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
    options = (f"--namespace={operating.namespace}", "--server-side", "--field-manager=test", "--filename=-")
    operating.cluster.kubectl("apply", *options, stdin=everything)
    operating.cluster.kubectl("apply", *options, "--subresource=status", "--force-conflicts", stdin=everything)


def _cpu_seconds(operating: Operating) -> float:
    """What the operator says it has used."""
    namespace = operating.release.namespace
    (pod,) = operating.cluster.get("pods", f"--namespace={namespace}", "--selector=app.kubernetes.io/name=coxswain")
    path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}:8080/proxy/metrics"
    found = re.search(
        r"^process_cpu_seconds_total (\S+)", operating.cluster.kubectl("get", f"--raw={path}"), re.MULTILINE
    )
    assert found is not None
    return float(found[1])


def _written(operating: Operating, lines: list[str]) -> list[str]:
    """The kinds of objects the operator wrote to."""
    account = f"system:serviceaccount:{operating.release.namespace}:{operating.release.name}"
    entries = [json.loads(line) for line in lines if account in line]
    return [
        entry["objectRef"]["resource"]
        for entry in entries
        if entry["user"]["username"] == account and entry["verb"] not in {"get", "list", "watch"}
    ]
