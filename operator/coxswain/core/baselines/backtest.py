"""What would have come of policies on recorded jobs, with whole contexts left out of what they learn from.

Contexts are dealt into folds; a policy learns from the other folds and picks for jobs of contexts it has never seen.
All policies get the same jobs: the same deadlines, and of a candidate that was run several times the same run.

The value of a job is what its candidate was measured to be worth if it is in time, and the least worth of its context
if not: who misses a deadline has gained nothing. `gain` places the mean value between that of always-minimum (0) and
that of the oracle (1).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coxswain.core.baselines.deadlines import Deadlines
from coxswain.core.baselines.policies import POLICIES, Jobs, Lessons, Policy, check_policies
from coxswain.core.baselines.recorded import Context, Recorded
from coxswain.core.models.types import Bools, Floats, Ints

FOLDS = 6
# Where fewer jobs than this share could be worth more than with always-minimum, a gain would be a ratio of accidents.
FEWEST_THAT_MATTER = 0.05


@dataclass(frozen=True)
class Result:
    """What came of one policy at one confidence, in shares of 1; None where there is nothing to take a share of."""

    name: str
    confidence: float
    jobs: int
    met: float
    met_of_feasible: float | None
    promised: float
    kept_of_promised: float | None
    kept_error: float | None
    """The standard error of it, with the context as the unit."""
    accuracy: float | None
    """Mean value of the runs that were in time."""
    gain: float | None


@dataclass(frozen=True, eq=False)
class _Outcome:
    """Of the jobs of one policy: their context, whether they were in time, promised, and what they were worth."""

    context: Ints
    met: Bools
    promised: Bools
    value: Floats
    worth: Floats


def backtest(
    recorded: Recorded,
    *,
    policies: Sequence[str],
    deadlines: Deadlines,
    confidences: Sequence[float],
    repetitions: int,
    seed: int = 0,
    folds: int = FOLDS,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Result]:
    """Try policies on jobs of every context, so many a context.

    Raises:
        InputError: if there is no such policy.
    """
    check_policies(policies)
    wanted = list(dict.fromkeys([*policies, "minimum", "oracle"]))
    rng = np.random.default_rng(seed)
    outcomes: dict[tuple[str, float], list[_Outcome]] = {(name, c): [] for name in wanted for c in confidences}
    feasible = []
    for own, lessons in dealt(recorded, folds, seed, rng):
        progress(f"contexts {', '.join(str(context.number + 1) for context in own)}")
        learned = {name: POLICIES[name](lessons) for name in wanted}
        for context in own:
            jobs = jobs_of(context, deadlines, repetitions, rng)
            feasible.append((jobs.seconds <= jobs.deadlines[:, None]).any(axis=1))
            for (name, confidence), found in outcomes.items():
                found.append(_outcome(learned[name], jobs, confidence, seed))
    possible = np.concatenate(feasible)
    together = {key: _joined(found) for key, found in outcomes.items()}
    return [
        _result(name, confidence, together[name, confidence], together, possible)
        for confidence in confidences
        for name in policies
    ]


def dealt(
    recorded: Recorded, folds: int, seed: int, rng: np.random.Generator
) -> Iterator[tuple[list[Context], Lessons]]:
    """Contexts by folds, each with the lessons that the others teach."""
    number = rng.permutation(len(recorded.contexts)) % min(folds, len(recorded.contexts))
    for fold in range(int(number.max()) + 1):
        own = [context for context, place in zip(recorded.contexts, number, strict=True) if place == fold]
        left_out = np.array([context.number for context in own])
        yield own, Lessons(*recorded.learning(left_out), recorded, seed)


def jobs_of(context: Context, deadlines: Deadlines, count: int, rng: np.random.Generator) -> Jobs:
    """So many jobs of a context, each with a deadline and one recorded run of each candidate."""
    seconds = np.column_stack([rng.choice(runs, count) for runs in context.seconds])
    return Jobs(context, deadlines.draw(context, count, rng), seconds)


def _outcome(policy: Policy, jobs: Jobs, confidence: float, seed: int) -> _Outcome:
    context = jobs.context
    picks = policy.pick(jobs, confidence, np.random.default_rng([seed, context.number]))
    count = len(jobs.deadlines)
    met = jobs.seconds[np.arange(count), picks.chosen] <= jobs.deadlines
    value = context.values[picks.chosen]
    worth = np.where(met, value, context.values.min())
    return _Outcome(np.full(count, context.number), met, picks.promised, value, worth)


def _joined(parts: Sequence[_Outcome]) -> _Outcome:
    return _Outcome(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in _Outcome.__dataclass_fields__)
    )


def _result(
    name: str, confidence: float, own: _Outcome, all_of_them: dict[tuple[str, float], _Outcome], possible: Bools
) -> Result:
    minimum, oracle = (all_of_them[other, confidence].worth for other in ("minimum", "oracle"))
    kept = own.met[own.promised]
    return Result(
        name=name,
        confidence=confidence,
        jobs=len(own.met),
        met=float(own.met.mean()),
        met_of_feasible=float(own.met[possible].mean()) if possible.any() else None,
        promised=float(own.promised.mean()),
        kept_of_promised=float(kept.mean()) if len(kept) else None,
        kept_error=clustered_error(kept, own.context[own.promised]) if len(kept) else None,
        accuracy=float(own.value[own.met].mean()) if own.met.any() else None,
        gain=gain_of(own.worth, minimum, oracle),
    )


def gain_of(worth: Floats, minimum: Floats, oracle: Floats) -> float | None:
    """Where the mean worth of jobs lies between that of always-minimum and that of the oracle."""
    matters = np.mean(oracle > minimum) >= FEWEST_THAT_MATTER and oracle.mean() > minimum.mean()
    return float((worth - minimum).mean() / (oracle - minimum).mean()) if matters else None


def clustered_error(kept: Bools, context: Ints) -> float:
    """Standard error of a share whose jobs come in contexts: those of one context fail or succeed together."""
    residual = kept - kept.mean()
    by_context = np.bincount(context, weights=residual)
    return float(np.sqrt(np.sum(by_context**2)) / len(kept))
