"""Real worker processes on this machine, started quickly.

Importing torch takes many seconds. A fork server imports it once, and every worker is a process forked from there
before torch has done anything: a process of its own with its own environment, signals and exit code.
"""

import contextlib
import json
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_PRELOAD = ["coxswain.worker.torch.app", "torch._dynamo"]
_ENOUGH = 120.0  # a hang must end the test, however busy the machine


@dataclass
class Worker:
    """A started worker."""

    process: Any
    log: Path
    termination_log: Path
    words: dict[str, Any] = field(default_factory=dict)

    def wait(self, seconds: float = _ENOUGH) -> int:
        """The exit code; the last word is in `words` then."""
        self.process.join(seconds)
        if self.process.exitcode is None:
            self.process.kill()
            pytest.fail(f"the worker did not end within {seconds:g} s:\n{self.output()}")
        if self.termination_log.exists():
            content = self.termination_log.read_bytes()
            assert len(content) <= 4096
            self.words = json.loads(content)
        return int(self.process.exitcode)

    def output(self) -> str:
        """What it has printed."""
        return self.log.read_text() if self.log.exists() else ""

    def wait_for(self, text: str) -> None:
        """Wait until it has printed this."""
        deadline = time.monotonic() + _ENOUGH
        while text not in self.output():
            if time.monotonic() > deadline or self.process.exitcode is not None:
                pytest.fail(f"the worker never said {text!r}:\n{self.output()}")
            time.sleep(0.02)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self.process.pid, number)


Start = Callable[..., Worker]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a worker with these variables; those still running at the end of the test are killed."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOAD)
    started: list[Worker] = []

    def start_worker(prepare: Callable[[], None] | None = None, **variables: object) -> Worker:
        name = f"worker{len(started)}"
        worker = Worker(None, tmp_path / f"{name}.log", tmp_path / f"{name}.json")
        environment = {
            "COXSWAIN_TERMINATION_LOG": str(worker.termination_log),
            "COXSWAIN_JOB_UID": "uid-1",
            "COXSWAIN_NETWORK": "shallow-cnn",
            "COXSWAIN_SAMPLES": "200",
            "COXSWAIN_CORES_PER_WORKER": "1",
            **{name: str(value) for name, value in variables.items()},
        }
        worker.process = context.Process(target=_work, args=(environment, worker.log, prepare))
        worker.process.start()
        started.append(worker)
        return worker

    yield start_worker
    for worker in started:
        with contextlib.suppress(ProcessLookupError):
            worker.process.kill()
        worker.process.join()


@pytest.fixture
def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def start_two(start: Start, free_port: int) -> Callable[..., tuple[Worker, Worker]]:
    """Start two workers that train together."""

    def start_both(**variables: object) -> tuple[Worker, Worker]:
        together = {"COXSWAIN_WORKERS": 2, "COXSWAIN_RENDEZVOUS_PORT": free_port, **variables}
        return start(**together, JOB_COMPLETION_INDEX=0), start(**together, JOB_COMPLETION_INDEX=1)

    return start_both


def _work(environment: Mapping[str, str], log: Path, prepare: Callable[[], None] | None) -> None:
    """Inside the forked process: become a worker."""
    from coxswain.worker.__main__ import main  # noqa: PLC0415 - here, as in a fresh process

    with log.open("w") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.environ.update(environment)
    if prepare is not None:
        prepare()
    main()
