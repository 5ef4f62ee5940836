from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from coxswain.core.models.censoring import impute
from coxswain.core.models.extrapolation import reach_of
from coxswain.core.models.families.learners import FOREST
from coxswain.core.models.observations import put_together
from coxswain.core.models.scales import Scale
from tests.unit.models.conftest import seconds

INSIDE = np.array([[2.0, 1.0, 64.0, 3.0]])
FAR_EPOCHS = np.array([[2.0, 1.0, 64.0, 300.0]])
FAR_CORES = np.array([[2.0, 8.0, 64.0, 3.0]])
# A prediction like many, on a logarithmic scale.
USUAL = np.array([4.0])


def _reach(made: Any) -> Any:
    rows = put_together(made.observations, Scale.LOG)
    setting = {axis: values[0] for axis, values in FOREST.axes(rows).items()}
    return reach_of(rows, FOREST.fit(rows, setting))


def test_a_factor_beyond_its_range_is_named_with_that_range(jobs: Callable[..., Any]) -> None:
    reach = _reach(jobs(80))
    assert reach.notes(INSIDE, USUAL) == [()]
    assert reach.notes(FAR_EPOCHS, USUAL) == [("epochs = 300 is beyond the measured range 1 to 30",)]
    assert len(reach.notes(np.array([[100.0, 8.0, 64.0, 3.0]]), USUAL)[0]) == 2


def test_it_widens_the_spread_the_more_the_further_and_the_stronger_the_trend(jobs: Callable[..., Any]) -> None:
    reach = _reach(jobs(80))
    spread = np.array([0.1])
    inside, cores, epochs = (float(reach.widen(spread, there, USUAL)[0]) for there in (INSIDE, FAR_CORES, FAR_EPOCHS))
    assert inside == pytest.approx(0.1)
    assert inside < cores < epochs
    assert epochs > 0.5


def test_what_no_run_came_near_to_is_promised_less_the_shorter_it_is(jobs: Callable[..., Any]) -> None:
    made = jobs(80)
    reach = _reach(made)
    shortest = np.log(made.observations.y.min())
    spreads = [float(reach.widen(np.array([0.1]), INSIDE, np.array([shortest - d]))[0]) for d in (-1, 0, 0.5, 1)]
    assert spreads == pytest.approx([0.1, 0.1, 0.15, 0.3])
    (told,) = reach.notes(INSIDE, np.array([shortest - 1]))
    assert told == (f"the prediction is below the smallest value measured, {made.observations.y.min():.3g}",)
    assert reach.notes(INSIDE, np.array([shortest - 0.05])) == [()]


def test_only_products_can_get_ever_shorter(jobs: Callable[..., Any]) -> None:
    rows = put_together(jobs(20).observations, Scale.IDENTITY)
    setting = {axis: values[0] for axis, values in FOREST.axes(rows).items()}
    assert reach_of(rows, FOREST.fit(rows, setting)).shortest == -np.inf


def _killed(observations: Any, limit: float) -> Any:
    return replace(observations, y=np.minimum(observations.y, limit), censored=observations.y > limit)


def test_killed_runs_are_expected_beyond_their_limit(jobs: Callable[..., Any]) -> None:
    made = jobs(100)
    limit = float(np.quantile(made.observations.y, 0.7))
    killed = _killed(made.observations, limit)
    filled = impute(killed)
    assert np.array_equal(filled.y[~killed.censored], killed.y[~killed.censored])
    assert np.all(filled.y >= killed.y)
    error = np.log(filled.y / made.observations.y)[killed.censored]
    assert abs(error.mean()) < 0.25
    assert np.log(limit / made.observations.y)[killed.censored].mean() < -0.5


def test_without_killed_runs_nothing_changes(jobs: Callable[..., Any]) -> None:
    observations = jobs(20).observations
    assert impute(observations) is observations


def test_killed_runs_vary_like_the_others(jobs: Callable[..., Any]) -> None:
    made = jobs(150, noise=0.2)
    killed = _killed(made.observations, float(np.quantile(made.observations.y, 0.7)))
    filled = impute(killed)
    noise = np.log(filled.y / seconds(filled.settings))
    slow = seconds(filled.settings) > np.quantile(killed.y, 0.7)
    assert noise[slow].std() == pytest.approx(noise[~slow].std(), rel=0.25), "with means it would be a quarter less"
