"""The local cluster from the command line: up, down, status, or just build what it needs."""

import argparse
import sys
import time

from tests.cluster.localcluster import binary, images, imported, lifecycle, packages, places
from tests.cluster.localcluster.errors import ClusterError


def main() -> int:
    """Do what the arguments say; a failure is a sentence and exit code 1."""
    parser = argparse.ArgumentParser(prog="localcluster", description="A Kubernetes on this machine, for tests.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="start it; prints the KUBECONFIG to export")
    commands.add_parser("down", help="stop it and remove all traces, also of a crashed run")
    commands.add_parser("status", help="say whether it runs")
    commands.add_parser("build", help="only build and cache what it needs")
    command = parser.parse_args().command
    try:
        {"up": up, "down": down, "status": status, "build": build}[command]()
    except ClusterError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def up() -> None:
    """Start the cluster and leave it running."""
    began = time.monotonic()
    lifecycle.up().say("stay")
    print(f"# Kubernetes is up after {time.monotonic() - began:.0f} s; `make cluster-down` stops it.")
    print(f"export KUBECONFIG={places.KUBECONFIG}")
    print(f"export PATH={binary.programs()}:$PATH  # kubectl and helm that fit")


def down() -> None:
    """Stop the cluster."""
    print("The local cluster is gone." if lifecycle.down() else "There is no local cluster to stop.")


def status() -> None:
    """Say what there is."""
    print(lifecycle.status())


def build() -> None:
    """Fill the caches."""
    packages.ensure()
    programs = binary.programs()
    for name in images.FOR_PODS:
        images.archive(name)
    imported.prepare()
    print(f"All that a local cluster needs is there; kubectl, helm and the rest are in {programs}")


if __name__ == "__main__":
    sys.exit(main())
