import numpy as np
import pytest
from scipy import stats

from coxswain.core.models.best_of import Pick, raise_for_pick


def _raised(location: np.ndarray, share: float, correlation: np.ndarray, pick: Pick = Pick.SMALLEST) -> float:
    size = len(location)
    return raise_for_pick(
        0.95,
        location=location,
        spread=np.ones(size),
        model_share=np.full(size, share),
        correlation=correlation,
        pick=pick,
        rng=np.random.default_rng(0),
    )


def test_one_candidate_is_no_choice() -> None:
    assert _raised(np.zeros(1), 0.5, np.eye(1)) == 0


def test_candidates_that_err_together_cost_nothing() -> None:
    assert _raised(np.zeros(10), 0.5, np.ones((10, 10))) == pytest.approx(0, abs=0.05)


def test_candidates_far_apart_cost_nothing() -> None:
    assert _raised(np.arange(10) * 100.0, 0.5, np.eye(10)) == pytest.approx(0, abs=0.05)


def test_alike_candidates_cost_more_the_more_there_are() -> None:
    raised = [_raised(np.zeros(count), 0.3, np.eye(count)) for count in (2, 10, 50)]
    assert 0 < raised[0] < raised[1] < raised[2]


def test_a_pick_made_in_any_way_costs_at_least_as_much() -> None:
    places = np.linspace(0, 3, 10)
    assert _raised(places, 0.3, np.eye(10), Pick.ANY) > _raised(places, 0.3, np.eye(10))


def test_no_error_of_the_model_no_cost() -> None:
    assert _raised(np.zeros(10), 0.0, np.eye(10)) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_the_bound_at_the_pick_holds_as_often_as_asked(share: float) -> None:
    rng = np.random.default_rng(7)
    raised = _raised(np.zeros(10), share, np.eye(10))
    truth = np.zeros((20_000, 10))
    predicted = truth - np.sqrt(share) * rng.normal(size=truth.shape)
    picked = predicted.min(axis=1)
    run = np.sqrt(1 - share) * rng.normal(size=len(picked))
    assert np.mean(run <= picked + stats.norm.ppf(0.95) + raised) == pytest.approx(0.95, abs=0.006)
    assert np.mean(run <= picked + stats.norm.ppf(0.95)) < 0.9
