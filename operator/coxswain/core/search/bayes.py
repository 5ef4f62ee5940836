"""BayesianOptimization: a few settings that spread, then always the one that a model thinks is worth most.

What a further row is worth in each of the runs to come is its expected improvement times the chance that it may be
chosen; what it costs, spread over those runs (`recurrences`), is its own response times its replicates. The row with
the largest difference is tried next. The search is over when no row is worth its cost, when the best improvement that
can be expected is small, when all settings were tried, or when there are no runs left.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coxswain.core.api.design import Search
from coxswain.core.designs.base import Settings
from coxswain.core.search.improvement import Model, fit_model
from coxswain.core.search.space import Space
from coxswain.core.search.trials import Trial

FEWEST_FIRST = 3

Possible = Callable[[Settings], bool]
"""Whether a job can have these settings."""


@dataclass(frozen=True)
class Advice:
    """What to try next, or why nothing more."""

    ask: Settings | None = None
    over: str | None = None


def first_rows(space: Space, possible: Possible) -> tuple[Settings, ...]:
    """The settings to begin with: one more than there are factors, three at least."""
    count = max(FEWEST_FIRST, len(space.axes) + 1)
    chosen: dict[Settings, None] = {}
    for settings in space.spread(count):
        if len(chosen) == count:
            break
        if settings not in chosen and possible(settings):
            chosen[settings] = None
    return tuple(chosen)


@dataclass(frozen=True)
class _Prospect:
    """A setting that was not tried: what it would save in each run to come, what it costs, and its chance to serve."""

    settings: Settings
    saves: float = 0.0
    costs: float = 0.0
    chance: float = 1.0


def best_of(search: Search, trials: Iterable[Trial]) -> Trial | None:
    """The trial with the lowest mean of all that may be chosen."""
    return min((each for each in trials if each.problem(search) is None), key=lambda each: each.mean, default=None)


def advise(
    space: Space,
    search: Search,
    trials: Sequence[Trial],
    best: Trial | None,
    *,
    replications: int,
    first: int,
    possible: Possible,
) -> Advice:
    """What to do after these trials, all of which are done; the `first` of them were chosen without a model."""
    model = fit_model(space.factors, search, replications, trials)
    tried = {trial.settings for trial in trials}
    left = [settings for settings in space.candidates() if settings not in tried]
    level = best.mean if best else None
    prospect = next((each for each in _ranked(model, search, left, level) if possible(each.settings)), None)
    if prospect is None:
        return Advice(over="all settings that a job can have were tried")
    over = _reason_to_stop(search, prospect, level, enough=len(trials) >= 2 * first) if model else None
    return Advice(over=over) if over else Advice(prospect.settings)


def _ranked(model: Model | None, search: Search, left: Sequence[Settings], level: float | None) -> Iterator[_Prospect]:
    """The settings that are left, the most promising first; in their order where nothing is known."""
    if model is None or not left:
        yield from map(_Prospect, left)
        return
    worth = model.worth(left, level)
    saves = worth.improvement * worth.chance
    costs = model.replications * np.maximum(worth.expected, 0.0)
    promise = worth.chance if level is None else saves - costs / search.recurrences
    for place in np.argsort(-promise, kind="stable").tolist():
        yield _Prospect(left[place], float(saves[place]), float(costs[place]), float(worth.chance[place]))


def _reason_to_stop(search: Search, prospect: _Prospect, level: float | None, *, enough: bool) -> str | None:
    """Why the most promising setting is not worth trying, if it is not.

    A model of few trials is too sure of itself: until there are enough, it cannot say that little is left to be saved.
    """
    least, times = search.stop_when_improvement_below_percent, search.recurrences
    if level is None:
        hopeless = enough and 100 * prospect.chance < least
        return f"no setting that is left has a chance of {least:g} % to be allowed" if hopeless else None
    little = least / 100 * abs(level)
    if enough and prospect.saves < little:
        return f"a further row is expected to lower {search.minimize} by less than {least:g} %"
    saves = prospect.saves if enough else max(prospect.saves, little)
    if saves * times < prospect.costs:
        return (
            f"a further row would cost {prospect.costs:.4g} and save about {saves:.4g} "
            f"in each of {times} run{'' if times == 1 else 's'} to come (recurrences)"
        )
    return None
