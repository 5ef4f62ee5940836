"""Work in other processes, some of which die of it."""

import asyncio
import os
import signal
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from coxswain.shell.processes import Processes


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_the_first_time(mark: Path) -> str:
    if not mark.exists():
        mark.touch()
        die()
    return "done"


@pytest.fixture
def processes() -> Iterator[Processes]:
    processes = Processes(1)
    yield processes
    processes.shutdown()


def test_work_whose_process_died_is_tried_once_more(processes: Processes, tmp_path: Path) -> None:
    assert asyncio.run(processes.run(die_the_first_time, tmp_path / "mark")) == "done"


def test_work_that_kills_its_process_fails_and_what_follows_does_not(processes: Processes) -> None:
    async def play() -> int:
        with pytest.raises(BrokenProcessPool):
            await processes.run(die)
        return await processes.run(abs, -7)

    assert asyncio.run(play()) == 7


def test_errors_of_the_work_itself_are_raised_at_once(processes: Processes) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        asyncio.run(processes.run(int, "seven"))
