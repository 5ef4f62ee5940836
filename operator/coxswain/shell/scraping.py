"""What the workers say about themselves, asked of many pods at once.

Pods run other people's code, so nothing they answer is trusted: an answer has a time, a size and a number of series
that it may not exceed, is not decompressed and leads nowhere else, and of its lines only those of the worker contract
are read. An address may by now belong to another pod, so an answer counts only if it names the job and attempt that
were asked for. A pod that gives no usable answer gives no sample, and the others have theirs all the same.
"""

import asyncio
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv6Address, ip_address

import aiohttp

from coxswain.core.manifests.pods import METRICS_PORT
from coxswain.shell.settings import Scrape

_PREFIX = "coxswain_worker_"
_INFO, _STATE = "info", "state"
_NUMBERS = {
    "epochs",
    "planned_epochs",
    "epoch_duration_seconds",
    "validation_duration_seconds",
    "samples_per_second",
    "startup_seconds",
    "loss",
    "accuracy_ratio",
    "cpu_seconds_total",
    "resident_memory_bytes",
}
_WANTED = {_INFO, _STATE} | _NUMBERS
_LONGEST_LINE = 2_048
_NAME = re.compile(r"\w*")
_SERIES = re.compile(rf"{_PREFIX}(\w+)(?:\{{(.*)\}})?[ \t]+(\S+)(?:[ \t]+-?\d+)?[ \t\r]*")
_LABEL = re.compile(r'[ \t]*(\w+)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*+)"[ \t]*(?:,[ \t]*|$)')
_ESCAPE = re.compile(r"\\(.)")
_MOST_EPOCHS = 1_000_000_000


class Outcome(StrEnum):
    """How asking one pod ended."""

    OK = "ok"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    """No connection, a broken one, or an answer that is not 200."""
    TOO_LARGE = "too_large"
    INVALID = "invalid"
    OTHER_JOB = "other_job"
    """The pod belongs to another job, or to another attempt of this one."""


@dataclass(frozen=True)
class Target:
    """One pod to ask, and who should answer."""

    address: str
    job_uid: str
    attempt: int
    port: int = METRICS_PORT

    @property
    def url(self) -> str:
        """Where the pod shows its metrics."""
        address = ip_address(self.address)
        host = f"[{address}]" if isinstance(address, IPv6Address) else str(address)
        return f"http://{host}:{self.port}/metrics"


@dataclass(frozen=True)
class Sample:
    """What a worker said; None is what it has not measured yet."""

    job_uid: str
    attempt: int
    worker: int
    state: str
    epochs: int
    planned_epochs: int
    epoch_seconds: float | None
    validation_seconds: float | None
    samples_per_second: float | None
    startup_seconds: float | None
    loss: float | None
    accuracy: float | None
    training_loss: float | None
    cpu_seconds: float | None
    resident_bytes: float | None


class _Unusable(Exception):  # noqa: N818 - not an error of ours
    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


Observer = Callable[[Outcome], None]


def new_session() -> aiohttp.ClientSession:
    """A session as scraping needs it: it keeps no cookies and no connections, and leaves answers compressed."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept": "text/plain; version=0.0.4", "Accept-Encoding": "identity"},
        auto_decompress=False,
    )


async def scrape(
    session: aiohttp.ClientSession,
    targets: Sequence[Target],
    limits: Scrape,
    observe: Observer = lambda _: None,
) -> list[Sample | None]:
    """A sample of each target, in their order; None of one that gave none. `observe` is told how each ended."""
    places = asyncio.Semaphore(limits.concurrency)

    async def ask(target: Target) -> Sample | None:
        async with places:
            try:
                sample = await _ask(session, target, limits)
            except _Unusable as unusable:
                observe(unusable.outcome)
                return None
        observe(Outcome.OK)
        return sample

    return await asyncio.gather(*(ask(target) for target in targets))


async def _ask(session: aiohttp.ClientSession, target: Target, limits: Scrape) -> Sample:
    try:
        async with asyncio.timeout(limits.timeout_seconds):
            body = await _fetch(session, target.url, limits.max_bytes)
    except TimeoutError:
        raise _Unusable(Outcome.TIMEOUT) from None
    except (aiohttp.ClientError, OSError) as error:
        raise _Unusable(Outcome.UNREACHABLE) from error
    sample = read(body, limits.max_series)
    if (sample.job_uid, sample.attempt) != (target.job_uid, target.attempt):
        raise _Unusable(Outcome.OTHER_JOB)
    return sample


async def _fetch(session: aiohttp.ClientSession, url: str, max_bytes: int) -> bytes:
    async with session.get(url, allow_redirects=False) as response:
        if response.status != 200:
            raise _Unusable(Outcome.UNREACHABLE)
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > max_bytes:
                raise _Unusable(Outcome.TOO_LARGE)
        return bytes(body)


def read(body: bytes, max_series: int) -> Sample:
    """The sample in an answer."""
    found = _Found(body, max_series)
    info = found.labels_of_info
    return Sample(
        job_uid=info.get("job_uid", ""),
        attempt=_count(info.get("attempt")),
        worker=_count(info.get("worker")),
        state=found.state,
        epochs=_count(found.number("epochs")),
        planned_epochs=_count(found.number("planned_epochs")),
        epoch_seconds=_measured(found.number("epoch_duration_seconds")),
        validation_seconds=_measured(found.number("validation_duration_seconds")),
        samples_per_second=_measured(found.number("samples_per_second")),
        startup_seconds=_measured(found.number("startup_seconds")),
        loss=found.number("loss", "validation"),
        accuracy=found.number("accuracy_ratio", "validation"),
        training_loss=found.number("loss", "training"),
        cpu_seconds=found.number("cpu_seconds_total"),
        resident_bytes=found.number("resident_memory_bytes"),
    )


class _Found:
    """The series of the worker contract in an answer."""

    def __init__(self, body: bytes, max_series: int) -> None:
        self.labels_of_info: Mapping[str, str] = {}
        self.state = ""
        self._numbers: dict[tuple[str, str], float] = {}
        try:
            for name, labels, value in map(_series, _wanted_lines(body.decode(), max_series)):
                self._keep(name, labels, value)
        except ValueError as error:
            raise _Unusable(Outcome.INVALID) from error

    def _keep(self, name: str, labels: Mapping[str, str], value: float) -> None:
        if name == _INFO:
            self.labels_of_info = labels
        elif name == _STATE:
            self.state = labels["state"] if value == 1 and "state" in labels else self.state
        else:
            self._numbers[name, labels.get("phase", "")] = value

    def number(self, name: str, phase: str = "") -> float | None:
        """The value of a series, if it is there and a number."""
        value = self._numbers.get((name, phase), math.nan)
        return value if math.isfinite(value) else None


def _wanted_lines(text: str, max_series: int) -> Iterator[str]:
    """The lines worth reading; the rest is only counted."""
    series = 0
    for line in text.split("\n"):
        if not line or line[0] == "#":
            continue
        series += 1
        if series > max_series:
            raise _Unusable(Outcome.TOO_LARGE)
        if line.startswith(_PREFIX) and _NAME.match(line, len(_PREFIX))[0] in _WANTED:  # type: ignore[index]
            yield line


def _series(line: str) -> tuple[str, Mapping[str, str], float]:
    """Name, labels and value of one line; ValueError if it is none.

    prometheus-client's own parser would do, but takes time by the square of the length of a line made to harm it, and
    everything else would wait meanwhile.
    """
    match = _SERIES.fullmatch(line)
    if not match or len(line) > _LONGEST_LINE:
        raise ValueError(line[:_LONGEST_LINE])
    name, inside, value = match.groups(default="")
    labels = {}
    place = 0
    while place < len(inside):
        label = _LABEL.match(inside, place)
        if not label:
            raise ValueError(line)
        labels[label[1]] = _ESCAPE.sub(lambda escape: "\n" if escape[1] == "n" else escape[1], label[2])
        place = label.end()
    return name, labels, float(value)


def _count(value: str | float | None) -> int:
    """A whole number of 0 or more; whoever does not give one is no worker."""
    try:
        number = float(value if value is not None else math.nan)
    except ValueError:
        number = math.nan
    if not 0 <= number <= _MOST_EPOCHS or number != int(number):
        raise _Unusable(Outcome.INVALID)
    return int(number)


def _measured(seconds: float | None) -> float | None:
    """A worker shows 0 for what it has not measured yet."""
    return seconds if seconds and seconds > 0 else None
