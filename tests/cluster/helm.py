"""The chart as tests install it: `helm` with its complaints as errors, and a release that vanishes with the test."""

import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.kube import Cluster
from tests.cluster.localcluster import binary
from tests.contract.chart import CHART


class HelmError(Exception):
    """helm said no; the message is what it said."""


def helm(*arguments: str, stdin: str | None = None, kubeconfig: Path | None = None) -> str:
    """What helm prints; a HelmError with its complaint if it fails."""
    program = shutil.which("helm") or str(binary.programs() / "helm")
    options = [f"--kubeconfig={kubeconfig}"] if kubeconfig else []
    done = subprocess.run([program, *options, *arguments], input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise HelmError(done.stderr.strip())
    return done.stdout


@dataclass(frozen=True)
class Release:
    """Coxswain as the chart installs it, under a name and in a namespace."""

    cluster: Cluster
    namespace: str
    name: str = "coxswain"

    def upgrade(self, values: Mapping[str, Any], chart: Path = CHART, *options: str) -> None:
        """Install it, or bring it to other values or another chart.

        The CRDs may be there already, applied with kubectl by other tests; the chart takes them over.
        """
        take_over = ("--take-ownership", "--force-conflicts", "--server-side=true")
        arguments = ("upgrade", "--install", self.name, str(chart), f"--namespace={self.namespace}", "--values=-")
        helm(*arguments, *take_over, *options, stdin=json.dumps(values), kubeconfig=self.cluster.kubeconfig)

    def uninstall(self) -> None:
        """Remove all that the chart removes; the CRDs stay."""
        helm("uninstall", self.name, f"--namespace={self.namespace}", "--wait", kubeconfig=self.cluster.kubeconfig)


@contextlib.contextmanager
def installed(
    cluster: Cluster, namespace: str, values: Mapping[str, Any], *options: str, name: str = "coxswain"
) -> Iterator[Release]:
    """A release that is uninstalled at the end, however it ends."""
    release = Release(cluster, namespace, name)
    try:
        release.upgrade(values, CHART, *options)
        yield release
    finally:
        release.uninstall()


def images(reference: str) -> dict[str, str]:
    """The chart's `images` for an operator's image of this name; the workers' are beside it."""
    registry, _, image = reference.rpartition("/")
    return {"registry": registry, "tag": image.partition(":")[2], "pullPolicy": "IfNotPresent"}


def quick_values(operator: str) -> dict[str, Any]:
    """Values for an operator of this image that is quick to notice and to take over."""
    settings = {
        "scrape": {"intervalSeconds": 1},
        "resyncSeconds": 10,
        "refitDebounceSeconds": 1,
        "lease": {"durationSeconds": 8, "renewSeconds": 6, "retrySeconds": 1},
    }
    return {"images": images(operator), "settings": settings}
