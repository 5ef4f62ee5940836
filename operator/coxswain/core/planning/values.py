"""What a plan is made from, and what it says: plain values without a clock, a cluster or a generator in them.

Times are seconds; `now` and deadlines count from the same arbitrary origin. Cores are millicores, so that sums of them
are exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from coxswain.core.errors import InputError
from coxswain.core.factors import Level
from coxswain.core.models.types import Floats
from coxswain.core.planning.times import SCORES, Times, score_at

DAY = 86_400.0
# Scores of evenly likely starts, to be combined with a duration.
_MIDDLES: Floats = np.asarray(ndtri((np.arange(50) + 0.5) / 50), dtype=float)


@dataclass(frozen=True)
class Capacity:
    """What jobs of a queue share, or what one of them needs: millicores and GPUs."""

    cores: int
    gpus: int = 0

    def holds(self, need: "Capacity") -> bool:
        """Whether a need fits into it."""
        return need.cores <= self.cores and need.gpus <= self.gpus


class Infeasible(StrEnum):
    """What happens to a job that has no setting with which it is sure enough to be in time."""

    RUN_ANYWAY = "RunAnyway"
    HOLD = "Hold"
    FAIL = "Fail"


@dataclass(frozen=True, eq=False)
class Candidate:
    """One setting that a job may be given: what it needs, how long it takes, and how much it is worth.

    `value` is what the job's objective wants more of: predicted accuracy, work done, or money saved.
    """

    settings: Mapping[str, Level]
    need: Capacity
    times: Times
    value: float = 0.0


@dataclass(frozen=True, eq=False)
class Opening:
    """Where a late job would find its place if it asked for less.

    `start` is in how many seconds from now, `slack` by how many it may delay those behind it.
    """

    start: Times
    slack: float
    capacity: Capacity

    def takes(self, candidate: Candidate, within: float, level: float) -> bool:
        """Whether a setting would be done within so many seconds from now, at a level, and make nobody late."""
        if not self.capacity.holds(candidate.need):
            return False
        share = candidate.need.cores / self.capacity.cores
        if self.capacity.gpus:
            share = max(share, candidate.need.gpus / self.capacity.gpus)
        return candidate.times.mean * share <= self.slack and self.chance(candidate.times, within) >= level

    def chance(self, times: Times, within: float) -> float:
        """The probability to wait, run and be done within so many seconds."""
        starts = np.interp(_MIDDLES, SCORES, self.start.values)
        return float(np.mean(ndtr(score_at(times.values, within - starts))))


@dataclass(frozen=True, eq=False)
class Pending:
    """A job that waits.

    `requested` and `current` are places in `candidates`: what the user asked for, and what it has been given so far.
    `news` says whether anything has been observed since that was chosen; without news it is changed only when it has
    become too slow. `promised` says that it has been told that it will be in time: it is not given up for one that has
    not. Jobs of one `family` are predicted by one model and so are wrong together. `level` is what a chance has to be
    before it is promised, so that promises are kept with the `confidence` asked for; by default that itself.
    """

    name: str
    created: float
    candidates: tuple[Candidate, ...]
    requested: int = 0
    current: int | None = None
    news: bool = True
    promised: bool = False
    priority: int = 0
    deadline: float | None = None
    confidence: float = 0.95
    level: float | None = None
    when_infeasible: Infeasible = Infeasible.RUN_ANYWAY
    family: str = ""

    def __post_init__(self) -> None:
        if not self.candidates:
            raise InputError(f"job {self.name} has no setting to run with; give at least the one requested.")
        for share in (self.confidence, self.asks_for):
            if not 0 < share < 1:
                raise InputError(f"job {self.name}: the confidence must lie between 0 and 1, not at {share:g}.")
        for place in (self.requested, self.current):
            if place is not None and not 0 <= place < len(self.candidates):
                raise InputError(f"job {self.name} has {len(self.candidates)} candidates, so there is no {place}.")

    @property
    def asks_for(self) -> float:
        """What its chance has to be before it is told that it will be in time."""
        return self.confidence if self.level is None else self.level


@dataclass(frozen=True, eq=False)
class Running:
    """A job that runs: what it holds and how long it still takes; its deadline counts as harm if a plan slows it."""

    name: str
    need: Capacity
    remaining: Times
    deadline: float | None = None
    confidence: float = 0.95
    family: str = ""


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Jobs that will come: how many a second, what each needs, how long it takes, and how soon it is due."""

    rate: float
    need: Capacity
    times: Times
    due: Times
    """From its arrival to its deadline, or to when it has waited for long enough."""
    priority: int = 0


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Everything a plan depends on.

    `contention` is by how much a job slows down when everything else is busy: its time is multiplied by
    1 + contention × (share of the cores that others use). `patience` is after how many seconds a job without a
    deadline, or without a chance to meet it, goes ahead of the others of its priority.
    """

    now: float
    capacity: Capacity
    pending: tuple[Pending, ...]
    running: tuple[Running, ...] = ()
    arrivals: Arrivals | None = None
    contention: float = 0.0
    patience: float = DAY


class Quantiles(NamedTuple):
    """A time as it is told: the median, and the one that holds with the job's confidence; None if never."""

    median: float | None
    bound: float | None


class Forecast(NamedTuple):
    """When a job starts and finishes (counted as `now` is), how long it waits, and its chance to be in time.

    One flat value a job: there may be a hundred thousand of them.
    """

    now: float
    start_median: float | None
    start_bound: float | None
    finish_median: float | None
    finish_bound: float | None
    chance: float | None

    @property
    def start(self) -> Quantiles:
        """When it starts."""
        return Quantiles(self.start_median, self.start_bound)

    @property
    def finish(self) -> Quantiles:
        """When it is done."""
        return Quantiles(self.finish_median, self.finish_bound)

    @property
    def wait(self) -> Quantiles:
        """How long it still waits."""
        return Quantiles(*(None if each is None else each - self.now for each in self.start))


class Decision(NamedTuple):
    """What is to be done with one pending job.

    `choice` is the place of the setting among its candidates; where that is a change, `before` is the forecast without.
    """

    name: str
    choice: int
    starts_now: bool
    forecast: Forecast
    attainable: bool | None
    """Whether the deadline is met with the confidence asked for; None without a deadline."""
    reason: str
    before: Forecast | None = None
    remedy: str | None = None
    """Of a job that is not attainable: what would do without asking for less."""
    opening: Opening | None = None
    """Of a job that is not attainable: where it would find its place if it asked for less."""


@dataclass(frozen=True)
class Plan:
    """Decisions on all pending jobs, in the order in which they are to start."""

    decisions: tuple[Decision, ...]

    def decision(self, name: str) -> Decision:
        """The decision on a job."""
        return next(each for each in self.decisions if each.name == name)
