"""Servers that run a job each, and jobs that slow each other down while they run at the same time.

With a contention c, a job beside others that use a share u of the servers is 1 + c · u times as slow as alone. Who
starts or ends changes the pace of all who go on: their work so far is counted at the pace they had, and what is left of
it goes on at the new one. Work is in seconds alone.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class _Run:
    """A job that runs: all its work, and how much of that was left when its pace changed last."""

    seconds: float
    left: float
    since: float


class Servers:
    """What runs, as time goes on; nobody may start, end or be looked at earlier than the last that started or ended."""

    def __init__(self, count: int, contention: float = 0.0) -> None:
        self.count, self._contention = count, contention
        self.ended: dict[str, float] = {}
        """When each of those that are done was."""
        self._runs: dict[str, _Run] = {}
        self._stretch = 1.0

    @property
    def full(self) -> bool:
        """Whether nobody else can start."""
        return len(self._runs) == self.count

    @property
    def others(self) -> float:
        """The share of the servers that others use, for each of those that run."""
        return max(len(self._runs) - 1, 0) / self.count

    @property
    def next_end(self) -> float:
        """When the first is done if nobody starts before; infinity if nobody runs."""
        return min((self._ends(run) for run in self._runs.values()), default=np.inf)

    def start(self, name: str, seconds: float, now: float) -> None:
        """A job starts that takes so long alone."""
        self._runs[name] = _Run(seconds, seconds, now)
        self._change_pace(now)

    def end(self, now: float) -> list[str]:
        """Who is done by now, no later than at the next end; they make room."""
        ended = [name for name, run in self._runs.items() if self._ends(run) <= now]
        for name in ended:
            del self._runs[name]
            self.ended[name] = now
        self._change_pace(now)
        return ended

    def done(self, name: str, now: float) -> float:
        """The work that a running job has behind it."""
        run = self._runs[name]
        return run.seconds - run.left + (now - run.since) / self._stretch

    def _ends(self, run: _Run) -> float:
        return run.since + run.left * self._stretch

    def _change_pace(self, now: float) -> None:
        # Where the pace stays as it is, ends do as well: to the last digit.
        stretch = 1 + self._contention * self.others
        if stretch != self._stretch:
            self._runs = {
                name: _Run(run.seconds, max(run.left - (now - run.since) / self._stretch, 0.0), now)
                for name, run in self._runs.items()
            }
            self._stretch = stretch
