"""The leash as a real process: it ends as its worker ends, and no worker outlives who holds it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from coxswain.local import leash
from coxswain.local.gang import Lifeline

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"

Process = subprocess.Popen[str]


@pytest.fixture
def lifeline() -> Iterator[Lifeline]:
    made = Lifeline()
    yield made
    made.close()


def put_on(lifeline: Lifeline, *command: str) -> Process:
    held, core = lifeline.held_by_workers, min(os.sched_getaffinity(0))
    return subprocess.Popen(
        [sys.executable, "-I", "-S", leash.__file__, str(held), str(core), *command],
        pass_fds=[held],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def first_line(process: Process) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize(
    ("command", "code"),
    [(["sh", "-c", "exit 64"], 64), (["sh", "-c", "kill -KILL $$"], -signal.SIGKILL), (["no-such-program"], 1)],
)
def test_it_ends_as_its_worker_ends(lifeline: Lifeline, command: list[str], code: int) -> None:
    with put_on(lifeline, *command) as process:
        assert process.wait() == code


def test_it_pins_its_worker_and_passes_on_the_wish_to_stop(lifeline: Lifeline) -> None:
    say = "import os, time; print(os.sched_getaffinity(0), flush=True); time.sleep(600)"
    with put_on(lifeline, sys.executable, "-c", say) as process:
        assert first_line(process) == str({min(os.sched_getaffinity(0))})
        process.terminate()
        assert process.wait() == -signal.SIGTERM


def test_a_worker_that_does_not_listen_can_be_killed(lifeline: Lifeline) -> None:
    with put_on(lifeline, sys.executable, "-c", DEAF) as process:
        assert first_line(process) == "ready"
        process.terminate()
        process.send_signal(leash.KILL)
        assert process.wait() == -signal.SIGKILL


def test_nothing_outlives_who_holds_the_pipe(tmp_path: Path) -> None:
    lifeline, pids = Lifeline(), tmp_path / "pids"
    program = f'sleep 600 & echo $! $$ > {pids}; exec {sys.executable} -c "{DEAF}"'
    with put_on(lifeline, "sh", "-c", program) as process:
        assert first_line(process) == "ready"
        lifeline.close()
        assert process.wait() == -signal.SIGKILL
    numbers = pids.read_text().split()
    assert len(numbers) == 2
    assert not [pid for pid in numbers if alive(pid)]


def alive(pid: str) -> bool:
    """Whether a process is still there after the moment that a killed one needs to go."""
    status = Path(f"/proc/{pid}/status")
    for _ in range(100):
        if not status.exists() or "State:\tZ" in status.read_text():
            return False
        time.sleep(0.05)
    return True
