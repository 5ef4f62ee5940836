"""Attempts of training jobs, applied by a test in the operator's place, and what comes out of them."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coxswain.core.api import parse_job
from coxswain.core.manifests import Attempt, batch_job, needs_service, secret, service
from coxswain.core.manifests.pods import METRICS_PORT
from tests.cluster.kube import Cluster, KubectlError

PATIENCE_SECONDS = 300


@dataclass(frozen=True)
class Training:
    """One TrainingJob in a namespace, and its attempts."""

    cluster: Cluster
    namespace: str
    image: str
    name: str
    spec: Mapping[str, Any]

    def create(self) -> None:
        """Create the TrainingJob, to which the objects of its attempts belong."""
        manifest = {"apiVersion": "coxswain.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": self.name}}
        self.cluster.create({**manifest, "spec": self.spec}, namespace=self.namespace)

    def start(self, number: int = 1) -> None:
        """Start an attempt, as the operator would: the Service first, because the pods are told its address."""
        stored = self._get("trainingjob", self.name)
        attempt = Attempt(self.name, stored["metadata"]["uid"], number, parse_job(stored).spec, self.image)
        address = None
        if needs_service(attempt.spec):
            self.cluster.create(service(attempt), namespace=self.namespace)
            address = self._get("service", attempt.name)["spec"]["clusterIP"]
        if attempt.spec.engine == "Spark":
            self.cluster.create(secret(attempt, f"{attempt.job_uid}-{number}"), namespace=self.namespace)
        self.cluster.create(batch_job(attempt, address), namespace=self.namespace)

    def wait(self, *conditions: str, number: int = 1) -> None:
        """Wait until the attempt's Job is Complete or Failed; if it is not, the complaint has the pods' last words."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            found = self._get("job", f"{self.name}-{number}").get("status", {}).get("conditions", [])
            reached = {each["type"] for each in found if each["status"] == "True"}
            if reached.intersection(conditions):
                return
            if reached & {"Complete", "Failed"}:
                break
            time.sleep(0.5)
        raise AssertionError(f"{self.name}-{number} is not {' or '.join(conditions)}: {self.last_words(number)}")

    def pods(self, number: int = 1) -> list[dict[str, Any]]:
        """The attempt's pods in the order of their index."""
        selector = f"--selector=coxswain.dev/job={self.name},coxswain.dev/attempt={number}"
        found = self.cluster.get("pods", selector, f"--namespace={self.namespace}")
        return sorted(found, key=lambda pod: pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])

    def last_words(self, number: int = 1) -> list[dict[str, Any]]:
        """How each pod's container ended, or what it is waiting for."""
        return [pod["status"].get("containerStatuses", [{}])[0].get("state", {}) for pod in self.pods(number)]

    def result(self, number: int = 1) -> dict[str, Any]:
        """What the first worker said in its termination message."""
        result: dict[str, Any] = json.loads(self.last_words(number)[0]["terminated"]["message"])
        return result

    def scrape(self, epochs: int = 1, number: int = 1) -> str:
        """The metrics of the first worker, once it has trained so many epochs and while it trains on."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            metrics = self._metrics(number)
            trained = re.search(r"^coxswain_worker_epochs (\S+)$", metrics, re.MULTILINE)
            if trained and float(trained[1]) >= epochs:
                return metrics
            if any("terminated" in word for word in self.last_words(number)):
                break
            time.sleep(0.2)
        raise AssertionError(f"{self.name}-{number} was not seen after {epochs} epochs: {self.last_words(number)}")

    def _metrics(self, number: int) -> str:
        pods = self.pods(number)
        if not pods:
            return ""
        address = f"/api/v1/namespaces/{self.namespace}/pods/{pods[0]['metadata']['name']}:{METRICS_PORT}/proxy/metrics"
        try:
            return self.cluster.kubectl("get", f"--raw={address}")
        except KubectlError:
            return ""

    def _get(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.cluster.get(kind, name, f"--namespace={self.namespace}")
        return found
