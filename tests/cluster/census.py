"""What is on this machine that a cluster could leave behind.

Machines have other things to do meanwhile, so the census of processes and cgroups takes only those a cluster could have
made: processes in other namespaces than ours or with the cluster's folder in their command line, cgroups of its name.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.localcluster import machine, places

NAMESPACES = ("pid", "net", "mnt")
FOLDERS = ("/run", "/run/netns", "/var/lib", "/var/log", "/var/cache", "/etc", "/opt", "/usr/libexec")

Census = dict[str, set[str]]


def take() -> Census:
    """Everything found, by what it is."""
    return {
        "processes": set(_processes()),
        "network namespaces": {
            name for process in Path("/proc").glob("[0-9]*") if (name := _namespace(process, "net"))
        },
        "mounts": set(Path("/proc/self/mountinfo").read_text().splitlines()),
        "interfaces": {path.name for path in Path("/sys/class/net").iterdir()},
        "routes": _lines("ip", "route", "show", "table", "all") | _lines("ip", "-6", "route", "show", "table", "all"),
        "rules of iptables": _lines("iptables-save") | _lines("ip6tables-save"),
        "cgroups": {str(path) for path in machine.CGROUP_MOUNT.rglob("*") if _is_cgroup_of_a_cluster(path)},
        "files": {str(path) for folder in FOLDERS for path in Path(folder).glob("*") if path != places.LOCK},
        "kernel settings": {f"{name}={value}" for name, value in machine.kernel_settings().items()},
    }


def left_over(before: Census, after: Census) -> Census:
    """What is there now and was not, or the other way round; empty if all is as it was."""
    return {what: after[what] ^ before[what] for what in before if after[what] != before[what]}


def _processes() -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        elsewhere = any(
            (found := _namespace(process, kind)) and found != _namespace(Path("/proc/self"), kind)
            for kind in NAMESPACES
        )
        if elsewhere or str(places.STATE) in command:
            yield f"{process.name} {command}"


def _namespace(process: Path, kind: str) -> str | None:
    try:
        return str((process / "ns" / kind).readlink())
    except OSError:  # it has just ended, or has more rights than we and so is not of a cluster we started
        return None


def _is_cgroup_of_a_cluster(path: Path) -> bool:
    return path.is_dir() and bool({places.CGROUP, "kubepods"} & set(path.parts))


def _lines(*command: str) -> set[str]:
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line for line in output.splitlines() if not line.startswith("#")}
