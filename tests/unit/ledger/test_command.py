"""`cox ledger` without a cluster; what it does with one is tried in the cluster tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

UNREACHABLE = {
    "current-context": "away",
    "contexts": [{"name": "away", "context": {"cluster": "away", "user": "me"}}],
    "clusters": [{"name": "away", "cluster": {"server": "http://127.0.0.1:9"}}],
    "users": [{"name": "me", "user": {}}],
}


@pytest.mark.parametrize(
    ("kubeconfig", "says"),
    [
        (None, "no kubeconfig says which cluster to ask"),
        ("", "no kubeconfig says which cluster to ask"),
        ("contexts: [", "no kubeconfig says which cluster to ask"),
        (json.dumps(UNREACHABLE), "the API server cannot be reached"),
    ],
    ids=["none", "empty", "not-yaml", "unreachable"],
)
def test_without_a_cluster_it_says_so_in_one_sentence(tmp_path: Path, kubeconfig: str | None, says: str) -> None:
    file = tmp_path / "kubeconfig"
    if kubeconfig is not None:
        file.write_text(kubeconfig)
    done = subprocess.run(
        [sys.executable, "-m", "coxswain.cli", "ledger", "list"],
        env={**os.environ, "KUBECONFIG": str(file)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
