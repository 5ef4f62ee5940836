"""How far a job is, read from its metrics once in a while, in a thread, so that a busy worker holds up nothing."""

import http.client
import time
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

PERIOD_SECONDS = 1.0
_TIMEOUT_SECONDS = 2.0
_PREFIX = "coxswain_worker_"
_WANTED = ("epochs", "epoch_duration_seconds", "validation_duration_seconds")


@dataclass(frozen=True)
class Progress:
    """Epochs trained, what one takes, and when that was seen first."""

    epochs: int
    epoch_seconds: float
    seen: float

    def left(self, planned: int, now: float) -> float | None:
        """Seconds until the last epoch should be done; unknown before the first one is."""
        if not self.epoch_seconds:
            return None
        return max(0.0, (planned - self.epochs) * self.epoch_seconds - (now - self.seen))


class Watch:
    """Keeps an eye on the metrics of one job."""

    def __init__(self, port: int, uid: str, threads: ThreadPoolExecutor) -> None:
        self._address, self._uid, self._threads = f"http://127.0.0.1:{port}/metrics", uid, threads
        self._last = time.monotonic()
        self._asked: Future[Progress | None] | None = None
        self.progress: Progress | None = None

    def look(self, now: float) -> None:
        """Take an answer that has come; ask again when it is time."""
        if self._asked is not None:
            if not self._asked.done():
                return
            answer, self._asked = self._asked.result(), None
            if answer is not None and (self.progress is None or answer.epochs > self.progress.epochs):
                self.progress = answer
        if now - self._last >= PERIOD_SECONDS:
            self._last = now
            self._asked = self._threads.submit(_scrape, self._address, self._uid)


def _scrape(address: str, uid: str) -> Progress | None:
    """The progress, or nothing where nobody answers yet or somebody else does."""
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 - always http, always here
            text = answer.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    values: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.labels.get("job_uid", uid) != uid:
                return None
            values[sample.name.removeprefix(_PREFIX)] = sample.value
    epochs, seconds, validation = (values.get(name, 0.0) for name in _WANTED)
    return Progress(int(epochs), seconds + validation, time.monotonic())
