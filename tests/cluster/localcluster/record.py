"""What a start writes down before it changes anything, so that whoever comes after a crash can undo it."""

import json
import os
import signal
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.cluster.localcluster import machine, places

PATH = places.STATE / "record.json"


@dataclass(frozen=True)
class Record:
    """The kernel's settings before the start and, once there is one, the cluster's first process."""

    boot: str
    settings: dict[str, str]
    pid: int = 0
    started: str = ""

    @classmethod
    def of_this_machine(cls) -> "Record":
        """What there is to remember before anything is changed."""
        return cls(machine.boot_id(), machine.kernel_settings())

    def with_process(self, pid: int) -> "Record":
        """The same, with the cluster's first process."""
        return replace(self, pid=pid, started=start_time(pid) or "")

    @property
    def is_alive(self) -> bool:
        """Whether the first process still runs; by its number alone it might be another one by now."""
        return self.pid > 0 and self.boot == machine.boot_id() and start_time(self.pid) == self.started

    def end_process(self) -> None:
        """End the first process, and return when it and all below it are gone."""
        try:
            handle = os.pidfd_open(self.pid) if self.pid else None
        except ProcessLookupError:
            handle = None
        if handle is not None:
            # Alive after the handle was taken: then the handle is of this process and no later one.
            if self.is_alive:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)
        while self.is_alive:
            time.sleep(0.01)

    def save(self) -> None:
        """Write the record; a reader sees the old one or the new one."""
        fresh = PATH.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self)))
        fresh.rename(PATH)


def load() -> Record | None:
    """The record of the last start, if it came as far as making one and nobody cleaned up yet."""
    return Record(**json.loads(PATH.read_text())) if PATH.exists() else None


def start_time(pid: int) -> str | None:
    """When a process started, in ticks since boot; None if it does not run (any more)."""
    try:
        # The name before, in parentheses, may hold anything; the state is the 1st field after it, the start the 20th.
        fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]
