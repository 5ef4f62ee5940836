"""The programs that Debian has: looked for on the path, and the packages of those missing installed."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.cluster.localcluster.errors import ClusterError
from tests.cluster.localcluster.logs import tell

# By what each package is known to be there: a program, or a file at its full path.
PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "containernetworking-plugins": "/usr/lib/cni/bridge",
    "iptables": "iptables",
    "iproute2": "ip",
    "util-linux": "unshare",
    "buildah": "buildah",
    "mmdebstrap": "mmdebstrap",
    "busybox-static": "/var/lib/dpkg/info/busybox-static.list",  # the other busybox does not run by itself
    "openssl": "openssl",
    "ca-certificates": "/etc/ssl/certs/ca-certificates.crt",
}


def missing(present: Callable[[str], str | None]) -> list[str]:
    """The packages whose program `present` (such as shutil.which) does not find."""
    return [package for package, program in PACKAGES.items() if not present(program)]


def ensure() -> None:
    """Install what is missing."""
    wanted = missing(_find)
    if not wanted:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise ClusterError(f"Please install these first (their names in Debian): {', '.join(wanted)}.")
    tell(f"Installing {', '.join(wanted)} …")
    _apt_get(["update"])
    _apt_get(["install", "--yes", "--no-install-recommends", *wanted])


def _find(program: str) -> str | None:
    if program.startswith("/"):
        return program if Path(program).exists() else None
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _apt_get(arguments: Iterable[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(["apt-get", "-qq", *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"apt-get {' '.join(arguments)} failed:\n{(done.stdout + done.stderr).strip()}")
