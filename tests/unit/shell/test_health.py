"""Probes: what makes the operator alive and ready, and what does not."""

import asyncio
import time

import aiohttp
import pytest

from coxswain.shell.health import Health, measure_lag, served


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health(resync_seconds=60, clock=clock)


def later(health: Health, clock: Clock, seconds: float) -> None:
    """Time passes, and the loop is well all the time."""
    clock.time += seconds
    health.beat(0.0)


def test_a_new_process_lives_and_is_not_ready(health: Health) -> None:
    assert health.problem() is None
    assert not health.ready


def test_a_standby_is_ready_and_needs_no_resync(health: Health, clock: Clock) -> None:
    health.standing_by()
    later(health, clock, 86_400)
    assert health.ready
    assert health.problem() is None


def test_a_leader_is_ready_after_its_first_resync(health: Health) -> None:
    health.standing_by()
    health.started()
    assert not health.ready
    health.resynced(missed=())
    assert health.ready


def test_a_leader_without_resyncs_is_replaced(health: Health, clock: Clock) -> None:
    health.started()
    later(health, clock, 239)
    assert health.problem() is None
    later(health, clock, 2)
    assert health.problem() == "No resync has been done for 241 s."
    health.resynced(missed=())
    assert health.problem() is None


def test_changes_that_no_watch_tells_of_mean_a_dead_watch(health: Health) -> None:
    health.started()
    for _ in range(2):
        health.resynced(missed=["Pod"])
    assert health.problem() is None
    health.resynced(missed=["Pod"])
    assert health.problem() == "The watch of Pod objects is dead: 3 resyncs found changes that it had not told of."


def test_a_single_word_of_the_watch_itself_is_enough(health: Health) -> None:
    health.started()
    for _ in range(2):
        health.resynced(missed=["Pod"])
    health.watch_spoke("Pod")
    for _ in range(2):
        health.resynced(missed=["Pod"])
    assert health.problem() is None


def test_words_of_other_watches_do_not_hide_a_dead_one(health: Health) -> None:
    health.started()
    for _ in range(3):
        health.watch_spoke("TrainingJob")
        health.resynced(missed=["TrainingJob", "Pod"])
        health.watch_spoke("TrainingJob")
    assert "The watch of Pod objects is dead" in str(health.problem())


def test_a_dead_watch_is_noticed_though_nothing_happens_between_what_it_misses(health: Health) -> None:
    health.started()
    for _ in range(3):
        health.resynced(missed=["Pod"])
        health.resynced(missed=())
    assert "The watch of Pod objects is dead" in str(health.problem())


def test_a_change_of_each_of_several_kinds_is_no_dead_watch(health: Health) -> None:
    health.started()
    for kind in ("Pod", "Job", "Node"):
        health.resynced(missed=[kind])
    assert health.problem() is None


def test_a_late_or_unmeasured_loop_is_a_problem(health: Health, clock: Clock) -> None:
    health.beat(16)
    assert health.problem() == "The event loop was stuck for 16 s."
    health.beat(0.1)
    assert health.problem() is None
    clock.time += 31
    assert health.problem() == "The event loop has not been measured for 31 s."


def test_lag_is_measured() -> None:
    async def run() -> list[float]:
        lags: list[float] = []
        measuring = asyncio.create_task(measure_lag(Health(60), lags.append))
        await asyncio.sleep(0.5)
        time.sleep(0.8)  # noqa: ASYNC251 - a stuck loop is what is measured
        await asyncio.sleep(0.2)
        measuring.cancel()
        return lags

    assert asyncio.run(run())[0] > 0.2


def test_probes_are_answered_with_the_reason() -> None:
    async def ask(port: int) -> list[tuple[int, str]]:
        async with aiohttp.ClientSession() as session:
            answers = []
            for path in ("livez", "readyz"):
                async with session.get(f"http://127.0.0.1:{port}/{path}") as response:
                    answers.append((response.status, await response.text()))
            return answers

    async def run() -> None:
        health = Health(60)
        async with served(health, 0) as port:
            assert await ask(port) == [(200, "ok"), (503, "Caches are incomplete.")]
            health.standing_by()
            health.beat(20)
            assert await ask(port) == [(503, "The event loop was stuck for 20 s."), (200, "ok")]

    asyncio.run(run())
