"""The operator as a whole, given a cluster in memory: what one job's doings mean for others, and which watch spoke."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from coxswain.core.api.status import render_time
from coxswain.core.jobs.view import Trained
from coxswain.shell.cluster import JOBS, PODS
from coxswain.shell.operator import Kind, Wake
from coxswain.shell.wakeups import Wakeups
from tests.unit.forecasts.making import PER_EPOCH
from tests.unit.forecasts.test_load import taught
from tests.unit.shell.test_cold_starts import HERE, Trial

SOON = 10.0
QUEUE, FIRST = Wake(Kind.QUEUE, "", "default"), Wake(Kind.JOB, HERE, "first")


class Later(Trial):
    """One in which time passes when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0
        self.operator.wakeups = Wakeups(lambda: self.time)

    async def looked_at(self, seconds: float = 0.0) -> set[Wake]:
        """All that is looked at within some seconds."""
        self.time += seconds
        wakeups, found = self.operator.wakeups, set()
        wakeups._promote()
        while len(wakeups):
            wake, _ = await wakeups.next()
            await self.operator._look_at(wake)
            wakeups.done(wake)
            found.add(wake)
        return found


@pytest.fixture
def trial() -> Iterator[Later]:
    trial = Later()
    yield trial
    trial.operator._processes.shutdown()


async def begin(trial: Later, name: str) -> None:
    """A job of a family that is known is created, and the queue starts it."""
    await trial.apply(name, parameters={"epochs": 20}, resources={"coresPerWorker": "1"})
    trial.operator.learning._models[trial.operator._family(trial.job(name))] = taught([1.0, 2.0])
    await trial.operator._look_at(QUEUE)


def finish(trial: Later) -> datetime:
    forecast = trial.job("first").status.forecast
    assert forecast is not None
    assert forecast.finish_time is not None
    return forecast.finish_time


async def train_half(trial: Later) -> None:
    """The first job began a while ago, and has done half of its epochs alone."""
    await begin(trial, "first")
    now = datetime.now(UTC)
    manifest = trial.memory.objects["TrainingJob", HERE, "first"]
    manifest["status"]["attempts"][0]["startTime"] = render_time(now - timedelta(seconds=60))
    trial.operator.cache.put(JOBS, await trial.memory.replace(JOBS, manifest))
    done = Trained(now, "training", 10, 20, PER_EPOCH, epoch_seconds=(PER_EPOCH,) * 10)
    trial.operator.progress._trained[manifest["metadata"]["uid"]] = done
    await trial.looked_at(SOON)
    assert FIRST not in await trial.looked_at(SOON)


def test_the_first_forecast_that_is_kept_of_a_job_knows_of_its_wait(trial: Later) -> None:
    async def play() -> None:
        names = ("first", "second", "third", "fourth", "last")
        for name in names[:-1]:
            await begin(trial, name)
        await trial.apply("last", parameters={"epochs": 20}, resources={"coresPerWorker": "1"})
        trial.operator.learning._models[trial.operator._family(trial.job("last"))] = taught([1.0, 2.0])
        # It is looked at before the queue is planned with it.
        await trial.operator._look_at(Wake(Kind.JOB, HERE, "last"))
        assert trial.job("last").status.issued is None
        await trial.operator._look_at(QUEUE)
        await trial.operator._look_at(Wake(Kind.JOB, HERE, "last"))

    asyncio.run(play())
    last = trial.job("last").status
    assert (last.state, last.attempt) == ("Pending", None)
    assert last.issued
    assert last.issued.first
    assert last.issued.first.finish_time
    took = last.issued.first.duration_seconds.expected
    assert (last.issued.first.finish_time - datetime.now(UTC)).total_seconds() > 1.5 * took


def test_running_jobs_are_forecast_again_when_another_starts(trial: Later) -> None:
    async def play() -> tuple[datetime, datetime]:
        await train_half(trial)
        alone = finish(trial)
        await begin(trial, "second")
        assert trial.job("second").status.attempt is not None
        assert FIRST in await trial.looked_at(SOON)
        return alone, finish(trial)

    alone, together = asyncio.run(play())
    # The ten epochs that are left take twice as long.
    assert (together - alone).total_seconds() == pytest.approx(10 * PER_EPOCH, rel=0.2)


def test_running_jobs_are_forecast_again_when_another_is_gone(trial: Later) -> None:
    async def play() -> tuple[datetime, datetime]:
        await begin(trial, "second")
        await train_half(trial)
        together = finish(trial)
        trial.operator.seen(JOBS, trial.memory.objects["TrainingJob", HERE, "second"], gone=True)
        assert FIRST in await trial.looked_at(SOON)
        return together, finish(trial)

    together, alone = asyncio.run(play())
    assert alone < together


def test_a_job_that_waits_in_kueue_slows_nobody_down_until_it_is_started(trial: Later) -> None:
    async def put_second(*, queued: bool) -> None:
        manifest = trial.memory.objects["TrainingJob", HERE, "second"]
        manifest["status"]["attempts"][0]["queued"] = queued
        trial.operator.cache.put(JOBS, await trial.memory.replace(JOBS, manifest))

    async def play() -> list[datetime]:
        await train_half(trial)
        found = [finish(trial)]
        await begin(trial, "second")
        for queued in (True, False):
            await put_second(queued=queued)
            await trial.operator._look_at(FIRST)
            found.append(finish(trial))
        return found

    alone, beside, together = asyncio.run(play())
    assert alone == beside < together


def test_each_watch_speaks_for_itself_alone(trial: Later) -> None:
    async def play() -> str | None:
        await trial.apply("train")
        for _ in range(3):
            trial.operator.health.resynced(missed={JOBS.kind, PODS.kind})
        trial.operator.seen(JOBS, trial.memory.objects["TrainingJob", HERE, "train"], gone=False)
        return trial.operator.health.problem()

    assert "The watch of Pod objects is dead" in str(asyncio.run(play()))
