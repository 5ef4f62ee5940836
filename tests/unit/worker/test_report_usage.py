"""What a job uses, from the kernel's files: this machine's own, and others' made up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coxswain.worker.report import usage


def test_a_process_and_its_children_are_counted_together(tmp_path: Path) -> None:
    before = usage.processes()
    code = "import sys; sum(range(3_000_000)); open(sys.argv[1], 'wb').write(bytes(50_000)); print('done'); input()"
    command = [sys.executable, "-c", code, str(tmp_path / "written")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        during = usage.processes()
        child.communicate(b"\n")
    after = usage.processes()
    assert during.cpu_seconds > before.cpu_seconds
    assert during.resident_bytes > before.resident_bytes + 2**20
    assert after.cpu_seconds >= during.cpu_seconds, "what an ended child used is not forgotten"


def test_the_age_of_this_process_is_that_of_its_python() -> None:
    code = "import time; from coxswain.worker.report import usage; time.sleep(0.3); print(usage.age_seconds())"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.3 < float(answer.stdout) < 600


def test_the_network_interfaces_of_this_machine_are_seen() -> None:
    loopback = next(interface for interface in usage.network() if interface.name == "lo")
    assert loopback.received_bytes == loopback.sent_bytes


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_second_version_of_control_groups_counts_operations_and_waiting(tmp_path: Path) -> None:
    proc, cgroup = tmp_path / "proc", tmp_path / "cgroup"
    _write(proc / "self/cgroup", "0::/\n")
    _write(cgroup / "io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n259:0 rios=10 wios=20\n")
    _write(cgroup / "io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=7\n")
    _write(cgroup / "memory.events", "low 0\noom 2\noom_kill 1\noom_group_kill 0\n")
    assert usage.operations(proc, cgroup) == usage.Operations(13, 24)
    assert usage.waiting(proc, cgroup) == usage.Waiting("container", 2.5)
    assert usage.out_of_memory_kills(proc, cgroup) == 1


def test_the_first_version_of_control_groups_counts_operations(tmp_path: Path) -> None:
    proc, cgroup = tmp_path / "proc", tmp_path / "cgroup"
    _write(proc / "self/cgroup", "7:blkio:/kubepods/pod1\n4:memory:/kubepods/pod1\n0::/\n")
    _write(cgroup / "blkio/blkio.throttle.io_serviced", "8:0 Read 3\n8:0 Write 5\n8:0 Total 8\nTotal 8\n")
    _write(cgroup / "memory/kubepods/pod1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    assert usage.operations(proc, cgroup) == usage.Operations(3, 5)
    assert usage.out_of_memory_kills(proc, cgroup) == 3


def test_what_the_kernel_does_not_count_is_absent_or_the_nodes(tmp_path: Path) -> None:
    _write(tmp_path / "proc/self/cgroup", "0::/\n")
    _write(tmp_path / "proc/stat", "cpu  1 2 3 4 500 6 7 8 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n")
    assert usage.operations(tmp_path / "proc", tmp_path / "cgroup") is None
    waiting = usage.waiting(tmp_path / "proc", tmp_path / "cgroup")
    assert waiting == usage.Waiting("node", 500 / os.sysconf("SC_CLK_TCK"))
    assert usage.out_of_memory_kills(tmp_path / "proc", tmp_path / "cgroup") == 0


def test_gpus_are_seen_through_the_drivers_own_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\nprintf '0, 87, 1024\\n1, 0, 3\\n'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert usage.gpus() == [usage.Gpu("0", 0.87, 2**30), usage.Gpu("1", 0.0, 3 * 2**20)]
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert usage.gpus() == []
