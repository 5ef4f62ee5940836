"""What a job uses of its machine, read from the files the Linux kernel keeps.

CPU time, resident memory and bytes to and from storage are those of this process and its descendants. Operations of
the storage device and the time spent waiting for it are counted by the kernel per control group, which in a pod is the
container; where it counts waiting for the whole node alone, that is given and said. Network counters are those of the
network namespace, which in a pod is the pod. What the kernel does not count is absent, never a made-up zero.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PROC = Path("/proc")
CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class ProcessUsage:
    """What a process and its descendants have used so far."""

    cpu_ticks: int = 0
    resident_bytes: int = 0
    disk_read_bytes: int = 0
    disk_written_bytes: int = 0

    @property
    def cpu_seconds(self) -> float:
        """CPU time in user and system mode."""
        return self.cpu_ticks / os.sysconf("SC_CLK_TCK")

    def __add__(self, other: "ProcessUsage") -> "ProcessUsage":
        return ProcessUsage(
            self.cpu_ticks + other.cpu_ticks,
            self.resident_bytes + other.resident_bytes,
            self.disk_read_bytes + other.disk_read_bytes,
            self.disk_written_bytes + other.disk_written_bytes,
        )


@dataclass(frozen=True)
class Operations:
    """What the control group counts of the storage device."""

    reads: int
    writes: int


@dataclass(frozen=True)
class Waiting:
    """For how long processes have waited for storage, and whose: the container's, or all of the node."""

    scope: Literal["container", "node"]
    seconds: float


@dataclass(frozen=True)
class Interface:
    """The counters of one network interface."""

    name: str
    received_bytes: int
    received_packets: int
    sent_bytes: int
    sent_packets: int


@dataclass(frozen=True)
class Gpu:
    """What one GPU is doing now."""

    index: str
    busy_share: float
    memory_bytes: int


def tree(pid: int, proc: Path = PROC) -> list[int]:
    """The process and its living descendants; the kernel lists children by the thread that made them."""
    members = [pid]
    for member in members:
        for children in (proc / str(member) / "task").glob("*/children"):
            try:
                members += [int(child) for child in children.read_text().split()]
            except OSError:
                continue
    return members


def processes(pid: int | None = None, proc: Path = PROC) -> ProcessUsage:
    """The usage of a process (by default this one) and all its descendants, ended ones that were waited for too."""
    total = ProcessUsage()
    for member in tree(pid or os.getpid(), proc):
        try:
            total += _process(member, proc)
        except OSError:
            continue  # it ended while we looked
    return total


def age_seconds(proc: Path = PROC) -> float:
    """How long ago this process was started."""
    started = int(_stat(os.getpid(), proc)[19]) / os.sysconf("SC_CLK_TCK")
    return float((proc / "uptime").read_text().split()[0]) - started


def operations(proc: Path = PROC, cgroup: Path = CGROUP) -> Operations | None:
    """Operations of the storage device, as the control group counts them."""
    for controller, name, reads, writes in (
        ("", "io.stat", r"\brios=(\d+)", r"\bwios=(\d+)"),
        ("blkio", "blkio.throttle.io_serviced", r"Read (\d+)", r"Write (\d+)"),
    ):
        file = _cgroup_file(controller, name, proc, cgroup)
        if file:
            text = file.read_text()
            return Operations(*(sum(map(int, re.findall(pattern, text))) for pattern in (reads, writes)))
    return None


def waiting(proc: Path = PROC, cgroup: Path = CGROUP) -> Waiting:
    """Time in which some process waited for storage: the container's pressure, else the node's I/O wait."""
    file = _cgroup_file("", "io.pressure", proc, cgroup)
    stalled = re.search(r"^some .*total=(\d+)", file.read_text(), re.MULTILINE) if file else None
    if stalled:
        return Waiting("container", int(stalled[1]) / 1e6)
    ticks = int((proc / "stat").read_text().split()[5])
    return Waiting("node", ticks / os.sysconf("SC_CLK_TCK"))


def out_of_memory_kills(proc: Path = PROC, cgroup: Path = CGROUP) -> int:
    """How many processes of the control group the kernel has killed for want of memory."""
    for controller, name in (("", "memory.events"), ("memory", "memory.oom_control")):
        file = _cgroup_file(controller, name, proc, cgroup)
        if file:
            kills = re.search(r"^oom_kill (\d+)", file.read_text(), re.MULTILINE)
            return int(kills[1]) if kills else 0
    return 0


def network(proc: Path = PROC) -> list[Interface]:
    """The counters of every network interface this process sees."""
    interfaces = []
    for line in (proc / "self/net/dev").read_text().splitlines()[2:]:
        name, _, counters = line.partition(":")
        values = [int(value) for value in counters.split()]
        interfaces.append(Interface(name.strip(), values[0], values[1], values[8], values[9]))
    return interfaces


def gpus() -> list[Gpu]:
    """What the GPUs are doing, by nvidia-smi, which the driver's container runtime puts beside them; none without."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [program, "--query-gpu=index,utilization.gpu,memory.used", "--format=csv,noheader,nounits"]
    answer = subprocess.run(query, capture_output=True, text=True, check=False, timeout=10).stdout
    found = re.findall(r"^\s*(\d+),\s*(\d+),\s*(\d+)\s*$", answer, re.MULTILINE)
    return [Gpu(index, int(percent) / 100, int(mebibytes) * 2**20) for index, percent, mebibytes in found]


def _stat(pid: int, proc: Path) -> list[str]:
    """The fields of /proc/PID/stat from the third on: the second, the name, may hold spaces and brackets."""
    return (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _process(pid: int, proc: Path) -> ProcessUsage:
    fields = _stat(pid, proc)
    ticks = sum(int(field) for field in fields[11:15])  # user and system time, its own and of children waited for
    pages = int(fields[21])
    counters = dict(re.findall(r"^(\w+): (\d+)", (proc / str(pid) / "io").read_text(), re.MULTILINE))
    return ProcessUsage(
        ticks,
        pages * os.sysconf("SC_PAGE_SIZE"),
        int(counters["read_bytes"]),
        int(counters["write_bytes"]),
    )


def _cgroup_file(controller: str, name: str, proc: Path, cgroup: Path) -> Path | None:
    """A file of this process's control group; the empty controller is the unified hierarchy (version 2)."""
    for line in (proc / "self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            # In a container the mount begins at its own group, while the path may still be the host's.
            inside = (cgroup / controller / path.lstrip("/") / name, cgroup / controller / name)
            return next((file for file in inside if file.exists()), None)
    return None
