"""Nodes of a Spark cluster as processes of this machine, each at a loopback address of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

ENOUGH = 300.0  # a hang must end the test, however busy the machine


@dataclass
class Node:
    """A started node."""

    process: subprocess.Popen[bytes]
    log: Path
    termination_log: Path
    metrics_port: int
    words: dict[str, Any] = field(default_factory=dict)

    def wait(self, seconds: float = ENOUGH) -> int:
        """The exit code; the last word is in `words` then."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the node did not end within {seconds:g} s:\n{self.output()}")
        if self.termination_log.exists():
            content = self.termination_log.read_bytes()
            assert len(content) <= 4096
            self.words = json.loads(content)
        return code

    def output(self) -> str:
        """What it has printed."""
        return self.log.read_text() if self.log.exists() else ""

    def wait_for(self, text: str) -> None:
        """Wait until it has printed this."""
        deadline = time.monotonic() + ENOUGH
        while text not in self.output():
            if time.monotonic() > deadline or self.process.poll() is not None:
                pytest.fail(f"the node never said {text!r}:\n{self.output()}")
            time.sleep(0.05)

    def metrics(self) -> dict[str, float]:
        """What its endpoint shows."""
        with urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)


Start = Callable[..., Node]


@pytest.fixture
def free_port() -> Callable[[], int]:
    """Find a port nobody listens on."""

    def find() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    return find


@pytest.fixture
def start(tmp_path: Path, free_port: Callable[[], int]) -> Iterator[Start]:
    """Start a node with these variables; those still running at the end of the test are killed."""
    started: list[Node] = []
    rendezvous = free_port()

    def start_node(node: int = 0, **variables: object) -> Node:
        log, termination_log, port = tmp_path / f"node{node}.log", tmp_path / f"node{node}.json", free_port()
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("COXSWAIN_", "SPARK_"))},
            "COXSWAIN_ENGINE": "Spark",
            "COXSWAIN_JOB_UID": "uid-1",
            "COXSWAIN_SPARK_SECRET": "of this attempt",
            "COXSWAIN_RENDEZVOUS_PORT": str(rendezvous),
            "COXSWAIN_METRICS_HOST": "127.0.0.1",
            "COXSWAIN_METRICS_PORT": str(port),
            "COXSWAIN_TERMINATION_LOG": str(termination_log),
            "COXSWAIN_POD_IP": f"127.0.0.{1 + node}",
            "JOB_COMPLETION_INDEX": str(node),
            **{name: str(value) for name, value in variables.items()},
        }
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "coxswain.worker"], env=environment, stdout=output, stderr=output
            )
        started.append(Node(process, log, termination_log, port))
        return started[-1]

    yield start_node
    for node in started:
        node.process.kill()
        node.process.wait()


@pytest.fixture
def start_two(start: Start) -> Callable[..., tuple[Node, Node]]:
    """Start the two nodes of a cluster."""

    def start_both(**variables: object) -> tuple[Node, Node]:
        second = start(1, COXSWAIN_NODES=2, **variables)
        return start(0, COXSWAIN_NODES=2, **variables), second

    return start_both
