"""Training on a Spark cluster: TorchDistributor starts a process in every executor, and these train as on Torch alone.

The processes are the workers of `coxswain.worker.torch`, one an executor. Their ranks follow their nodes, whichever
partition Spark gave them: the first one always runs on node 0, where the output folder is, and tells the driver beside
it how training goes, so that metrics and last word are the job's as ever.
"""

import contextlib
import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import asdict, replace
from typing import Any

from pyspark.ml.torch.distributor import TorchDistributor
from pyspark.sql import SparkSession

from coxswain.worker import report
from coxswain.worker.report import Epoch, Failure, Reason, Settings, State, Stopped
from coxswain.worker.spark import cluster, talk
from coxswain.worker.spark.cluster import Cluster
from coxswain.worker.spark.talk import Line, Word

LOG = logging.getLogger(__name__)
_LAST_WORD_SECONDS = 5.0


def main(job: report.Job) -> None:
    """Train as a node of a cluster."""
    cluster.run(job, _Training, whole_executors=True)


class _Training:
    """A training on a cluster, seen from the driver."""

    def __init__(self, job: report.Job) -> None:
        self._job = job
        self._end: Future[tuple[State, Failure | None]] = Future()
        self._first = threading.Lock()

    def __call__(self, running: Cluster) -> None:
        shape = running.shape
        running.exchange.on_training = self.hear
        one = "Mirrored" if shape.executors > 1 else "OneDevice"
        self._job.describe(distribution="MultiWorker" if shape.nodes > 1 else one)
        SparkSession(running.context)  # TorchDistributor asks for the active one
        distributor = TorchDistributor(shape.executors, local_mode=False, use_gpu=False)
        try:
            distributor.run(train_here, *running.exchange.place)
        except Exception:
            # What the training itself says of its end is clearer than what Spark makes of it.
            self._conclude(patience=0)
            raise
        self._conclude(patience=_LAST_WORD_SECONDS)

    def hear(self, word: Word) -> None:
        """Do to the job what the first training process did to its own."""
        job = self._job
        if "epoch" in word:
            epoch = Epoch(**word["epoch"])
            job.record(epoch, word["samples"])
            LOG.info("%s", epoch.summary())
        elif "facts" in word:
            job.parameters |= word["parameters"]
            job.describe(word["versions"], **word["facts"])
        elif "history" in word:
            job.resume([Epoch(**row) for row in word["history"]])
        elif "training" in word:
            job.training()
        elif "end" in word:
            failure = Failure(Reason(word["reason"]), word["message"]) if word["reason"] else None
            with self._first:
                if not self._end.done():
                    self._end.set_result((State(word["end"]), failure))

    def _conclude(self, patience: float) -> None:
        """End as the training ended, if it has said so by now."""
        try:
            state, failure = self._end.result(patience)
        except TimeoutError:
            return
        if failure:
            raise failure
        if state is State.STOPPED:
            raise Stopped


def train_here(host: str, port: int) -> None:
    """Train as one of the processes that TorchDistributor starts; the driver is there to be called."""
    own = replace(Settings.from_environment(), rendezvous_host=host, rendezvous_port=port)
    with talk.call(own, role="trainer", node=own.worker) as line:
        line.patience(None)
        welcome = line.hear()
        if welcome is None:
            return
        workers = own.nodes * own.executors_per_node
        settings = replace(
            own,
            engine="Torch",
            workers=workers,
            worker=welcome["rank"],
            cores_per_worker=own.cores_per_executor,
            rendezvous_port=welcome["port"],
            metrics_port=None,
            termination_log=None,
        )
        job = _Relayed(settings, line)
        threading.Thread(target=job.listen, name="line", daemon=True).start()
        job.train()


class _Relayed(report.Job):
    """The job as a training process sees it: what the first one does to it happens to the driver's."""

    def __init__(self, settings: Settings, line: Line) -> None:
        super().__init__(settings)
        self._line, self._speaks = line, settings.worker == 0

    def train(self) -> None:
        """Train, and tell how it ended."""
        from coxswain.worker.torch import app  # noqa: PLC0415 - torch, which the driver does without

        try:
            app.main(self)
        except Stopped:
            self.end(State.STOPPED)
        except Exception as error:  # noqa: BLE001 - whatever it is, the driver gets to know
            self.end(State.FAILED, report.explain(error))
        else:
            self.end(State.SUCCEEDED)

    def listen(self) -> None:
        """Hear of a wish to stop."""
        with contextlib.suppress(OSError):
            while word := self._line.hear():
                if word.get("stop"):
                    self.stop.set()

    def describe(self, versions: Mapping[str, str] | None = None, **facts: Any) -> None:
        """Add facts to the driver's last word; how processes are spread over nodes it knows better."""
        facts.pop("distribution", None)
        defaults = {name: self.parameters[name] for name in ("network", "dataset")}
        self._tell(facts=facts, versions=dict(versions or {}), parameters=defaults)

    def resume(self, history: list[Epoch]) -> None:
        """Tell what an earlier attempt has trained."""
        self._tell(history=[asdict(row) for row in history])

    def training(self) -> None:
        """Tell that training begins."""
        self._tell(training=True)

    def record(self, row: Epoch, samples: int | None = None) -> None:
        """Tell of an epoch."""
        self._tell(epoch=asdict(row), samples=samples)

    def end(self, state: State, failure: Failure | None = None) -> bool:
        """Tell how it ended; a failure is worth telling whoever met it."""
        if self._speaks or failure:
            reason, sentence = (failure.reason, failure.sentence) if failure else (None, None)
            self._line.say(end=state, reason=reason, message=sentence)
        return True

    def _tell(self, **word: Any) -> None:
        if self._speaks:
            self._line.say(**word)
