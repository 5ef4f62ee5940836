"""A cluster as tests see it: kubectl with its answers as values, and namespaces that vanish with the test."""

import contextlib
import json
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"


class KubectlError(Exception):
    """kubectl said no; the message is what it said."""


@dataclass(frozen=True)
class Cluster:
    """A cluster that is ready for tests; local if it was started for them."""

    kubeconfig: Path
    program: str
    is_local: bool

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """What kubectl prints; a KubectlError with its complaint if it fails."""
        done = subprocess.run(
            [self.program, f"--kubeconfig={self.kubeconfig}", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise KubectlError(done.stderr.strip())
        return done.stdout

    def get(self, *arguments: str) -> Any:
        """What `kubectl get` finds, as values: an object, or of many the list."""
        found = json.loads(self.kubectl("get", *arguments, "--output=json"))
        return found["items"] if found["kind"] == "List" else found

    def create(self, *manifests: Mapping[str, Any], namespace: str) -> None:
        """Create objects in a namespace."""
        for manifest in manifests:
            self.kubectl("create", f"--namespace={namespace}", "--filename=-", stdin=json.dumps(manifest))

    @contextlib.contextmanager
    def namespace(self) -> Iterator[str]:
        """A new namespace under the restricted Pod Security Standard, removed with all in it at the end."""
        name = f"test-{uuid.uuid4().hex[:8]}"
        self.kubectl("create", "namespace", name)
        try:
            self.kubectl("label", "namespace", name, RESTRICTED)
            # Pods are refused until the controllers have made the account they run as.
            self.kubectl("wait", "--for=create", "--timeout=60s", f"--namespace={name}", "serviceaccount/default")
            yield name
        finally:
            self.kubectl("delete", "namespace", name, "--wait=false")
