"""What is on this machine that a cluster could leave behind.

A machine has other things to do meanwhile. Interfaces, routes, rules and kernel settings hardly change by themselves:
all of them count. Of processes, namespaces, mounts, cgroups and files those count that a cluster would make, known by
the names of its folder, its programs and its cgroup, and the places where Kubernetes programs are known to write.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.localcluster import machine, places

MADE_BY_A_CLUSTER = re.compile(
    r"coxswain-cluster|coxswain/kubernetes-|localcluster\.init|kubepods|/var/lib/kubelet|/netns/"
)
PLACES = (
    *(str(places.STATE), "/run/containerd", "/run/netns", "/run/xtables.lock", "/var/log/containers", "/var/log/pods"),
    *("/var/lib/cni", "/var/lib/containerd", "/var/lib/etcd", "/var/lib/kubelet", "/etc/kubernetes"),
    *("/opt/cni", "/opt/containerd", "/usr/libexec/kubernetes"),
)

Census = dict[str, set[str]]


def take() -> Census:
    """Everything found, by what it is."""
    processes = dict(_processes())
    return {
        "processes": {f"{process.name} {command}" for process, command in processes.items()},
        "network namespaces": {_namespace(process) for process in processes} - {_namespace(Path("/proc/self")), ""},
        "mounts": {line for line in _read("/proc/self/mountinfo").splitlines() if MADE_BY_A_CLUSTER.search(line)},
        "interfaces": {path.name for path in Path("/sys/class/net").iterdir()},
        "routes": _lines("ip", "route", "show", "table", "all") | _lines("ip", "-6", "route", "show", "table", "all"),
        "rules of iptables": _lines("iptables-save") | _lines("ip6tables-save"),
        "cgroups": {str(path) for path in machine.CGROUP_MOUNT.rglob("*") if _is_cgroup_of_a_cluster(path)},
        "files": {str(path) for place in PLACES for path in (Path(place), *Path(place).glob("*")) if path.exists()},
        "kernel settings": {f"{name}={value}" for name, value in machine.kernel_settings().items()},
    }


def left_over(before: Census, after: Census) -> Census:
    """What is there now and was not, or the other way round; empty if all is as it was."""
    return {what: after[what] ^ before[what] for what in before if after[what] != before[what]}


def _processes() -> Iterator[tuple[Path, str]]:
    for process in Path("/proc").glob("[0-9]*"):
        command = _read(process / "cmdline").replace("\0", " ")
        if any(MADE_BY_A_CLUSTER.search(text) for text in (command, _read(process / "cgroup"))):
            yield process, command


def _namespace(process: Path) -> str:
    try:
        return str((process / "ns" / "net").readlink())
    except OSError:
        return ""


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:  # a process that has just ended
        return ""


def _is_cgroup_of_a_cluster(path: Path) -> bool:
    return path.is_dir() and MADE_BY_A_CLUSTER.search(str(path)) is not None


def _lines(*command: str) -> set[str]:
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line for line in output.splitlines() if not line.startswith("#")}
