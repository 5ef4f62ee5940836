"""Running a program to its end, with what it said in the error if it fails."""

import subprocess

from tests.cluster.localcluster.errors import ClusterError


def run(*command: str) -> str:
    """What a program prints; a ClusterError has it if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"`{' '.join(command)}` failed:\n{(done.stdout + done.stderr).strip()}")
    return done.stdout
