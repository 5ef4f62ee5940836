"""What the cluster changes outside its namespaces, and how each change is undone.

Three things: a cgroup of our name in every hierarchy, a pair of virtual interfaces with the routes into the cluster,
and the kernel settings a kubelet insists on. Undoing works from what is found, not from what is remembered, except for
the settings, whose former values have to be kept.
"""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.cluster.localcluster import places
from tests.cluster.localcluster.errors import ClusterError

CGROUP_MOUNT = Path("/sys/fs/cgroup")

# A kubelet sets these for the whole machine; the network's settings belong to the namespace and vanish with it.
KERNEL_SETTINGS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)


def boot_id() -> str:
    """What tells this run of the kernel from the ones before it."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def kernel_settings() -> dict[str, str]:
    """The present values of the settings a kubelet changes."""
    return {name: Path("/proc/sys", name).read_text().strip() for name in KERNEL_SETTINGS}


def restore_kernel_settings(values: Mapping[str, str]) -> None:
    """Set back what a kubelet changed."""
    for name, value in values.items():
        setting = Path("/proc/sys", name)
        if setting.read_text().strip() != value:
            setting.write_text(value)


def make_cgroups() -> None:
    """Our cgroup in every hierarchy (version 1), or with every controller (version 2)."""
    for hierarchy in _hierarchies():
        cgroup = hierarchy / places.CGROUP
        cgroup.mkdir(exist_ok=True)
        for parent in (hierarchy, cgroup):
            if (parent / "cgroup.subtree_control").exists():
                controllers = (parent / "cgroup.controllers").read_text().split()
                (parent / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in controllers))


def remove_cgroups(patience: float = 10) -> None:
    """Remove our cgroups; a process that was just killed may keep one busy for a moment."""
    deadline = time.monotonic() + patience
    for hierarchy in _hierarchies():
        for cgroup in _deepest_first(hierarchy / places.CGROUP):
            while True:
                try:
                    cgroup.rmdir()
                except OSError as error:
                    if time.monotonic() > deadline:
                        raise ClusterError(f"The cgroup {cgroup} cannot be removed: {error.strerror}.") from error
                    time.sleep(0.05)
                else:
                    break


def _hierarchies() -> list[Path]:
    if (CGROUP_MOUNT / "cgroup.controllers").exists():
        return [CGROUP_MOUNT]
    return [path for path in sorted(CGROUP_MOUNT.iterdir()) if path.is_dir() and not path.is_symlink()]


def _deepest_first(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        for child in folder.iterdir():
            if child.is_dir():
                yield from _deepest_first(child)
        yield folder


def connect(init_pid: int) -> None:
    """Link this machine with the cluster's network namespace and route the cluster's ranges there.

    Inside there is no default route: no packet of a pod leaves this machine.
    """
    here, there = places.HOST_INTERFACE, "eth0"
    inside = ("nsenter", "--target", str(init_pid), "--net", "--")
    _run("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", str(init_pid))
    _run("ip", "address", "add", f"{places.HOST_ADDRESS}/24", "dev", here)
    _run("ip", "link", "set", here, "up")
    _run(*inside, "ip", "link", "set", "lo", "up")
    _run(*inside, "ip", "address", "add", f"{places.NODE_ADDRESS}/24", "dev", there)
    _run(*inside, "ip", "link", "set", there, "up")
    for addresses in (places.POD_RANGE, places.SERVICE_RANGE):
        _run("ip", "route", "add", addresses, "via", places.NODE_ADDRESS)
        _run(*inside, "ip", "route", "add", "blackhole", addresses, "metric", "4096")


def check_addresses_free() -> None:
    """Refuse to start where the cluster's addresses are someone else's."""
    wanted = f"{places.HOST_ADDRESS}/15"
    found = json.loads(_run("ip", "-json", "route", "show", "root", wanted) or "[]")
    if found:
        raise ClusterError(
            f"The addresses 198.18.0.0/15, which the local cluster uses, have a route on this machine already "
            f"({found[0]}): remove that, or run the tests on another cluster with COXSWAIN_TEST_KUBECONFIG."
        )


def disconnect() -> None:
    """Remove the link into the cluster, and with it its routes."""
    interface = Path("/sys/class/net", places.HOST_INTERFACE)
    try:
        if interface.exists():
            _run("ip", "link", "delete", places.HOST_INTERFACE)
    except ClusterError:
        if interface.exists():  # else it went by itself just now, as it does some time after its other end
            raise


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    return done.stdout
