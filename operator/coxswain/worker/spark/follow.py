"""A node other than node 0: it runs a Worker for as long as node 0 wants it."""

import logging
import subprocess
import tempfile
import threading
from pathlib import Path

from coxswain.worker import report
from coxswain.worker.report import Failure, Reason, State, Stopped, usage
from coxswain.worker.spark import node, talk
from coxswain.worker.spark.shape import Shape, configuration
from coxswain.worker.spark.talk import Line, Word

LOG = logging.getLogger(__name__)


def follow(job: report.Job) -> None:
    """Run a Worker until node 0 says how the job has ended."""
    settings = job.settings
    shape, address, over = Shape.from_settings(settings), node.own_address(settings), threading.Event()
    with (
        tempfile.TemporaryDirectory(prefix="coxswain-spark-", ignore_cleanup_errors=True) as folder,
        talk.call(settings, role="node", node=settings.worker, address=address) as line,
    ):
        secret = settings.spark_secret
        node.prepare(
            Path(folder), configuration(shape, address=address, secret=secret, folder=Path(folder), slots_per_task=1)
        )
        word = _next(line, settings.peer_timeout)
        if "master" in word:
            with node.running_worker(shape, Path(folder), address, word["master"]) as worker:
                job.training()
                LOG.info("a Worker of %s at %s", word["master"], address)
                talk.every_beat(_Watch(line, job, worker).look, over)
                word = _next(line, settings.peer_timeout)
                over.set()
    match State(word["end"]):
        case State.STOPPED:
            raise Stopped
        case State.FAILED:
            raise Failure(Reason(word["reason"]), word["message"])


def _next(line: Line, patience: float) -> Word:
    """The next word of weight; node 0 says something every second, so silence means that it is lost."""
    try:
        while word := line.hear():
            if "master" in word or "end" in word:
                return word
    except TimeoutError:
        raise Failure(Reason.PEER_LOST, f"node 0 has been silent for {patience:g} s.") from None
    except OSError:
        pass
    raise Failure(Reason.PEER_LOST, "node 0 is gone: its connection broke.")


class _Watch:
    """Looks after this node once a second and tells node 0."""

    def __init__(self, line: Line, job: report.Job, worker: subprocess.Popen[bytes]) -> None:
        self._line, self._job, self._worker = line, job, worker
        self._memory_kills = usage.out_of_memory_kills()

    def look(self) -> None:
        """Tell of a wish to stop, and of what goes wrong here."""
        here, code = f"on node {self._job.settings.worker}", self._worker.poll()
        if usage.out_of_memory_kills() > self._memory_kills:
            sentence = f"a process {here} was killed for want of memory; raise memoryPerExecutor or lower batchSize."
            self._line.say(reason=Reason.OUT_OF_MEMORY, message=sentence)
        elif code is not None:
            self._line.say(reason=Reason.PEER_LOST, message=f"the Spark worker {here} ended with exit code {code}.")
        else:
            self._line.say(stop=self._job.stop_requested)
