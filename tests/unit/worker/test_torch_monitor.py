"""What the monitor makes of a dead process of its own worker."""

import subprocess
import threading
import time
from collections.abc import Iterator

import pytest
import torch.distributed as dist

from coxswain.worker.report import Failure, Reason, usage
from coxswain.worker.torch.monitor import Monitor
from coxswain.worker.torch.world import Place


@pytest.fixture
def killed() -> Iterator[list[subprocess.Popen[bytes]]]:
    with subprocess.Popen(["sh", "-c", "kill -9 $$"]) as child:
        child.wait()
        yield [child]


def verdict(children: list[subprocess.Popen[bytes]]) -> Failure:
    monitor = Monitor(
        dist.HashStore(),
        Place(0, 1, 0, 2),
        stop=threading.Event(),
        silence=60,
        abort=lambda _: pytest.fail("nobody is stuck"),
        children=children,
    )
    deadline = time.monotonic() + 60
    while monitor.failure is None and time.monotonic() < deadline:
        time.sleep(0.05)
    monitor.leave()
    assert monitor.failure is not None
    return monitor.failure


def test_a_process_killed_by_somebody_is_a_lost_peer(killed: list[subprocess.Popen[bytes]]) -> None:
    assert verdict(killed).reason is Reason.PEER_LOST


def test_a_process_killed_for_want_of_memory_is_the_jobs_own_error(
    killed: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = iter(range(100))  # the control group's count of kills has gone up since the start
    monkeypatch.setattr(usage, "out_of_memory_kills", lambda: next(counts))
    failure = verdict(killed)
    assert failure.reason is Reason.OUT_OF_MEMORY
    assert "process 1 was killed for want of memory" in failure.sentence
