"""What the operator does when the watches it is woken by lose news: it finds out by itself, and nothing is held twice.

The operator runs as a process here, because what it talks to must be able to fail.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.helm import Release
from tests.cluster.kube import Cluster
from tests.cluster.operating import SLEEP, WORD, Operating, shell_job
from tests.cluster.unreliable import UnreliableApi, unreliable

# Room for one of the jobs below at a time: a ghost would keep all others from starting.
QUEUE = {"name": "default", "cores": 0.15, "gpus": 0}


@pytest.fixture
def flaky(crds: Cluster, namespace: str, tmp_path: Path) -> Iterator[tuple[Operating, UnreliableApi]]:
    """An operator for the test's namespace, and the API server it sees the cluster through."""
    settings = {
        "namespaces": [namespace],
        "queues": [QUEUE],
        "images": {"torch": "none", "spark": "none"},
        "resyncSeconds": 5,
        "lease": {"namespace": namespace, "durationSeconds": 8, "renewSeconds": 6, "retrySeconds": 1},
        "metricsPort": _free_port(),
        "healthPort": _free_port(),
        "logFormat": "text",
    }
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump(settings))
    with unreliable(crds) as (api, kubeconfig):
        command = [sys.executable, "-m", "coxswain", f"--settings={tmp_path / 'settings.yaml'}"]
        process = subprocess.Popen(command, env={**os.environ, "KUBECONFIG": str(kubeconfig)})
        try:
            yield Operating(Release(crds, namespace), namespace), api
        finally:
            process.terminate()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_what_silent_watches_did_not_tell_is_found_and_no_ghost_holds_capacity(
    flaky: tuple[Operating, UnreliableApi], busybox: str
) -> None:
    operating, api = flaky
    operating.apply(shell_job("before", busybox, WORD))
    operating.until_state("before", "Succeeded")
    api.silent = True
    operating.apply(shell_job("unseen", busybox, WORD))
    operating.until_state("unseen", "Succeeded")
    operating.apply(shell_job("holder", busybox, SLEEP))
    operating.until_state("holder", "Running")
    operating.apply(shell_job("next", busybox, WORD))
    operating.delete("trainingjob", "holder")
    operating.until_state("next", "Succeeded")
    assert {entry["job"] for entry in operating.observations()} == {"before", "unseen", "next"}


def test_watches_that_expired_begin_anew_and_what_went_meanwhile_is_gone(
    flaky: tuple[Operating, UnreliableApi], busybox: str
) -> None:
    operating, api = flaky
    operating.apply(shell_job("holder", busybox, SLEEP), shell_job("next", busybox, WORD))
    operating.until_state("holder", "Running")
    api.silent = True
    operating.delete("trainingjob", "holder", "--wait=false")
    time.sleep(1)
    # Every watch is told so at its next news, and at its next try, before it hears anything again.
    api.silent, api.expired = False, 8
    operating.until_state("next", "Succeeded")
    operating.apply(shell_job("last", busybox, WORD))
    operating.until_state("last", "Succeeded")
    assert api.refused
    assert {len(job["status"]["attempts"]) for job in operating.all("trainingjobs")} == {1}
