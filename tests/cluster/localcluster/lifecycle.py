"""Up, down and status of the one local cluster a machine can have.

The record says what a start is about to change; it is on disk before the first change, and the state folder with it is
the last thing `down` removes. So whatever crashes, the next `up` or `down` knows what to undo.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.localcluster import binary, components, images, init, machine, packages, places
from tests.cluster.localcluster.errors import ClusterError

RECORD = places.STATE / "record.json"
LINES_OF_LOG = 20


@dataclass
class Running:
    """A cluster that was just started; it ends when this process does, unless told to stay."""

    init: "subprocess.Popen[str]"

    def stay(self) -> None:
        """Let the cluster outlive this process."""
        assert self.init.stdin is not None
        self.init.stdin.write("stay\n")
        self.init.stdin.close()


def up() -> Running:
    """Start the cluster; on return its node is ready. What a crashed run left is removed first."""
    _check_rights()
    with _lock():
        _refuse_second()
        packages.ensure()
        programs = binary.programs()
        archives = [images.busybox()]
        _clean()
        try:
            return _start(programs, archives)
        except BaseException:
            _clean()
            raise


def down() -> bool:
    """Take the cluster down and remove all traces of it, crashed or not; False if there were none."""
    _check_rights()
    with _lock():
        if not places.STATE.exists():
            return False
        _clean()
        return True


def status() -> str:
    """What there is, in a sentence."""
    if not places.STATE.exists():
        return "No local cluster is running."
    if not _is_running():
        return "The local cluster is starting, or a run of it crashed: `make cluster-down` removes what is left."
    ended = _ended_components()
    if ended:
        return f"The local cluster is broken: {', '.join(ended)} ended. Stop it with `make cluster-down`."
    return f"The local cluster is running: export KUBECONFIG={places.KUBECONFIG}"


def _check_rights() -> None:
    if sys.platform != "linux" or os.geteuid() != 0:
        raise ClusterError("The local cluster needs Linux and root; try again with sudo.")


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    with places.LOCK.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ClusterError("Someone else is starting or stopping the local cluster: try again later.") from None
        yield


def _refuse_second() -> None:
    if _is_running() and not _ended_components():
        raise ClusterError(
            f"A local cluster is running on this machine already. Use it (export KUBECONFIG={places.KUBECONFIG}) "
            "or stop it with `make cluster-down`."
        )


def _is_running() -> bool:
    record = _read(RECORD)
    return _alive(record) and _read(init.STATUS).get("phase") == "running"


def _ended_components() -> list[str]:
    return [name for name, part in _read(init.STATUS)["components"].items() if part["exit"] is not None]


def _start(programs: Path, archives: list[Path]) -> Running:
    machine.check_addresses_free()
    places.LOGS.mkdir(parents=True)
    places.STATE.chmod(0o700)
    record: dict[str, Any] = {"boot": machine.boot_id(), "settings": machine.kernel_settings()}
    RECORD.write_text(json.dumps(record))
    machine.make_cgroups()
    components.save(components.prepare(programs, images.BUSYBOX), places.STATE / "components.json")
    running, pid = _start_init()
    RECORD.write_text(json.dumps({**record, "pid": pid, "started": _start_time(pid)}))
    machine.connect(pid)
    assert running.init.stdin is not None
    running.init.stdin.write("go\n")
    running.init.stdin.flush()
    _wait("the components", lambda: _components_run(running))
    for archive in archives:
        images.load(archive)
    _wait("the node", lambda: _node_is_ready(programs / "kubectl"))
    return running


def _start_init() -> tuple[Running, int]:
    unshare = ["unshare", "--mount", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"]
    with (places.LOGS / "init.log").open("ab") as log:
        outside = subprocess.Popen(
            [*unshare, sys.executable, "-m", f"{__package__}.init"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            text=True,
            cwd=places.REPOSITORY,
            start_new_session=True,  # Ctrl-C is for the starter, which then cleans up
        )
    children = Path("/proc", str(outside.pid), "task", str(outside.pid), "children")
    while outside.poll() is None:
        if pids := children.read_text().split():
            return Running(outside), int(pids[0])
        time.sleep(0.01)
    raise ClusterError(f"Namespaces of its own could not be made for the cluster:\n{_tail('init')}")


def _components_run(running: Running) -> bool:
    found = _read(init.STATUS)
    if found.get("phase") == "failed" or running.init.poll() is not None:
        name = list(found.get("components", {"init": {}}))[-1]
        raise ClusterError(f"{name} did not start; the last lines of its log:\n{_tail(name)}")
    return bool(found.get("phase") == "running")


def _node_is_ready(kubectl: Path) -> bool:
    """The node takes pods, and the controllers have made what a pod needs."""

    def get(*what: str) -> str:
        command = [str(kubectl), f"--kubeconfig={places.KUBECONFIG}", "get", *what]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    condition = '{.status.conditions[?(@.type=="Ready")].status}'
    return get("node", places.NODE_NAME, "-o", f"jsonpath={condition}") == "True" and bool(
        get("serviceaccount", "default", "-o", "name")
    )


def _wait(what: str, happened: Callable[[], bool], patience: float = 300) -> None:
    deadline = time.monotonic() + patience
    while not happened():
        if time.monotonic() > deadline:
            raise ClusterError(f"After {patience:.0f} s {what} did not get ready:\n{_tail('kubelet')}")
        time.sleep(0.1)


def _clean() -> None:
    record = _read(RECORD)
    if _alive(record):
        os.kill(record["pid"], signal.SIGKILL)
        _wait("the end of the cluster's processes", lambda: not _alive(record), patience=30)
    machine.disconnect()
    machine.remove_cgroups()
    if record.get("boot") == machine.boot_id():
        machine.restore_kernel_settings(record["settings"])
    if places.STATE.exists():
        shutil.rmtree(places.STATE)


def _alive(record: dict[str, Any]) -> bool:
    """Whether the recorded first process still runs; a process id alone could be someone else's by now."""
    return (
        record.get("boot") == machine.boot_id() and "pid" in record and _start_time(record["pid"]) == record["started"]
    )


def _start_time(pid: int) -> str | None:
    """When a process started, in ticks since boot; None if there is none."""
    try:
        # The name, in parentheses, may hold anything; the start time is the 20th field after it.
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return None


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return found


def _tail(name: str) -> str:
    log = places.LOGS / f"{name}.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join(lines[-LINES_OF_LOG:])
