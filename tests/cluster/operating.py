"""The operator as its users meet it: installed by its chart, told what to do with kubectl, seen by what it writes."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.cluster.helm import Release
from tests.cluster.kube import Cluster
from tests.cluster.localcluster import places

PATIENCE_SECONDS = 240
API_VERSION = "coxswain.dev/v1alpha1"
Manifest = dict[str, Any]

# What a worker of a user's own says at the end, without any training: for tests of everything around it. As with a
# training, what comes out follows from the seed.
WORD = (
    'printf \'{"state":"succeeded","jobUid":"%s","epochs":%s,"seconds":{"total":1.5,"startup":0.5},'
    '"result":{"loss":0.%s,"accuracy":0.8}}\' '
    '"$COXSWAIN_JOB_UID" "$COXSWAIN_EPOCHS" "$COXSWAIN_SEED" > /dev/termination-log'
)

# As the first process of a container, `sleep` alone would not listen to SIGTERM.
SLEEP = "trap 'exit 143' TERM; sleep 300 & wait"


def job(name: str, /, **spec: Any) -> Manifest:
    """A TrainingJob."""
    return {"apiVersion": API_VERSION, "kind": "TrainingJob", "metadata": {"name": name}, "spec": spec}


def shell_job(name: str, image: str, script: str, /, **spec: Any) -> Manifest:
    """A TrainingJob that runs a shell script in an image."""
    workload = {"type": "Custom", "image": image, "command": ["sh", "-c", script]}
    resources = {"coresPerWorker": "100m", "memoryPerWorker": "32Mi", **spec.pop("resources", {})}
    return job(name, workload=workload, resources=resources, **spec)


@dataclass(frozen=True)
class Operating:
    """A release of the operator, and a namespace for one test's jobs."""

    release: Release
    namespace: str

    @property
    def cluster(self) -> Cluster:
        """Where it runs."""
        return self.release.cluster

    def apply(self, *manifests: Mapping[str, Any]) -> None:
        """What a user does."""
        for manifest in manifests:
            self.cluster.kubectl("apply", f"--namespace={self.namespace}", "--filename=-", stdin=json.dumps(manifest))

    def get(self, kind: str, name: str) -> Manifest:
        """One object."""
        found: Manifest = self.cluster.get(kind, name, f"--namespace={self.namespace}")
        return found

    def all(self, kind: str, *options: str) -> list[Manifest]:
        """All objects of a kind."""
        found: list[Manifest] = self.cluster.get(kind, f"--namespace={self.namespace}", *options)
        return found

    def delete(self, kind: str, name: str, *options: str) -> None:
        """Delete an object, and wait until it is gone."""
        self.cluster.kubectl("delete", kind, name, f"--namespace={self.namespace}", *options)

    def until(self, what: str, holds: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
        """Wait until something holds, and give it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = holds()
            if found:
                return found
            time.sleep(0.3)
        raise AssertionError(f"not seen within {seconds:.0f} s: {what}\n{self.picture()}")

    def until_state(
        self, name: str, *states: str, kind: str = "trainingjob", seconds: float = PATIENCE_SECONDS
    ) -> Manifest:
        """Wait until a job or experiment is in one of some states."""

        def reached() -> Manifest | None:
            found = self.get(kind, name)
            return found if found.get("status", {}).get("state") in states else None

        found: Manifest = self.until(f"{kind} {name} {' or '.join(states)}", reached, seconds)
        return found

    def condition(self, name: str, kind: str) -> Manifest:
        """A condition of a job; empty if it has none of the type."""
        conditions = self.get("trainingjob", name).get("status", {}).get("conditions", [])
        return next((each for each in conditions if each["type"] == kind), {})

    def observations(self) -> list[Manifest]:
        """What the ledger has, as a user exports it."""
        listed = json.loads(self.cox("ledger", "list", f"--namespace={self.namespace}", "--output=json"))
        return [{**each, "job": each["observation"]["job"]} for each in listed["observations"]]

    def cox(self, *arguments: str) -> str:
        """What `cox` prints."""
        environment = {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig)}
        done = subprocess.run(
            [sys.executable, "-m", "coxswain.cli", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def picture(self) -> str:
        """All that helps to understand why something did not happen."""
        kinds = "trainingexperiments,trainingjobs,jobs,pods"
        seen = self.cluster.kubectl("get", kinds, f"--namespace={self.namespace}", "--output=wide")
        logs = self.cluster.kubectl(
            "logs", f"--namespace={self.release.namespace}", "--selector=app.kubernetes.io/name=coxswain", "--tail=40"
        )
        return f"{seen}\n{logs}"

    def kill(self) -> None:
        """End the operator without a warning; its Deployment starts another."""
        self.cluster.kubectl(
            "delete",
            "pods",
            f"--namespace={self.release.namespace}",
            "--selector=app.kubernetes.io/name=coxswain",
            "--grace-period=0",
            "--force",
        )

    @contextlib.contextmanager
    def without_operator(self) -> Iterator[None]:
        """No operator for as long as this block lasts."""
        release = self.release
        scale = ("scale", f"deployment/{release.name}", f"--namespace={release.namespace}")
        pods = ("pods", f"--namespace={release.namespace}", "--selector=app.kubernetes.io/name=coxswain")
        self.cluster.kubectl(*scale, "--replicas=0")
        try:
            self.until("its end", lambda: not self.cluster.get(*pods))
            yield
        finally:
            self.cluster.kubectl(*scale, "--replicas=1")

    def writes(self, resource: str, verbs: tuple[str, ...] = ("create", "update", "patch", "delete")) -> list[Manifest]:
        """What the operator wrote to the objects of a resource in the test's namespace, from the audit log."""
        account = f"system:serviceaccount:{self.release.namespace}:{self.release.name}"
        found = []
        for line in places.AUDIT_LOG.read_text().splitlines():
            if f'"{self.namespace}"' not in line or account not in line:
                continue
            entry = json.loads(line)
            reference = entry.get("objectRef", {})
            if (
                entry["user"]["username"] == account
                and reference.get("resource") == resource
                and reference.get("namespace") == self.namespace
                and entry["verb"] in verbs
                and entry["responseStatus"]["code"] < 300
            ):
                found.append(entry)
        return found
