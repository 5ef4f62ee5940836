"""Other processes for what takes long: models, analyses and searches, which would hold up everything else here.

A process that dies, most likely because the kernel took it for its memory, takes its whole pool along for good. So a
pool that is found broken is replaced by a new one, and what was under way is tried once more there: if it was not what
killed the process it succeeds, and if it was, that is an error of this piece of work and of no other that follows.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TypeVar, TypeVarTuple

_log = logging.getLogger("coxswain")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Processes:
    """Some processes, whatever becomes of any of them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = self._new()

    async def run(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """What a piece of work gives; all of it must be fit to be sent to another process.

        Raises:
            BrokenProcessPool: if a process died twice while this was under way.
        """
        try:
            return await self._run(work, *arguments)
        except BrokenProcessPool:
            _log.warning("a process died, perhaps for want of memory; its work is tried once more")
            return await self._run(work, *arguments)

    def shutdown(self) -> None:
        """No more work is to come, and nobody waits for what is under way."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        pool = self._pool
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)
        except BrokenProcessPool:
            if self._pool is pool:  # of several whose work broke with it, the first replaces it
                self._pool = self._new()
            raise

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._count, mp_context=get_context("spawn"))
