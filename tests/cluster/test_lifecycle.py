"""The local cluster starts, refuses a second, and leaves nothing behind, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster import census
from tests.cluster.kube import Cluster
from tests.cluster.localcluster import binary, control_plane, images, init, lifecycle, places, record
from tests.cluster.localcluster.components import Component
from tests.cluster.localcluster.errors import ClusterError
from tests.cluster.pods import pod

pytestmark = pytest.mark.usefixtures("no_cluster")

STARTER = [sys.executable, "-m", "tests.cluster.localcluster"]


def localcluster(command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*STARTER, command], cwd=places.REPOSITORY, capture_output=True, text=True, check=False)


def run_a_pod() -> None:
    cluster = Cluster(places.KUBECONFIG, str(binary.programs() / "kubectl"), is_local=True)
    cluster.create(pod("sleeper", images.reference("busybox"), "sleep 600"), namespace="default")
    cluster.kubectl("wait", "--for=condition=Ready", "--timeout=120s", "pod/sleeper")


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def components() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = json.loads(init.STATUS.read_text())["components"] if init.STATUS.exists() else {}
    return found


def pid_outside(component: str) -> int:
    """The number that a component, which only knows its number inside the cluster, has outside."""
    last = record.load()
    assert last is not None
    for pid in Path(f"/proc/{last.pid}/task/{last.pid}/children").read_text().split():
        status = Path(f"/proc/{pid}/status").read_text()
        inside = next(line.split()[-1] for line in status.splitlines() if line.startswith("NSpid:"))
        if int(inside) == components()[component]["pid"]:
            return int(pid)
    raise AssertionError(f"{component} does not run")


def test_after_up_pods_and_down_the_machine_is_as_before() -> None:
    before = census.take()

    assert localcluster("up").returncode == 0
    run_a_pod()
    during = census.left_over(before, census.take())
    assert localcluster("down").returncode == 0

    # That the census sees a cluster is what makes the next line worth something.
    assert {
        "processes",
        "network namespaces",
        "interfaces",
        "routes",
        "cgroups",
        "files",
        "kernel settings",
    } <= during.keys()
    assert census.left_over(before, census.take()) == {}


@pytest.mark.parametrize("moment", ["record.json", "components.json", "containerd", "kube-apiserver", "kube-proxy"])
def test_a_starter_killed_half_way_takes_its_processes_along_and_down_removes_the_rest(moment: str) -> None:
    before = census.take()
    starter = subprocess.Popen([*STARTER, "up"], cwd=places.REPOSITORY, stdout=subprocess.DEVNULL)

    wait_until(lambda: (places.STATE / moment).exists() or moment in components())
    starter.kill()
    starter.wait()

    wait_until(lambda: census.take()["processes"] == before["processes"])
    assert localcluster("down").returncode == 0
    assert census.left_over(before, census.take()) == {}


@pytest.mark.parametrize("component", ["kubelet", "containerd"])
def test_a_cluster_that_lost_a_component_says_so_and_down_removes_it(component: str) -> None:
    before = census.take()
    assert localcluster("up").returncode == 0
    run_a_pod()

    os.kill(pid_outside(component), signal.SIGKILL)
    wait_until(lambda: components()[component]["exit"] is not None)

    assert f"{component} ended" in localcluster("status").stdout
    assert localcluster("down").returncode == 0
    assert census.left_over(before, census.take()) == {}


def test_a_cluster_ends_with_the_process_that_holds_it_and_the_next_up_starts_a_new_one() -> None:
    before = census.take()
    hold = (
        "from tests.cluster.localcluster import lifecycle\nwith lifecycle.running(): print('up', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold], cwd=places.REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "up\n"
        run_a_pod()
        holder.kill()
    wait_until(lambda: census.take()["processes"] == before["processes"])

    again = localcluster("up")
    status = localcluster("status").stdout
    assert localcluster("down").returncode == 0

    assert again.returncode == 0, again.stderr
    assert "is running" in status
    assert census.left_over(before, census.take()) == {}


def test_a_second_up_is_refused_while_the_first_is_starting() -> None:
    with subprocess.Popen([*STARTER, "up"], cwd=places.REPOSITORY, stdout=subprocess.DEVNULL) as first:
        wait_until(lambda: "etcd" in components())

        second = localcluster("up")

    assert second.returncode == 1
    assert "starting or stopping the local cluster" in second.stderr
    assert first.returncode == 0
    run_a_pod()


def test_a_component_that_does_not_start_is_shown_by_its_log_and_everything_is_undone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = census.take()
    broken = Component("kube-scheduler", ("kube-scheduler", "--no-such-setting"), "tcp:10259")
    monkeypatch.setattr(control_plane, "scheduler", lambda: broken)

    with pytest.raises(ClusterError, match=r"(?s)kube-scheduler ended.*unknown flag: --no-such-setting"):
        lifecycle.up()

    assert census.left_over(before, census.take()) == {}


def test_down_spares_a_process_that_has_the_number_of_a_former_one() -> None:
    with subprocess.Popen(["sleep", "600"]) as bystander:
        former = record.Record.of_this_machine().with_process(bystander.pid)
        places.STATE.mkdir(mode=0o700)
        record.Record(former.boot, former.settings, former.pid, str(int(former.started) - 1)).save()

        lifecycle.down()

        assert bystander.poll() is None
        bystander.kill()
