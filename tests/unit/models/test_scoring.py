import numpy as np
import pytest
from scipy import stats

from coxswain.core.models.scoring import LEVELS, comparison_for, crps, pinball, score


def _normal_crps(mean: float, spread: float, observed: float) -> float:
    """The closed form of Gneiting and Raftery."""
    z = (observed - mean) / spread
    return float(spread * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi)))


@pytest.mark.parametrize("observed", [-1.0, 0.3, 2.5])
def test_the_crps_is_that_of_the_closed_form(observed: float) -> None:
    quantiles = stats.norm.ppf(LEVELS, 0.5, 1.5)[None, :]
    assert crps(quantiles, np.array([observed]))[0] == pytest.approx(_normal_crps(0.5, 1.5, observed), rel=0.02)


def test_the_pinball_loss_is_least_at_the_quantile() -> None:
    observed = np.random.default_rng(0).exponential(size=20_000)
    bounds = np.linspace(1, 5, 81)
    losses = [pinball(np.full((len(observed), 1), b), observed, np.array([0.95])).mean() for b in bounds]
    assert bounds[int(np.argmin(losses))] == pytest.approx(-np.log(0.05), abs=0.15)


def test_positive_responses_are_compared_by_their_logarithm() -> None:
    comparison = comparison_for(np.array([10.0, 1000.0]))
    assert comparison.place(np.array([10.0, -5.0])).tolist() == pytest.approx([np.log(10), np.log(1)])
    assert comparison_for(np.array([-1.0, 3.0])).place(np.array([-5.0]))[0] == -5


def test_scores_are_what_their_names_say() -> None:
    observed, point = np.array([1.0, 2.0, 4.0]), np.array([1.1, 2.0, 3.0])
    found = score(
        "x",
        observed,
        point=point,
        quantiles=np.tile(point[:, None], len(LEVELS)),
        bound=np.array([1.5, 1.5, 5.0]),
        comparison=comparison_for(observed),
    )
    assert found.mae == pytest.approx(1.1 / 3)
    assert found.rmse == pytest.approx(np.sqrt(1.01 / 3))
    assert found.mape == pytest.approx((0.1 + 0 + 0.25) / 3)
    assert found.r2 == pytest.approx(1 - 1.01 / np.sum((observed - 7 / 3) ** 2))
    assert found.crps == pytest.approx(found.mae)
    assert found.coverage == pytest.approx(2 / 3)
    assert found.bound_ratio == pytest.approx((1.5 + 0.75 + 1.25) / 3)


def test_relative_scores_of_a_response_of_zero_are_not_numbers() -> None:
    observed = np.array([0.0, 1.0])
    quantiles = np.zeros((2, len(LEVELS)))
    found = score(
        "x", observed, point=observed, quantiles=quantiles, bound=observed, comparison=comparison_for(observed)
    )
    assert np.isnan(found.mape)
    assert np.isnan(found.bound_ratio)
