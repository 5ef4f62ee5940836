"""One job from its first breath to its last word, for a worker or a user's own script.

    from coxswain.worker import report

    with report.job() as job:
        for _ in range(job.settings.epochs):
            ...                                   # train one epoch
            job.epoch(loss=loss, accuracy=accuracy)

That is the whole contract: inside the block the metrics are served; at its end, however it ends, the termination
message is written and the exit code says what happened. SIGTERM is a request: the next `job.epoch` ends the block
after recording the epoch; a script with long epochs may look at `job.stop_requested` more often.
"""

import contextlib
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from coxswain import __version__
from coxswain.worker.report import message, usage
from coxswain.worker.report.contract import Failure, State, Stopped, explain
from coxswain.worker.report.message import Epoch
from coxswain.worker.report.metrics import Metrics
from coxswain.worker.report.settings import Settings, termination_log


class Job:
    """A running job: its settings, what it has done so far, and the ways it can end."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.parameters = settings.parameters()
        """What the job runs with, as the last word repeats it; a default that applies may be added."""
        self.history: list[Epoch] = []
        self.stop = threading.Event()
        """Set when somebody wants the job to stop."""
        self._metrics = Metrics(settings)
        self._facts: dict[str, Any] = {}
        self._versions = {"coxswain": __version__, "python": platform.python_version()}
        self._began = time.time() - usage.age_seconds()
        self._startup_seconds: float | None = None
        self._epoch_began = time.perf_counter()
        self._resumed_after = 0
        self._samples = 0
        self._ending = threading.Lock()
        self.metrics_port: int | None = None
        """Where the metrics are shown: the port asked for, or the free one that was found if that was 0."""
        if settings.metrics_port is not None:
            self.metrics_port = self._metrics.serve(settings.metrics_host, settings.metrics_port)

    @property
    def stop_requested(self) -> bool:
        """Whether somebody wants the job to stop."""
        return self.stop.is_set()

    @property
    def best(self) -> Epoch | None:
        """The best epoch so far: by validation accuracy, else by the lowest loss, else the last."""
        if not self.history:
            return None
        scored = [row for row in self.history if row.accuracy is not None]
        if scored:
            return max(scored, key=lambda row: row.accuracy or 0.0)
        judged = [row for row in self.history if row.loss is not None]
        return min(judged, key=lambda row: row.loss or 0.0) if judged else self.history[-1]

    def describe(self, versions: Mapping[str, str] | None = None, **facts: Any) -> None:
        """Add facts, and versions of what the job ran on, to the termination message."""
        message.require_json(facts)
        self._facts.update(facts)
        self._versions.update(versions or {})

    def resume(self, history: list[Epoch]) -> None:
        """Take over the epochs an earlier attempt has trained."""
        self.history = list(history)
        if history:
            self._resumed_after = history[-1].epoch
            self._metrics.epoch(history[-1], None)

    def training(self) -> None:
        """Say that start-up is over and the first training step comes next; `epoch` says it if nobody has."""
        self._startup_seconds = time.time() - self._began
        self._metrics.startup(self._startup_seconds)
        self._metrics.state(State.TRAINING)
        self._epoch_began = time.perf_counter()

    def record(self, row: Epoch, samples: int | None = None) -> None:
        """Take a finished epoch into the history and the metrics."""
        message.require_number(f"samples of epoch {row.epoch}", samples)
        if self._startup_seconds is None:
            self._startup_seconds = time.time() - self._began - row.seconds
            self._metrics.startup(self._startup_seconds)
            self._metrics.state(State.TRAINING)
        self.history.append(row)
        self._samples += samples or 0
        self._metrics.epoch(row, samples)

    def epoch(
        self,
        *,
        loss: float | None = None,
        accuracy: float | None = None,
        training_loss: float | None = None,
        training_accuracy: float | None = None,
        seconds: float | None = None,
        samples: int | None = None,
    ) -> None:
        """Record an epoch of a user's script and, if somebody asked, stop here.

        Loss and accuracy (a share between 0 and 1) are those on validation data. Seconds are by default the time
        since the last epoch was recorded; a script that validates at length should pass its training time.
        """
        now = time.perf_counter()
        taken = now - self._epoch_began if seconds is None else float(seconds)
        number = self.history[-1].epoch + 1 if self.history else 1
        self.record(
            Epoch(
                number,
                taken,
                loss=loss,
                accuracy=accuracy,
                training_loss=training_loss,
                training_accuracy=training_accuracy,
            ),
            samples,
        )
        self._epoch_began = now
        if self.stop_requested and number < self.settings.epochs:
            raise Stopped

    def end(self, state: State, failure: Failure | None = None) -> bool:
        """Write the last word, once: whoever comes second, another thread perhaps, changes nothing and gets False."""
        if not self._ending.acquire(blocking=False):
            return False
        self._metrics.state(state)
        text = message.compose(self._last_word(state, failure), self.history)
        _write(self.settings.termination_log, text)
        self._metrics.close()
        return True

    def _last_word(self, state: State, failure: Failure | None) -> dict[str, Any]:
        settings, finished, used = self.settings, time.time(), usage.processes()
        last = self.history[-1] if self.history else None
        result = self.best if state is State.STOPPED or self._facts.get("stoppedEarly") else last
        mine = [row for row in self.history if row.epoch > self._resumed_after]
        training = sum(row.seconds for row in mine)
        return {
            "jobUid": settings.job_uid,
            "attempt": settings.attempt,
            "worker": settings.worker,
            "state": state,
            "reason": failure.reason if failure else None,
            "message": failure.sentence if failure else None,
            "startedAt": _timestamp(self._began),
            "finishedAt": _timestamp(finished),
            "epochs": last.epoch if last else 0,
            "resumedAfterEpoch": self._resumed_after or None,
            "result": result.summary() if result else None,
            "best": self.best.summary() if self.best else None,
            "seconds": {
                "total": round(finished - self._began, 3),
                "startup": None if self._startup_seconds is None else round(self._startup_seconds, 3),
                "training": round(training, 3),
                "validation": round(sum(row.validation_seconds for row in mine), 3),
                "cpu": round(used.cpu_seconds, 3),
            },
            "samplesPerSecond": round(self._samples / training, 3) if self._samples and training else None,
            "bytes": {"read": used.disk_read_bytes, "written": used.disk_written_bytes},
            **self._facts,
            "parameters": self.parameters,
            "versions": self._versions,
        }


@contextlib.contextmanager
def job(settings: Settings | None = None) -> Iterator[Job]:
    """Run the block as a job; afterwards leave the process with the exit code that fits, unless all went well."""
    running = _open(settings)
    previous = _on_sigterm(running.stop)
    due = _at_its_time(running)
    try:
        yield running
    except Stopped:
        running.end(State.STOPPED)
    except (Exception, SystemExit) as error:
        if isinstance(error, SystemExit) and not error.code:
            running.end(State.SUCCEEDED)
            raise
        why = explain(error)
        running.end(State.FAILED, why)
        _leave(why)
    else:
        running.end(State.SUCCEEDED)
    finally:
        due.cancel()
        if previous is not None:
            signal.signal(signal.SIGTERM, previous)


def _open(settings: Settings | None) -> Job:
    try:
        return Job(settings or Settings.from_environment())
    except Failure as failure:
        # Without settings there is no job yet to speak for itself.
        word = {"jobUid": os.environ.get("COXSWAIN_JOB_UID"), "state": State.FAILED}
        word |= {"reason": failure.reason, "message": failure.sentence}
        _write(termination_log(os.environ), message.compose(word, []))
        _leave(failure)


def _write(log: Path | None, text: str) -> None:
    if log is not None:
        log.write_text(text, encoding="utf-8")


def _leave(failure: Failure) -> NoReturn:
    print(f"{failure.reason}: {failure.sentence}", file=sys.stderr)  # noqa: T201 - the log's last line says why
    raise SystemExit(failure.reason.exit_code) from failure


def _on_sigterm(stop: threading.Event) -> Any:
    """Turn SIGTERM into a request; only the main thread may, elsewhere the caller has its own way."""
    if threading.current_thread() is not threading.main_thread():
        return None

    def ask(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    return signal.signal(signal.SIGTERM, ask)


def _at_its_time(running: Job) -> threading.Timer:
    """Ask the job to stop at the time it was given, if any: nobody has to be there to do it."""
    moment = running.settings.stop_at
    left = (moment - datetime.now(UTC)).total_seconds() if moment else 0.0
    timer = threading.Timer(max(left, 0.0), running.stop.set)
    timer.daemon = True
    if moment is not None:
        timer.start()
    return timer


def _timestamp(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
