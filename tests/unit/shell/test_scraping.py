"""Scraping real servers of all manners: good, slow, endless, huge, wrong, closed, hostile."""

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Info, generate_latest

from coxswain.shell.scraping import Outcome, Sample, Target, _series, _Unusable, new_session, read, scrape
from coxswain.shell.settings import Scrape
from coxswain.worker.report.contract import State
from coxswain.worker.report.message import Epoch
from coxswain.worker.report.metrics import Metrics
from coxswain.worker.report.settings import Settings

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
Result = TypeVar("Result")

LIMITS = Scrape.model_validate({"timeoutSeconds": 1, "maxBytes": 16_384, "maxSeries": 100})
UID = "0b5c2f70-8c1f-4f0e-9a3c-2f6f3a1d9f10"
LEAST = f'coxswain_worker_info{{job_uid="{UID}",attempt="1",worker="0"}} 1.0\n' + "".join(
    f"coxswain_worker_{name} 0.0\n" for name in ("epochs", "planned_epochs")
)


def worker_says(*, job_uid: str = UID, attempt: int = 1) -> bytes:
    """What a real worker shows after three epochs of ten."""
    metrics = Metrics(Settings(job_uid=job_uid, attempt=attempt, epochs=10))
    metrics.state(State.TRAINING)
    metrics.startup(2.5)
    metrics.epoch(
        Epoch(epoch=3, seconds=4.0, validation_seconds=0.5, loss=0.7, accuracy=0.8, training_loss=0.6), samples=100
    )
    return generate_latest(metrics._registry)


def answer(body: bytes | str, status: int = 200, **headers: str) -> Answer:
    async def respond(_request: web.Request) -> web.Response:
        return web.Response(body=body.encode() if isinstance(body, str) else body, status=status, headers=headers)

    return respond


async def never(_request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    raise AssertionError


async def drips(request: web.Request) -> web.StreamResponse:
    """A byte now and then, for ever: each read succeeds, the whole never does."""
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"#")
        await asyncio.sleep(0.05)


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"# and so on\n" * 100)


async def breaks_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b"coxswain_worker_epochs 1")
    assert request.transport
    request.transport.close()
    return response


@asynccontextmanager
async def pod(respond: Answer) -> AsyncIterator[Target]:
    application = web.Application()
    application.router.add_get("/metrics", respond)
    runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield Target("127.0.0.1", UID, attempt=1, port=runner.addresses[0][1])
    finally:
        await runner.cleanup()


def scraped(*responses: Answer, limits: Scrape = LIMITS) -> tuple[list[Sample | None], list[Outcome]]:
    """The samples of pods that respond like this, and the outcomes as they came."""

    async def run() -> tuple[list[Sample | None], list[Outcome]]:
        outcomes: list[Outcome] = []
        async with AsyncExitStack() as stack, new_session() as session:
            targets = [await stack.enter_async_context(pod(respond)) for respond in responses]
            return await scrape(session, targets, limits, outcomes.append), outcomes

    return asyncio.run(run())


def test_a_worker_s_own_metrics_are_read() -> None:
    (sample,), outcomes = scraped(answer(worker_says()))
    assert sample
    assert outcomes == [Outcome.OK]
    assert (sample.job_uid, sample.attempt, sample.worker, sample.state) == (UID, 1, 0, "training")
    assert (sample.epochs, sample.planned_epochs) == (3, 10)
    assert (sample.epoch_seconds, sample.validation_seconds, sample.samples_per_second) == (4.0, 0.5, 25.0)
    assert (sample.loss, sample.accuracy, sample.training_loss, sample.startup_seconds) == (0.7, 0.8, 0.6, 2.5)
    assert sample.cpu_seconds
    assert sample.resident_bytes
    assert sample.resident_bytes > 2**20


def test_what_a_worker_has_not_measured_yet_is_not_zero() -> None:
    sample = read(LEAST.encode(), 100)
    assert (sample.epochs, sample.state) == (0, "")
    assert [sample.epoch_seconds, sample.loss, sample.cpu_seconds, sample.startup_seconds] == [None] * 4


@pytest.mark.parametrize(
    ("respond", "outcome"),
    [
        (never, Outcome.TIMEOUT),
        (drips, Outcome.TIMEOUT),
        (endless, Outcome.TOO_LARGE),
        (answer(LEAST + "# " + "x" * 20_000), Outcome.TOO_LARGE),
        (answer("other 1\n" * 101 + LEAST), Outcome.TOO_LARGE),
        (breaks_off, Outcome.UNREACHABLE),
        (answer(LEAST, status=500), Outcome.UNREACHABLE),
        (answer("", status=302, Location="http://127.0.0.1:1/"), Outcome.UNREACHABLE),
        (answer(worker_says(job_uid="another")), Outcome.OTHER_JOB),
        (answer(worker_says(attempt=2)), Outcome.OTHER_JOB),
        (answer(b"\xff\xfe\x00garbage"), Outcome.INVALID),
        (answer("<html>not found</html>"), Outcome.INVALID),
        (answer(LEAST + "coxswain_worker_loss{phase= 1\n"), Outcome.INVALID),
        (answer(LEAST + "coxswain_worker_epochs -1\n"), Outcome.INVALID),
        (answer(LEAST + "coxswain_worker_epochs 1.5\n"), Outcome.INVALID),
        (answer(LEAST + 'coxswain_worker_state{state="' + "x" * 3_000 + '"} 1\n'), Outcome.INVALID),
    ],
)
def test_a_pod_without_a_usable_answer_gives_no_sample_and_spoils_no_other(respond: Answer, outcome: Outcome) -> None:
    samples, outcomes = scraped(answer(worker_says()), respond, answer(worker_says()))
    assert [sample is not None for sample in samples] == [True, False, True]
    assert Counter(outcomes) == {Outcome.OK: 2, outcome: 1}


def test_a_closed_port_gives_no_sample() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]

    async def run() -> list[Sample | None]:
        async with new_session() as session:
            return await scrape(session, [Target("127.0.0.1", UID, 1, port)], LIMITS, outcomes.append)

    outcomes: list[Outcome] = []
    assert asyncio.run(run()) == [None]
    assert outcomes == [Outcome.UNREACHABLE]


def test_slow_pods_are_waited_for_together_and_quick_ones_are_done_before() -> None:
    _, outcomes = scraped(*[never] * 10, *[answer(worker_says())] * 10)
    assert outcomes == [Outcome.OK] * 10 + [Outcome.TIMEOUT] * 10


def test_no_more_pods_are_asked_at_once_than_allowed() -> None:
    now = most = 0

    async def count(_request: web.Request) -> web.Response:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return web.Response(body=worker_says())

    samples, _ = scraped(*[count] * 12, limits=LIMITS.model_copy(update={"concurrency": 4}))
    assert None not in samples
    assert most == 4


def test_an_address_of_either_family_makes_a_url_and_nothing_else_does() -> None:
    assert Target("10.0.0.1", UID, 1).url == "http://10.0.0.1:9464/metrics"
    assert Target("fd00::1", UID, 1).url == "http://[fd00::1]:9464/metrics"
    with pytest.raises(ValueError, match="does not appear to be"):
        _ = Target("evil.example/", UID, 1).url


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True), st.text(max_size=20), min_size=1))
def test_labels_are_read_as_prometheus_client_writes_them(labels: dict[str, str]) -> None:
    labels = {f"l_{name}": value for name, value in labels.items()}
    registry = CollectorRegistry()
    Info("coxswain_worker", "Which job this is.", registry=registry).info(labels)
    line = next(line for line in generate_latest(registry).decode().split("\n") if line.startswith("coxswain"))
    assert _series(line) == ("info", labels, 1.0)


@given(st.binary(max_size=200), st.text(alphabet='{}="\\,# 1.e+\tNaN\r', max_size=60))
def test_no_answer_raises_anything_unforeseen(noise: bytes, tail: str) -> None:
    for body in (noise, LEAST.encode() + noise, (LEAST + "coxswain_worker_loss" + tail).encode()):
        with contextlib.suppress(_Unusable):
            read(body, 100)
