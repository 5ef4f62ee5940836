"""The cluster's first process: inside the new namespaces, it starts the components in order and then waits.

Standard input is its lifeline. The starter writes `go` once the network is connected and `stay` when the cluster shall
outlive it; if the starter ends before, the line closes, this process ends, and the kernel ends everything below it.
What happens is written to `status.json`, for the starter and for `status`.
"""

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from tests.cluster.localcluster import components, places
from tests.cluster.localcluster.components import Component

STATUS = places.STATE / "status.json"
PATIENCE_SECONDS = 120


class Status:
    """What is known about the components, kept in a file that is always whole."""

    def __init__(self) -> None:
        self._exits: dict[str, int | None] = {}
        self._pids: dict[str, int] = {}
        self._phase = "starting"

    def started(self, name: str, pid: int) -> None:
        """A component runs."""
        self._pids[name], self._exits[name] = pid, None
        self._write()

    def ended(self, pid: int, code: int) -> None:
        """A child ended; most are not components but orphans of theirs."""
        for name, known in self._pids.items():
            if known == pid and self._exits[name] is None:
                self._exits[name] = code
                self._write()

    def phase(self, phase: str) -> None:
        """The whole is `running`, or has `failed`."""
        self._phase = phase
        self._write()

    def _write(self) -> None:
        content = {
            "phase": self._phase,
            "components": {name: {"pid": self._pids[name], "exit": self._exits[name]} for name in self._pids},
        }
        fresh = STATUS.with_suffix(".new")
        fresh.write_text(json.dumps(content, indent=2))
        fresh.rename(STATUS)


def main() -> None:
    """Start the components, then reap what ends, for ever."""
    if sys.stdin.readline().strip() != "go":
        return
    threading.Thread(target=_follow_lifeline, daemon=True).start()
    _mount_private_folders()
    status = Status()
    try:
        for component in components.load(places.STATE / "components.json"):
            _start(component, status)
    except NotReadyError:
        status.phase("failed")
        return
    status.phase("running")
    while True:
        pid, wait_status = os.wait()
        status.ended(pid, os.waitstatus_to_exitcode(wait_status))


class NotReadyError(Exception):
    """A component ended or did not answer in time; it is the last one in the status."""


def _follow_lifeline() -> None:
    if sys.stdin.readline().strip() != "stay":
        os._exit(1)


def _mount_private_folders() -> None:
    """Folders in which the components leave things at fixed paths, hidden from the machine."""
    for folder in ("/run", "/var/lib", "/var/log"):
        subprocess.run(["mount", "-n", "-t", "tmpfs", "-o", "mode=755", "tmpfs", folder], check=True)


def _start(component: Component, status: Status) -> None:
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    with (places.LOGS / f"{component.name}.log").open("ab") as log:
        process = subprocess.Popen(
            component.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd="/"
        )
    status.started(component.name, process.pid)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _answers(component.ready):
        if process.poll() is not None:
            status.ended(process.pid, process.returncode)
            raise NotReadyError
        if time.monotonic() > deadline:
            raise NotReadyError
        time.sleep(0.05)


def _answers(address: str) -> bool:
    try:
        if not address:
            return True
        if address.startswith("unix:"):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(address.removeprefix("unix:"))
            return True
        trust = ssl.create_default_context(cafile=components.API_CERTIFICATE) if address.startswith("https:") else None
        with urllib.request.urlopen(address, timeout=5, context=trust):  # noqa: S310 - the addresses are ours
            return True
    except (OSError, urllib.error.URLError):
        return False


if __name__ == "__main__":
    main()
