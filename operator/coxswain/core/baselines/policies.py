"""Policies by name: ours, the seeds', and those that say how good one can and must be.

    coxswain   the best predicted value whose time is within the deadline with the confidence
    mean       the same by the predicted time alone, as if it were certain
    courier    Courier: best predicted accuracy among those whose time, predicted by a forest, is within the deadline
    fltk       FLTK: the most work whose time, by the mean of a regression and a forest, is within the deadline
    random     any candidate
    fixed      always what was best on average
    minimum    always what was fastest on average
    oracle     knows the true times and values

A policy learns from observations once and then picks for contexts it has not seen. A promise is what a policy itself
says: that the job will be in time. Policies that do not look at the deadline promise nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from coxswain.core.baselines.recorded import Context, Recorded
from coxswain.core.errors import InputError
from coxswain.core.models import Observations, fit
from coxswain.core.models.families import Family, Regressor
from coxswain.core.models.families.combined import DOE_FOREST
from coxswain.core.models.families.gaussian import GAUSSIAN_PROCESS, LOG_LOG
from coxswain.core.models.families.learners import BOOSTING, FOREST
from coxswain.core.models.fitted import FittedModel
from coxswain.core.models.observations import put_together
from coxswain.core.models.predictive import Predictive
from coxswain.core.models.scales import Scale
from coxswain.core.models.types import Bools, Floats, Ints
from coxswain.core.planning.planner import NEARLY
from coxswain.core.planning.promise import promise_level
from coxswain.core.planning.times import LEVELS, Times

# Those that are fitted after each run, as the operator does.
QUICK: tuple[Family, ...] = (LOG_LOG, GAUSSIAN_PROCESS)
# How often contexts are left out to see how far predicted differences of value come true.
TRUST_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs of one context: a deadline each, and the true seconds of each candidate (a column each)."""

    context: Context
    deadlines: Floats
    seconds: Floats


@dataclass(frozen=True, eq=False)
class Picks:
    """A candidate for each job, and which of them are promised to be in time."""

    chosen: Ints
    promised: Bools


class Policy(Protocol):
    """Something that has learned and can pick."""

    def pick(self, jobs: Jobs, confidence: float, rng: np.random.Generator) -> Picks:
        """A candidate for each of some jobs of one context."""


@dataclass(eq=False)
class Lessons:
    """Observations to learn from, and what several policies would otherwise fit twice."""

    time: Observations
    value: Observations
    recorded: Recorded
    seed: int

    @cached_property
    def time_model(self) -> FittedModel:
        """Our model of time."""
        return fit(self.time, families=QUICK, seed=self.seed)

    @cached_property
    def value_of(self) -> Callable[[Floats], Floats]:
        """Our predictions of value at the candidates of a context, as far apart as they proved to be elsewhere."""
        predict, trust = _ordering(self.value, self.seed), _trust(self.value, self.seed)

        def values(settings: Floats) -> Floats:
            predicted = predict(settings)
            return np.asarray(predicted.mean() + trust * (predicted - predicted.mean()), dtype=float)

        return values

    @cached_property
    def at_stake(self) -> float:
        """What a job loses that is late: how far the worst of a context is usually below its mean."""
        below = _within(self.value.y, self.value.units)
        return -float(np.mean([below[self.value.units == unit].min() for unit in np.unique(self.value.units)]))


def _ordering(value: Observations, seed: int) -> Callable[[Floats], Floats]:
    """Predictions of value of which the order counts most: the mean of unlike models orders best."""
    model = fit(value, families=QUICK, seed=seed)
    others = [_plain(family, value) for family in (FOREST, BOOSTING)]
    return lambda settings: np.mean(
        [model.predict_array(settings).point, *(other(settings) for other in others)], axis=0
    )


def _trust(value: Observations, seed: int) -> float:
    """How much of a predicted difference within a context comes true in contexts left out: 0 if it is mere noise."""
    contexts = np.unique(value.units)
    fold = np.random.default_rng(seed).permutation(len(contexts)) % min(TRUST_FOLDS, len(contexts))
    predicted = np.empty(len(value.y))
    for number in range(int(fold.max()) + 1):
        left_out = np.isin(value.units, contexts[fold == number])
        predicted[left_out] = _ordering(value.take(~left_out), seed)(value.settings[left_out])
    expected, came = (_within(each, value.units) for each in (predicted, value.y))
    moved = float(expected @ expected)
    return float(np.clip(float(expected @ came) / moved, 0.0, 1.0)) if moved > 0 else 0.0


def _within(values: Floats, units: Ints) -> Floats:
    """Differences from the mean of each unit."""
    counts = np.maximum(np.bincount(units), 1)
    return np.asarray(values - (np.bincount(units, weights=values) / counts)[units], dtype=float)


def best_within(limits: Floats, values: Floats, deadlines: Floats) -> Picks:
    """The most value among candidates whose limit is within the deadline; without any, the least limit."""
    within = limits <= deadlines[:, None]
    promised = np.asarray(within.any(axis=1))
    best = np.argmax(np.where(within, values, -np.inf), axis=1)
    return Picks(np.where(promised, best, int(np.argmin(limits))), promised)


@dataclass(frozen=True, eq=False)
class Coxswain:
    """Our own: bounds at which promises are kept with the confidence asked for.

    Of the candidates that can be promised the one worth most is picked, a late one being worth nothing; where nothing
    can be promised, of those that come near the best chance there is.
    """

    time: FittedModel
    value: Callable[[Floats], Floats]
    at_stake: float

    def pick(self, jobs: Jobs, confidence: float, rng: np.random.Generator) -> Picks:  # noqa: ARG002 nothing is random
        """The most value that is in time with the confidence."""
        seen = self.foresee(jobs.context, confidence)
        chances = np.array([seen.predicted.cdf(deadline) for deadline in jobs.deadlines])
        worth = chances * (seen.values - seen.values.min() + self.at_stake)
        near = chances >= NEARLY * chances.max(axis=1, keepdims=True)
        otherwise = np.argmax(np.where(near, worth, -np.inf), axis=1)
        if seen.level is None:
            return Picks(otherwise, np.zeros(len(jobs.deadlines), dtype=bool))
        within = seen.predicted.quantile(seen.level) <= jobs.deadlines[:, None]
        promised = np.asarray(within.any(axis=1))
        return Picks(np.where(promised, np.argmax(np.where(within, worth, -np.inf), axis=1), otherwise), promised)

    def foresee(self, context: Context, confidence: float) -> "Foreseen":
        """What is predicted of the candidates of a context, whatever the deadline."""
        predicted, values = self.time.predict_array(context.settings), self.value(context.settings)
        times = [Times(each, share) for each, share in zip(_tabulated(predicted), predicted.model_share, strict=True)]
        level = promise_level(times, values, confidence, correlation=self.time.correlation(context.settings))
        return Foreseen(predicted, times, values, level)


@dataclass(frozen=True, eq=False)
class Foreseen:
    """Times and values of a context's candidates as they are predicted, and the level at which promises are kept."""

    predicted: Predictive
    times: list[Times]
    values: Floats
    level: float | None


def _tabulated(predicted: Predictive) -> Floats:
    """The seconds of each candidate at the scores that distributions of times are kept at."""
    return np.maximum.accumulate(np.array([predicted.quantile(float(level)) for level in LEVELS]), axis=0).T


@dataclass(frozen=True, eq=False)
class Point:
    """Whoever takes a prediction for the truth: time and value by any functions of the settings."""

    time: Callable[[Floats], Floats]
    value: Callable[[Floats], Floats]

    def pick(self, jobs: Jobs, confidence: float, rng: np.random.Generator) -> Picks:  # noqa: ARG002 neither matters
        """The most value whose predicted time is within the deadline."""
        settings = jobs.context.settings
        return best_within(self.time(settings), self.value(settings), jobs.deadlines)


@dataclass(frozen=True, eq=False)
class Always:
    """The same for every job: the candidate that scores best by what was measured of its adjustable values."""

    adjusted: Ints
    scores: Mapping[tuple[float, ...], float]

    def pick(self, jobs: Jobs, confidence: float, rng: np.random.Generator) -> Picks:  # noqa: ARG002 neither matters
        """The best known of the candidates."""
        own = [self.scores.get(tuple(row[self.adjusted].tolist()), -np.inf) for row in jobs.context.settings]
        count = len(jobs.deadlines)
        return Picks(np.full(count, int(np.argmax(own))), np.zeros(count, dtype=bool))


class AnyOne:
    """A candidate at random."""

    def pick(self, jobs: Jobs, confidence: float, rng: np.random.Generator) -> Picks:  # noqa: ARG002 it does not matter
        """Any."""
        count = len(jobs.deadlines)
        return Picks(rng.integers(len(jobs.context.values), size=count), np.zeros(count, dtype=bool))


class Oracle:
    """Knows what is to come."""

    def pick(self, jobs: Jobs, confidence: float, rng: np.random.Generator) -> Picks:  # noqa: ARG002 it is certain
        """The most value that is in time."""
        within = jobs.seconds <= jobs.deadlines[:, None]
        best = np.argmax(np.where(within, jobs.context.values, -np.inf), axis=1)
        promised = np.asarray(within.any(axis=1))
        return Picks(np.where(promised, best, np.argmin(jobs.seconds, axis=1)), promised)


def _plain(family: Family, observations: Observations) -> Callable[[Floats], Floats]:
    """A family as the seeds use it: fitted once to the responses as they are, without a search."""
    rows = put_together(observations, Scale.IDENTITY)
    setting = {axis: values[0] for axis, values in family.axes(rows).items()} | {"scale": Scale.IDENTITY.value}
    regressor: Regressor = family.fit(rows, setting)
    return regressor.mean


def _averages(observations: Observations, adjusted: Ints) -> dict[tuple[float, ...], float]:
    """The mean response at each combination of adjustable values, relative to the context's own mean."""
    means = np.bincount(observations.units, weights=observations.y) / np.maximum(np.bincount(observations.units), 1)
    relative = observations.y / means[observations.units]
    found: dict[tuple[float, ...], list[float]] = {}
    for row, response in zip(observations.settings[:, adjusted].tolist(), relative.tolist(), strict=True):
        found.setdefault(tuple(row), []).append(response)
    return {key: float(np.mean(each)) for key, each in found.items()}


def _courier(lessons: Lessons) -> Policy:
    return Point(_plain(FOREST, lessons.time), _plain(FOREST, lessons.value))


def _fltk(lessons: Lessons) -> Policy:
    time = _plain(DOE_FOREST, lessons.time)
    return Point(time, time)  # more epochs take longer: the most work is what takes longest


def _minimum(lessons: Lessons) -> Policy:
    adjusted = lessons.recorded.adjusted
    return Always(adjusted, {key: -mean for key, mean in _averages(lessons.time, adjusted).items()})


def check_policies(names: Sequence[str]) -> None:
    """Refuse a policy that there is not.

    Raises:
        InputError: in one sentence that names those there are.
    """
    for name in names:
        if name not in POLICIES:
            raise InputError(f"there is no policy {name}; there are {', '.join(POLICIES)}.")


POLICIES: Mapping[str, Callable[[Lessons], Policy]] = {
    "coxswain": lambda lessons: Coxswain(lessons.time_model, lessons.value_of, lessons.at_stake),
    "mean": lambda lessons: Point(lambda settings: lessons.time_model.predict_array(settings).point, lessons.value_of),
    "courier": _courier,
    "fltk": _fltk,
    "random": lambda _: AnyOne(),
    "fixed": lambda lessons: Always(lessons.recorded.adjusted, _averages(lessons.value, lessons.recorded.adjusted)),
    "minimum": _minimum,
    "oracle": lambda _: Oracle(),
}
