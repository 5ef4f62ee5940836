"""Recorded runs as jobs that come over time: what would have come of policies in a queue.

Jobs of all contexts come mixed, as a Poisson stream, to servers of which each runs one at a time. Utilisation is what
the jobs would cause with the mean time of their candidates. As without a queue, a job is predicted by models that have
not seen its context. The oracle plans as ours does, but knows the true times and values. With contention, recorded
times are those of a job alone; ours and the oracle know how much it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from coxswain.core.baselines.backtest import FOLDS, clustered_error, dealt, gain_of, jobs_of
from coxswain.core.baselines.deadlines import Deadlines
from coxswain.core.baselines.policies import POLICIES, Coxswain, Jobs, Policy, check_policies
from coxswain.core.baselines.queued import SERVER, Arrival, Served, first_come, steered
from coxswain.core.baselines.recorded import Context, Recorded
from coxswain.core.errors import InputError
from coxswain.core.models.types import Floats
from coxswain.core.planning import Candidate, Times, exactly, strictest

# Those that plan together; the others choose as jobs come.
PLANNED = ("coxswain", "oracle")
# A job is out of patience after so many usual runs.
PATIENCE = 30.0


@dataclass(frozen=True)
class Poisson:
    """Jobs come independently of each other, so many that the servers would be busy for this share of the time."""

    utilisation: float

    def draw(self, usual: float, servers: int, count: int, rng: np.random.Generator) -> Floats:
        """When so many jobs come that usually take so long."""
        return np.cumsum(rng.exponential(usual / (servers * self.utilisation), count))


def parse_arrivals(text: str) -> Poisson:
    """What `poisson:0.8` means.

    Raises:
        InputError: if it is something else.
    """
    kind, _, number = text.partition(":")
    try:
        utilisation = float(number)
    except ValueError:
        utilisation = 0.0
    if kind != "poisson" or not 0 < utilisation <= 10:
        raise InputError(f"arrivals {text} are unknown; write poisson:UTILISATION with a number above 0, such as 0.8.")
    return Poisson(utilisation)


@dataclass(frozen=True)
class QueuedResult:
    """What came of one policy, in shares of 1; None where there is nothing to take a share of."""

    name: str
    jobs: int
    met: float
    met_of_feasible: float | None
    """Of the jobs that some candidate could have met if nobody else had come."""
    promised: float
    kept_of_promised: float | None
    kept_error: float | None
    """The standard error of it, with the context as the unit."""
    accuracy: float | None
    """Mean value of the runs that were in time."""
    gain: float | None
    mean_wait: float
    longest_wait: float
    wait_bounds_held: float | None
    """The share of jobs that waited no longer than they had been told when they came."""


@dataclass(frozen=True, eq=False)
class _Job:
    """One job that is to come: its context, as ours and as the oracle sees it, and what other policies pick for it."""

    context: Context
    ours: Arrival
    oracle: Arrival
    picks: Mapping[str, tuple[int, bool]]

    def at(self, comes: float) -> "_Job":
        """The same job, coming then."""
        due = self.ours.due + comes
        return replace(
            self, ours=replace(self.ours, comes=comes, due=due), oracle=replace(self.oracle, comes=comes, due=due)
        )


def backtest_queue(
    recorded: Recorded,
    *,
    policies: Sequence[str],
    deadlines: Deadlines,
    confidence: float,
    repetitions: int,
    arrivals: Poisson,
    servers: int,
    contention: float = 0.0,
    seed: int = 0,
    folds: int = FOLDS,
    progress: Callable[[str], None] = lambda _: None,
) -> list[QueuedResult]:
    """Try policies on jobs of every context, so many a context, that share servers.

    Raises:
        InputError: if there is no such policy.
    """
    check_policies(policies)
    wanted = list(dict.fromkeys([*policies, "minimum", "oracle"]))
    rng = np.random.default_rng(seed)
    drawn: list[_Job] = []
    for own, lessons in dealt(recorded, folds, seed, rng):
        progress(f"contexts {', '.join(str(context.number + 1) for context in own)}")
        learned = {name: POLICIES[name](lessons) for name in wanted}
        for context in own:
            jobs = jobs_of(context, deadlines, repetitions, rng)
            drawn += _drawn(jobs, learned, confidence, family=f"without {own[0].number}")
    usual = float(np.mean([job.context.usual.mean() for job in drawn]))
    comes = arrivals.draw(usual, servers, len(drawn), rng)
    queue = [drawn[place].at(time) for place, time in zip(rng.permutation(len(drawn)), comes.tolist(), strict=True)]
    served = {}
    for name in wanted:
        progress(f"queue of {name}")
        served[name] = _served(name, queue, servers, usual, contention)
    worth = {name: _worth(queue, each) for name, each in served.items()}
    return [_result(name, queue, served[name], worth) for name in policies]


def _drawn(jobs: Jobs, learned: Mapping[str, Policy], confidence: float, family: str) -> Iterator[_Job]:
    context, ours = jobs.context, learned.get("coxswain")
    seen = ours.foresee(context, confidence) if isinstance(ours, Coxswain) else None
    rng = np.random.default_rng(context.number)
    picks = {name: policy.pick(jobs, confidence, rng) for name, policy in learned.items() if name not in PLANNED}
    for number, (within, seconds) in enumerate(zip(jobs.deadlines.tolist(), jobs.seconds, strict=True)):
        known = _candidates([exactly(float(time)) for time in seconds], context.values)
        oracle = Arrival(f"job {context.number}-{number}", 0.0, within, known, seconds, confidence=confidence)
        job = oracle
        if seen is not None:
            job = replace(
                oracle,
                candidates=_candidates(seen.times, seen.values),
                requested=int(np.argmax(seen.values)),
                level=seen.level or strictest(confidence),
                family=family,
            )
        chosen = {name: (int(each.chosen[number]), bool(each.promised[number])) for name, each in picks.items()}
        yield _Job(context, job, oracle, chosen)


def _candidates(times: Sequence[Times], values: Floats) -> tuple[Candidate, ...]:
    return tuple(Candidate({}, SERVER, each, float(value)) for each, value in zip(times, values, strict=True))


def _served(name: str, queue: Sequence[_Job], servers: int, usual: float, contention: float) -> list[Served]:
    if name in PLANNED:
        jobs = [job.ours if name == "coxswain" else job.oracle for job in queue]
        return steered(jobs, servers, patience=PATIENCE * usual, least_span=usual, contention=contention)
    choices, promised = zip(*(job.picks[name] for job in queue), strict=True)
    return first_come([job.ours for job in queue], choices, servers, promised, contention=contention)


def _worth(queue: Sequence[_Job], served: Sequence[Served]) -> Floats:
    """What each job was worth: as it was measured if it was in time, and else as the worst of its context."""
    return np.array(
        [
            job.context.values[each.choice] if each.ends <= job.ours.due else job.context.values.min()
            for job, each in zip(queue, served, strict=True)
        ]
    )


def _result(name: str, queue: Sequence[_Job], served: Sequence[Served], worth: Mapping[str, Floats]) -> QueuedResult:
    met = np.array([each.ends <= job.ours.due for job, each in zip(queue, served, strict=True)])
    values = np.array([job.context.values[each.choice] for job, each in zip(queue, served, strict=True)])
    promised = np.array([each.promised for each in served])
    waits = np.array([each.starts - job.ours.comes for job, each in zip(queue, served, strict=True)])
    told = np.array([np.nan if each.told_wait is None else each.told_wait for each in served])
    contexts = np.array([job.context.number for job in queue])
    possible = np.array([job.ours.seconds.min() <= job.ours.due - job.ours.comes for job in queue])
    known = np.isfinite(told)
    kept = met[promised]
    return QueuedResult(
        name=name,
        jobs=len(queue),
        met=float(met.mean()),
        met_of_feasible=float(met[possible].mean()) if possible.any() else None,
        promised=float(promised.mean()),
        kept_of_promised=float(kept.mean()) if len(kept) else None,
        kept_error=clustered_error(kept, contexts[promised]) if len(kept) else None,
        accuracy=float(values[met].mean()) if met.any() else None,
        gain=gain_of(worth[name], worth["minimum"], worth["oracle"]),
        mean_wait=float(waits.mean()),
        longest_wait=float(waits.max()),
        wait_bounds_held=float((waits[known] <= told[known] + 1e-6).mean()) if known.any() else None,
    )
