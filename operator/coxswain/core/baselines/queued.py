"""Policies for jobs that come over time to servers they share: planned together, or one by one as they come.

Ours plans anew whenever a job comes or ends, and starts what the plan starts. The seeds choose when a job comes, as if
nobody waited, and serve first come, first served. Everything here is a simulation: predictions are what a policy sees,
and `seconds` what truly happens to a job that runs alone. Jobs that run at the same time slow each other down where
there is contention; how much of it the planner believes in is another matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from coxswain.core.baselines.servers import Servers
from coxswain.core.models.types import Floats
from coxswain.core.planning import Came, Candidate, Capacity, Pending, Running, Snapshot, Times, arrivals_like, plan

SERVER = Capacity(1000)
# The least that is thought to be left of a run that has taken longer than it should.
_LEAST_LEFT = 0.5


@dataclass(frozen=True, eq=False)
class Arrival:
    """A job: when it comes and is due, its settings as they are predicted, and how long each truly takes alone.

    `requested` is what it would run with if nobody chose; `level` what a chance has to be for a promise.
    """

    name: str
    comes: float
    due: float
    candidates: tuple[Candidate, ...]
    seconds: Floats
    requested: int = 0
    confidence: float = 0.95
    level: float | None = None
    family: str = ""


@dataclass(frozen=True)
class Served:
    """What became of a job: its setting, when it started and ended, and what it had been told when it came."""

    choice: int
    starts: float
    ends: float
    promised: bool = False
    told_wait: float | None = None
    """The bound of its wait."""


def first_come(
    jobs: Sequence[Arrival],
    choices: Sequence[int],
    servers: int,
    promised: Sequence[bool] | None = None,
    *,
    contention: float = 0.0,
) -> list[Served]:
    """Serve in the order of arrival, with settings that were chosen beforehand."""
    running = Servers(servers, contention)
    starts = []
    now = 0.0
    for job, choice in zip(jobs, choices, strict=True):
        while running.full or running.next_end <= job.comes:
            now = running.next_end
            running.end(now)
        now = max(now, job.comes)
        running.start(job.name, float(job.seconds[choice]), now)
        starts.append(now)
    while running.next_end < np.inf:
        running.end(running.next_end)
    told = promised if promised is not None else [False] * len(jobs)
    return [
        Served(choice, start, running.ended[job.name], bool(said))
        for job, choice, start, said in zip(jobs, choices, starts, told, strict=True)
    ]


def steered(
    jobs: Sequence[Arrival],
    servers: int,
    *,
    patience: float,
    least_span: float,
    contention: float = 0.0,
    believed: float | None = None,
) -> list[Served]:
    """Plan anew whenever a job comes or ends, and start what the plan starts; jobs are in the order of arrival.

    `least_span` is over how many seconds, at least, the rate of arrivals is taken. `believed` is the contention that
    the planner reckons with, by default the true one.
    """
    believed = contention if believed is None else believed
    queue = _Queue(jobs, Servers(servers, contention), believed, patience, least_span)
    while queue.coming or queue.running:
        queue.step()
    return [queue.served[job.name] for job in jobs]


class _Queue:
    """Who is to come, waits, runs and is served, as time goes on."""

    def __init__(
        self, jobs: Sequence[Arrival], servers: Servers, believed: float, patience: float, least_span: float
    ) -> None:
        self.coming = list(jobs)[::-1]
        self.running: dict[str, Arrival] = {}
        self.served: dict[str, Served] = {}
        self._waiting: dict[str, Arrival] = {}
        self._told: dict[str, Served] = {}
        """What those who wait were told first, with the setting that they have been given since."""
        self._came: list[Arrival] = []
        self._servers, self._believed, self._patience, self._least_span = servers, believed, patience, least_span

    def step(self) -> None:
        """Go on to when the next job comes or ends."""
        now = min([self._servers.next_end] + [job.comes for job in self.coming[-1:]])
        for name in self._servers.end(now):
            del self.running[name]
            self.served[name] = replace(self.served[name], ends=now)
        while self.coming and self.coming[-1].comes <= now:
            job = self.coming.pop()
            self._waiting[job.name] = job
            self._came.append(job)
        if self._waiting and not (self._servers.full and self._waiting.keys() <= self._told.keys()):
            self._decide(now)

    def _decide(self, now: float) -> None:
        snapshot = Snapshot(
            now=now,
            capacity=Capacity(SERVER.cores * self._servers.count),
            pending=tuple(self._pending(job) for job in self._waiting.values()),
            running=tuple(
                Running(name, SERVER, self._left(name, job, now), job.due, job.confidence, job.family)
                for name, job in self.running.items()
            ),
            arrivals=arrivals_like([self._seen(job) for job in self._came], now, least_span=self._least_span),
            contention=self._believed,
            patience=self._patience,
        )
        for decision in plan(snapshot, effort=0).decisions:
            job = self._waiting[decision.name]
            first = Served(decision.choice, np.inf, np.inf, bool(decision.attainable), decision.forecast.wait.bound)
            told = replace(self._told.get(job.name, first), choice=decision.choice)
            self._told[job.name] = told
            if decision.starts_now:
                self._servers.start(job.name, float(job.seconds[decision.choice]), now)
                self.served[job.name] = replace(told, starts=now)
                self.running[job.name] = self._waiting.pop(job.name)

    def _pending(self, job: Arrival) -> Pending:
        told = self._told.get(job.name)
        return Pending(
            job.name,
            job.comes,
            job.candidates,
            requested=job.requested,
            current=told.choice if told else None,
            promised=told.promised if told else False,
            deadline=job.due,
            confidence=job.confidence,
            level=job.level,
            family=job.family,
        )

    def _left(self, name: str, job: Arrival, now: float) -> Times:
        """What is left of a running job, by what was predicted and its own progress, at the pace it is thought to have.

        It is not done yet, so something is.
        """
        whole = job.candidates[self.served[name].choice].times
        left = np.maximum(whole.values - self._servers.done(name, now), _LEAST_LEFT)
        return Times(left * (1 + self._believed * self._servers.others), whole.shared)

    def _seen(self, job: Arrival) -> Came:
        told = self._told.get(job.name)
        times = job.candidates[told.choice if told else job.requested].times
        return Came(job.comes, SERVER, times.quantile(0.5), job.due - job.comes)
