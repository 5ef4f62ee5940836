"""Node 0's end of all lines: it knows who is there, passes on wishes to stop, and notices who is lost."""

import contextlib
import logging
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Self

from coxswain.worker import report
from coxswain.worker.report import Failure, Reason, State
from coxswain.worker.spark import talk
from coxswain.worker.spark.shape import Shape
from coxswain.worker.spark.talk import Line, Word

LOG = logging.getLogger(__name__)
_PATIENCE = 3.0
"""Seconds that the news of a loss may take, and that the main thread has to end by itself after one."""


class Exchange:
    """The lines of a job."""

    def __init__(self, job: report.Job, shape: Shape, address: str) -> None:
        self.addresses = {0: address}
        """Of the nodes that are there."""
        self.failure: Failure | None = None
        """What a node has said, or not said any more."""
        self.on_training: Callable[[Word], None] = lambda _: None
        """What to do with what the training processes say."""
        self._job, self._settings, self._shape = job, job.settings, shape
        self._master = ""
        self._master_known = threading.Event()
        self._over = threading.Event()
        self._state = threading.Lock()
        self._trainers: Counter[int] = Counter()
        self._training_port = 0
        self._nodes: list[Line] = []
        # Nobody else looks for the only node, so it takes any port.
        self._listener = talk.listen(address, self._settings.rendezvous_port if shape.nodes > 1 else 0)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="exchange", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._listener.close()

    @property
    def place(self) -> tuple[str, int]:
        """Address and port to call."""
        address, port = self._listener.getsockname()
        return str(address), int(port)

    def open(self, master: str) -> None:
        """Tell the nodes, those that are there and those that come, where the Master is."""
        self._master = master
        self._master_known.set()

    def wait_for(self, complete: Callable[[], bool], missing: Callable[[], str]) -> None:
        """Wait until something is complete, but neither for ever nor for the lost."""
        deadline = time.monotonic() + self._settings.rendezvous_timeout
        while not complete():
            if self.failure:
                raise self.failure
            if self._job.stop_requested:
                raise report.Stopped
            if time.monotonic() > deadline:
                wait = self._settings.rendezvous_timeout
                raise Failure(Reason.RENDEZVOUS_TIMEOUT, f"{missing()} did not come within {wait:g} s.")
            time.sleep(0.1)

    def cause(self) -> Failure | None:
        """What the nodes have to say about an error that came up a moment ago."""
        deadline = time.monotonic() + _PATIENCE
        while self.failure is None and self._shape.nodes > 1 and time.monotonic() < deadline:
            time.sleep(0.1)
        return self.failure

    def end(self, state: State, failure: Failure | None = None) -> None:
        """Tell the nodes how the job has ended; from here on they may go."""
        self._over.set()
        reason, sentence = (failure.reason, failure.sentence) if failure else (None, None)
        for line in self._nodes:
            with contextlib.suppress(OSError):
                line.say(end=state, reason=reason, message=sentence)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the listener is closed at the end
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), name="line", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        answered = talk.answer(connection, self._settings.spark_secret)
        if answered is None:
            return
        line, greeting = answered
        talk.every_beat(lambda: line.say(stop=self._job.stop_requested), self._over)
        with contextlib.suppress(OSError, ValueError):
            if greeting["role"] == "trainer":
                self._serve_trainer(line, int(greeting["node"]))
            else:
                self._serve_node(line, int(greeting["node"]), str(greeting["address"]))
        line.close()

    def _serve_node(self, line: Line, node: int, address: str) -> None:
        with self._state:
            self._nodes.append(line)
            self.addresses[node] = address
        self._master_known.wait()
        lost = f"node {node} is gone: its connection broke."
        try:
            line.say(master=self._master)
            line.patience(self._settings.peer_timeout)
            while word := line.hear():
                if word.get("stop"):
                    self._job.stop.set()
                if "reason" in word:
                    self._fail(Failure(Reason(word["reason"]), word["message"]))
        except TimeoutError:
            lost = f"node {node} has been silent for {self._settings.peer_timeout:g} s."
        except OSError:
            pass
        self._fail(Failure(Reason.PEER_LOST, lost))

    def _serve_trainer(self, line: Line, node: int) -> None:
        with self._state:
            local = self._trainers[node]
            self._trainers[node] += 1
            self._training_port = self._training_port or _free_port()
        line.say(rank=node * self._shape.executors_per_node + local, port=self._training_port)
        while word := line.hear():
            self.on_training(word)

    def _fail(self, failure: Failure) -> None:
        """Take note of the first failure, and if the main thread does not end by it, end the process."""
        with self._state:
            if self._over.is_set() or self.failure:
                return
            self.failure = failure
        # Usually Spark gives the main thread an error now. While it waits in the JVM nothing else can wake it.
        if self._over.wait(2 * _PATIENCE):
            return
        if self._job.end(State.FAILED, failure):
            LOG.error("%s: %s", failure.reason, failure.sentence)
        self.end(State.FAILED, failure)
        os._exit(failure.reason.exit_code)


def _free_port() -> int:
    """A port of this machine for the first training process, which runs here as well."""
    with socket.create_server(("", 0)) as probe:
        return int(probe.getsockname()[1])
