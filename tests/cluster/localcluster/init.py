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
import urllib.request

from tests.cluster.localcluster import components, credentials, places
from tests.cluster.localcluster.components import Component

STATUS = places.STATE / "status.json"
PATIENCE_SECONDS = 120


class NotReadyError(Exception):
    """A component ended or did not answer in time; it is the last one in the status."""


class Status:
    """What became of the components, kept in a file that is whole at any moment."""

    def __init__(self) -> None:
        self._phase = "starting"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._exits: dict[str, int] = {}

    def started(self, name: str, process: "subprocess.Popen[bytes]") -> None:
        """A component runs."""
        self._processes[name] = process
        self._write()

    def ended(self, pid: int, code: int) -> None:
        """A child ended; it need not be a component: orphans of any depth become children of a first process."""
        for name, process in self._processes.items():
            if process.pid == pid:
                self._exits[name] = code
                self._write()

    def enter(self, phase: str) -> None:
        """The whole is `running`, or has `failed`."""
        self._phase = phase
        self._write()

    def _write(self) -> None:
        parts = {name: {"pid": process.pid, "exit": self._exits.get(name)} for name, process in self._processes.items()}
        fresh = STATUS.with_suffix(".new")
        fresh.write_text(json.dumps({"phase": self._phase, "components": parts}, indent=2))
        fresh.rename(STATUS)


def main() -> None:
    """Start the components, then reap whatever ends, for ever."""
    if sys.stdin.readline().strip() != "go":
        return
    threading.Thread(target=_follow_lifeline, daemon=True).start()
    _hide_folders()
    status = Status()
    try:
        for component in components.load():
            _start(component, status)
    except NotReadyError:
        status.enter("failed")
        return
    status.enter("running")
    while True:
        pid, how = os.wait()
        status.ended(pid, os.waitstatus_to_exitcode(how))


def _follow_lifeline() -> None:
    if sys.stdin.readline().strip() != "stay":
        os._exit(1)


def _hide_folders() -> None:
    """Fresh folders, seen by the cluster alone, where its programs leave things at paths nobody can choose."""
    for folder in ("/run", "/var/lib", "/var/log"):
        subprocess.run(["mount", "--no-mtab", "-t", "tmpfs", "-o", "mode=755", "tmpfs", folder], check=True)


def _start(component: Component, status: Status) -> None:
    environment = {"PATH": f"{sys.argv[1]}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    with (places.LOGS / f"{component.name}.log").open("ab") as log:
        process = subprocess.Popen(
            component.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd="/"
        )
    status.started(component.name, process)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _answers(component.ready):
        if process.poll() is not None:
            status.ended(process.pid, process.returncode)
            raise NotReadyError
        if time.monotonic() > deadline:
            raise NotReadyError
        time.sleep(0.05)


def _answers(address: str) -> bool:
    scheme, _, rest = address.partition(":")
    try:
        match scheme:
            case "unix":
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(rest)
            case "tcp":
                socket.create_connection(("127.0.0.1", int(rest))).close()
            case _:
                trust = ssl.create_default_context(cafile=credentials.API_CERTIFICATE) if scheme == "https" else None
                urllib.request.urlopen(address, timeout=5, context=trust).close()  # noqa: S310 - the addresses are ours
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
