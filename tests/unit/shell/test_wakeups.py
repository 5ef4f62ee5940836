import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from coxswain.shell.wakeups import Wakeups


def run(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scene)


async def nothing_is_due(wakeups: Wakeups[str]) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(wakeups.next(), 0.02)


def test_a_key_stands_in_the_queue_once() -> None:
    async def scene() -> None:
        wakeups: Wakeups[str] = Wakeups()
        for key in ("a", "b", "a"):
            wakeups.wake(key)
        assert [(await wakeups.next())[0] for _ in range(2)] == ["a", "b"]
        await nothing_is_due(wakeups)

    run(scene())


def test_a_key_that_is_looked_at_is_not_given_out_again_until_done() -> None:
    async def scene() -> None:
        wakeups: Wakeups[str] = Wakeups()
        wakeups.wake("a")
        await wakeups.next()
        wakeups.wake("a")
        await nothing_is_due(wakeups)
        wakeups.done("a")
        assert (await wakeups.next())[0] == "a"

    run(scene())


def test_a_later_time_waits_and_an_earlier_one_replaces_it() -> None:
    async def scene() -> None:
        now = 0.0
        wakeups: Wakeups[str] = Wakeups(lambda: now)
        wakeups.wake_in("a", 100)
        wakeups.wake_in("a", 10)
        wakeups.wake_in("a", 50)
        now = 10.0
        assert (await wakeups.next())[0] == "a"
        wakeups.done("a")
        now = 200.0
        await nothing_is_due(wakeups)

    run(scene())


def test_a_wake_up_ends_the_wait_for_a_later_one() -> None:
    async def scene() -> None:
        wakeups: Wakeups[str] = Wakeups()
        wakeups.wake_in("later", 1000)
        waiting = asyncio.create_task(wakeups.next())
        await asyncio.sleep(0)
        wakeups.wake("now")
        assert (await waiting)[0] == "now"

    run(scene())


def test_pauses_after_failures_grow_and_are_forgotten_after_a_success() -> None:
    async def scene() -> None:
        now = 0.0
        wakeups: Wakeups[str] = Wakeups(lambda: now)
        wakeups.wake("a")
        pauses = []
        for _ in range(3):
            await wakeups.next()
            pause = wakeups.done("a", failed=True)
            assert pause is not None
            pauses.append(pause)
            now += pause
        assert pauses == [0.5, 1.0, 2.0]
        await wakeups.next()
        assert wakeups.done("a") is None
        wakeups.wake("a")
        await wakeups.next()
        assert wakeups.done("a", failed=True) == pauses[0]

    run(scene())
