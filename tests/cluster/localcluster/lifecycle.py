"""Up, down and status of the one local cluster a machine can have.

The record says what a start is about to change; it is on disk before the first change, and the state folder with it is
the last thing `down` removes. So whatever crashes, the next `up` or `down` knows what to undo.
"""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.cluster.localcluster import (
    binary,
    components,
    control_plane,
    credentials,
    images,
    imported,
    init,
    machine,
    node,
    packages,
    places,
    record,
)
from tests.cluster.localcluster.errors import ClusterError
from tests.cluster.localcluster.lifeline import Lifeline
from tests.cluster.localcluster.logs import tail
from tests.cluster.localcluster.record import Record

PATIENCE_SECONDS = 300


@contextlib.contextmanager
def running() -> Iterator[None]:
    """A cluster for as long as this block lasts, with the images that have been imported beforehand."""
    lifeline = up(with_images=True)
    try:
        yield
    finally:
        lifeline.close()
        down()


def up(*, with_images: bool = False) -> Lifeline:
    """Start the cluster; on return its node is ready. What a crashed run left is removed first."""
    _check_rights()
    with _lock(), contextlib.ExitStack() as on_failure:
        _refuse_second()
        packages.ensure()
        programs = binary.programs()
        images.archive("busybox")
        _clean()
        machine.check_addresses_free()
        on_failure.callback(_clean)
        before = _prepare()
        if with_images:
            imported.lend(places.CONTAINERD_ROOT)
        lifeline = Lifeline(programs)
        on_failure.callback(lifeline.close)
        pid = lifeline.first_process()
        before.with_process(pid).save()
        machine.connect(pid)
        lifeline.say("go")
        _wait(lifeline, "the components", _components_run)
        images.load("busybox")
        _wait(lifeline, "the node", lambda: _node_is_ready(programs / "kubectl"))
        on_failure.pop_all()
    return lifeline


def down() -> bool:
    """Take the cluster down and remove all traces of it, crashed or not; False if there are none."""
    _check_rights()
    with _lock():
        there_was_one = places.STATE.exists()
        _clean()
        return there_was_one


def status() -> str:
    """What there is, in a sentence."""
    _check_rights()
    if not places.STATE.exists():
        return "No local cluster is running."
    if not is_running():
        return "The local cluster is starting, or it crashed: then `make cluster-down` removes what is left."
    if ended := _ended_components():
        return f"The local cluster is broken, for {', '.join(ended)} ended: stop it with `make cluster-down`."
    return f"The local cluster is running: export KUBECONFIG={places.KUBECONFIG}"


def is_running() -> bool:
    """Whether there is a cluster that came all the way up and still has its first process."""
    last = record.load()
    return last is not None and last.is_alive and _status().get("phase") == "running"


def _check_rights() -> None:
    if sys.platform != "linux" or os.geteuid() != 0:
        raise ClusterError("The local cluster needs Linux and root: try again as root.")


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    with places.LOCK.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ClusterError("Someone else is starting or stopping the local cluster: try again later.") from None
        yield


def _refuse_second() -> None:
    if is_running() and not _ended_components():
        raise ClusterError(
            "A local cluster is running on this machine already: stop it with `make cluster-down`, or use it with "
            f"`export KUBECONFIG={places.KUBECONFIG}` (tests take COXSWAIN_TEST_KUBECONFIG)."
        )


def _prepare() -> Record:
    """Write all files the components read; the record of what is changed outside comes first."""
    places.STATE.mkdir(mode=0o700)
    before = Record.of_this_machine()
    before.save()
    machine.make_cgroups()
    places.LOGS.mkdir()
    places.CONFIGURATION.mkdir()
    credentials.make()
    components.save(
        [
            control_plane.etcd(),
            node.containerd(images.reference("busybox")),
            control_plane.apiserver(),
            control_plane.controller_manager(),
            control_plane.scheduler(),
            node.kubelet(),
            node.proxy(),
        ]
    )
    return before


def _wait(lifeline: Lifeline, what: str, happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        if ended := _ended_components():
            raise ClusterError(f"{ended[0]} ended; the last lines of its log:\n{tail(ended[0])}")
        if lifeline.is_cut:
            raise ClusterError(f"The cluster's first process ended; the last lines of its log:\n{tail('init')}")
        if time.monotonic() > deadline:
            raise ClusterError(f"After {PATIENCE_SECONDS} s {what} did not get ready:\n{tail('kubelet')}")
        time.sleep(0.1)


def _components_run() -> bool:
    phase = _status().get("phase")
    if phase == "failed" and not _ended_components():
        last = list(_status()["components"])[-1]
        raise ClusterError(f"{last} does not answer; the last lines of its log:\n{tail(last)}")
    return bool(phase == "running")


def _node_is_ready(kubectl: Path) -> bool:
    """The node takes pods, and the controllers have made what a pod needs."""

    def get(*what: str) -> str:
        command = [str(kubectl), f"--kubeconfig={places.KUBECONFIG}", "get", *what]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    condition = '{.status.conditions[?(@.type=="Ready")].status}'
    return get("node", places.NODE_NAME, f"--output=jsonpath={condition}") == "True" and bool(
        get("serviceaccount", "default", "--output=name")
    )


def _clean() -> None:
    last = record.load()
    if last:
        last.end_process()
    machine.disconnect()
    machine.remove_cgroups()
    if last and last.boot == machine.boot_id():
        machine.restore_kernel_settings(last.settings)
    if places.STATE.exists():
        shutil.rmtree(places.STATE)


def _ended_components() -> list[str]:
    return [name for name, part in _status().get("components", {}).items() if part["exit"] is not None]


def _status() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(init.STATUS.read_text()) if init.STATUS.exists() else {}
    return found
