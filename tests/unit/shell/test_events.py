"""Events are written once, counted after that, and never in the way."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from coxswain.shell import events
from coxswain.shell.cluster import Cluster, Manifest, Resource
from coxswain.shell.errors import NotFound, Refused, Unavailable
from coxswain.shell.events import Recorder

JOB: Manifest = {
    "apiVersion": "coxswain.dev/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "mine", "namespace": "team", "uid": "u-1", "resourceVersion": "7"},
}


class Events(Cluster):
    """The events of a cluster."""

    def __init__(self) -> None:
        self.kept: dict[str, Manifest] = {}
        self.requests: list[str] = []
        self.fails: Exception | None = None

    async def create(self, resource: Resource, namespace: str | None, manifest: Any) -> Manifest:
        self._ask("create", resource, namespace)
        self.kept[manifest["metadata"]["name"]] = dict(manifest)
        return dict(manifest)

    async def merge(
        self, resource: Resource, namespace: str | None, name: str, patch: Any, subresource: str | None = None
    ) -> Manifest:
        self._ask("merge", resource, namespace)
        assert subresource is None
        if name not in self.kept:
            raise NotFound(404, "gone")
        self.kept[name] |= patch
        return self.kept[name]

    def _ask(self, verb: str, resource: Resource, namespace: str | None) -> None:
        assert (resource.plural, namespace) == ("events", "team")
        self.requests.append(verb)
        if self.fails:
            raise self.fails


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 11, 16, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


def test_an_event_says_what_happened_to_whom() -> None:
    cluster = Events()
    asyncio.run(Recorder(cluster, Clock()).emit(JOB, "Started", "Attempt 1 has started.", warning=True))
    (event,) = cluster.kept.values()
    assert event["involvedObject"] == {
        "apiVersion": "coxswain.dev/v1alpha1",
        "kind": "TrainingJob",
        "namespace": "team",
        "name": "mine",
        "uid": "u-1",
        "resourceVersion": "7",
    }
    assert [event[key] for key in ("type", "reason", "message", "count", "firstTimestamp")] == [
        "Warning",
        "Started",
        "Attempt 1 has started.",
        1,
        "2026-11-16T12:00:00Z",
    ]


def test_the_same_again_is_counted_and_quick_repeats_cost_no_request() -> None:
    cluster, clock = Events(), Clock()
    recorder = Recorder(cluster, clock)

    async def run() -> None:
        for _ in range(100):
            await recorder.emit(JOB, "NoRoom", "The queue is full.")
        clock.time += timedelta(seconds=60)
        await recorder.emit(JOB, "NoRoom", "The queue is full.")

    asyncio.run(run())
    (event,) = cluster.kept.values()
    assert (event["count"], event["lastTimestamp"]) == (101, "2026-11-16T12:01:00Z")
    assert cluster.requests == ["create", "merge"]


def test_another_message_object_or_time_is_another_event() -> None:
    cluster, clock = Events(), Clock()
    recorder = Recorder(cluster, clock)
    other = {**JOB, "metadata": {**JOB["metadata"], "uid": "u-2"}}

    async def run() -> None:
        await recorder.emit(JOB, "NoRoom", "The queue is full.")
        await recorder.emit(JOB, "NoRoom", "The queue is still full.")
        await recorder.emit(other, "NoRoom", "The queue is full.")
        clock.time += timedelta(hours=1)
        await recorder.emit(JOB, "NoRoom", "The queue is full.")

    asyncio.run(run())
    assert [event["count"] for event in cluster.kept.values()] == [1] * 4


def test_an_event_that_has_expired_is_written_anew() -> None:
    cluster, clock = Events(), Clock()
    recorder = Recorder(cluster, clock)

    async def run() -> None:
        await recorder.emit(JOB, "NoRoom", "The queue is full.")
        cluster.kept.clear()
        clock.time += timedelta(minutes=1)
        await recorder.emit(JOB, "NoRoom", "The queue is full.")

    asyncio.run(run())
    (event,) = cluster.kept.values()
    assert event["count"] == 1


@pytest.mark.parametrize("error", [Unavailable(0, "out of reach"), Refused(403, "the namespace is being terminated")])
def test_what_cannot_be_written_is_logged_and_tried_again(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    cluster = Events()
    recorder = Recorder(cluster, Clock())

    async def run() -> None:
        cluster.fails = error
        await recorder.emit(JOB, "Started", "Attempt 1 has started.")
        cluster.fails = None
        await recorder.emit(JOB, "Started", "Attempt 1 has started.")

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    assert str(error) in caplog.text
    assert len(cluster.kept) == 1


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_MOST_REMEMBERED", 10)
    recorder = Recorder(Events(), Clock())

    async def run() -> None:
        for number in range(50):
            await recorder.emit(JOB, "Epoch", f"Epoch {number}.")

    asyncio.run(run())
    assert len(recorder._written) == 10


def test_a_long_message_is_cut_to_what_the_server_takes() -> None:
    cluster = Events()
    asyncio.run(Recorder(cluster, Clock()).emit(JOB, "Failed", "é" * 1_000))
    (event,) = cluster.kept.values()
    assert len(event["message"].encode()) == 1_024
