"""What to look at next: a queue of keys in which each stands at most once, and a list of times to look again.

A key that is woken while it is being looked at is looked at once more afterwards, and never by two at a time.
"""

import asyncio
import heapq
import itertools
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0


class Wakeups(Generic[K]):
    """Keys to look at, now or later. `clock` is monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ready: deque[K] = deque()
        self._since: dict[K, float] = {}
        self._busy: set[K] = set()
        self._again: set[K] = set()
        self._later: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._failures: dict[K, int] = {}
        self._order = itertools.count()
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ready)

    def wake(self, key: K) -> None:
        """Look at a key soon."""
        if key in self._busy:
            self._again.add(key)
        elif key not in self._since:
            self._since[key] = self._clock()
            self._ready.append(key)
            self._changed.set()

    def wake_in(self, key: K, seconds: float) -> None:
        """Look at a key in a while; if it is to be looked at sooner anyway, that is enough."""
        due = self._clock() + max(seconds, 0.0)
        if due < self._due.get(key, float("inf")):
            self._due[key] = due
            heapq.heappush(self._later, (due, next(self._order), key))
            self._changed.set()

    async def next(self) -> tuple[K, float]:
        """The next key to look at, once there is one, and how many seconds it has waited."""
        while True:
            self._promote()
            if self._ready:
                key = self._ready.popleft()
                self._busy.add(key)
                return key, self._clock() - self._since.pop(key)
            self._changed.clear()
            pause = self._later[0][0] - self._clock() if self._later else None
            try:
                await asyncio.wait_for(self._changed.wait(), pause)
            except TimeoutError:
                continue

    def done(self, key: K, *, failed: bool = False) -> float | None:
        """The key has been looked at; after a failure it is looked at again, each time after a longer pause."""
        self._busy.discard(key)
        pause = None
        if failed:
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            pause = min(_FIRST_PAUSE * 2 ** min(failures - 1, 10), _LONGEST_PAUSE)
            self.wake_in(key, pause)
        else:
            self._failures.pop(key, None)
        if key in self._again:
            self._again.discard(key)
            if not failed:
                self.wake(key)
        return pause

    def _promote(self) -> None:
        now = self._clock()
        while self._later and self._later[0][0] <= now:
            due, _, key = heapq.heappop(self._later)
            if self._due.get(key) == due:
                del self._due[key]
                self.wake(key)
