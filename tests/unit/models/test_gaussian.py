import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from coxswain.core.factors import Factor
from coxswain.core.models.families import gaussian
from coxswain.core.models.families.gaussian import GAUSSIAN_PROCESS, LOG_LOG
from coxswain.core.models.families.kernel import Kernel
from coxswain.core.models.families.least_squares import LINEAR
from coxswain.core.models.observations import put_together
from coxswain.core.models.scales import Scale

KINDS = [(LOG_LOG, 2), (GAUSSIAN_PROCESS, 1)]


@pytest.mark.parametrize("smooth", [False, True])
def test_the_gradient_of_the_kernel_is_its_slope(smooth: bool) -> None:
    factors = (Factor("a", levels=(1.0, 2.0, 8.0)), Factor("b", categories=("x", "y", "z")))
    settings = np.array([[1.0, 0.0], [2.0, 1.0], [8.0, 2.0], [2.0, 0.0]])
    kernel = Kernel(factors, 2, smooth, log=True)
    similarities = kernel.between(settings, settings)
    weights = np.random.default_rng(0).normal(size=(4, 4))
    at = kernel.prior()[0]
    size = kernel.size - 2

    def value(parameters: np.ndarray) -> float:
        return float(np.sum(weights * similarities.covariance(np.append(parameters, at[-2:]))))

    numeric = optimize.approx_fprime(at[:size], value, 1e-6)
    assert similarities.gradient(at, weights) == pytest.approx(numeric, rel=1e-4, abs=1e-5)


def test_categories_are_all_equally_alike() -> None:
    kernel = Kernel((Factor("b", categories=("x", "y", "z")),), 1, smooth=True, log=True)
    covariance = kernel.between(*[np.array([[0.0], [1.0], [2.0]])] * 2).covariance(kernel.prior()[0])
    assert np.ptp(covariance[~np.eye(3, dtype=bool)]) == pytest.approx(0)


@pytest.mark.parametrize(("family", "order"), KINDS)
def test_it_predicts_unseen_settings_and_knows_how_well(family: Any, order: int, jobs: Callable[..., Any]) -> None:
    made = jobs(60)
    regressor = family.fit(put_together(made.observations, Scale.LOG), {"order": order})
    error = np.log(made.run(made.unseen, np.random.default_rng(9))) - regressor.mean(made.unseen)
    expected = np.sqrt(regressor.variances(made.unseen).total)
    assert np.sqrt(np.mean(error**2)) < 2 * made.noise
    assert 0.7 < np.sqrt(np.mean((error / expected) ** 2)) < 1.4


@pytest.mark.parametrize(("family", "order"), KINDS)
def test_leaving_out_a_fold_in_closed_form_is_fitting_without_it(
    family: Any, order: int, jobs: Callable[..., Any]
) -> None:
    rows = put_together(jobs(gaussian.FEW_ROWS).observations, Scale.LOG)
    regressor = family.fit(rows, {"order": order})
    folds = np.arange(gaussian.FEW_ROWS) % 4
    mean, variances = regressor.left_out(folds)
    without = regressor.take(folds != 1)
    left = rows.settings[folds == 1]
    assert mean[folds == 1] == pytest.approx(without.mean(left), rel=1e-6)
    assert variances.model[folds == 1] == pytest.approx(without.variances(left).model, rel=1e-4, abs=1e-9)


def test_the_covariance_has_the_variances_on_its_diagonal(jobs: Callable[..., Any]) -> None:
    made = jobs(gaussian.FEW_ROWS)
    regressor = GAUSSIAN_PROCESS.fit(put_together(made.observations, Scale.LOG), {"order": 1})
    some = made.unseen[:5]
    assert np.diag(regressor.covariance(some)) == pytest.approx(regressor.variances(some).model, rel=1e-6)


def test_noise_of_a_fixed_number_of_seconds_is_recognised(jobs: Callable[..., Any]) -> None:
    observations = jobs(100, noise=0.0).observations
    rng = np.random.default_rng(4)
    jitter = replace(observations, y=observations.y + rng.normal(0, 0.5, 100))
    regressor = GAUSSIAN_PROCESS.fit(put_together(jitter, Scale.LOG), {"order": 1})
    expected = regressor.variances(observations.settings).noise
    long = observations.y > np.median(observations.y)
    assert np.median(expected[~long]) > 5 * np.median(expected[long])


def test_a_handful_of_rows_does_not_tell_how_noise_depends_on_the_level(jobs: Callable[..., Any]) -> None:
    made = jobs(12, noise=0.3)
    regressor: Any = GAUSSIAN_PROCESS.fit(put_together(made.observations, Scale.LOG), {"order": 1})
    assert all(np.all(answers.parameters[:, -1] == 0) for answers in regressor.answers)


def test_effects_that_are_not_there_cost_less_than_in_least_squares(jobs: Callable[..., Any]) -> None:
    shrunk, free = [], []
    for seed in range(5):
        made = jobs(40, noise=0.3, seed=seed)
        rows = put_together(made.observations, Scale.LOG)
        truth = np.log(made.run(made.unseen, np.random.default_rng(seed)))
        shrunk.append(np.std(LOG_LOG.fit(rows, {"order": 3}).mean(made.unseen) - truth))
        free.append(np.std(LINEAR.fit(rows, {"degree": 3, "penalty": 0.0}).mean(made.unseen) - truth))
    assert np.mean(shrunk) < 0.85 * np.mean(free)


def test_a_fitted_model_is_stored_without_what_can_be_computed(jobs: Callable[..., Any]) -> None:
    made = jobs(60)
    regressor = GAUSSIAN_PROCESS.fit(put_together(made.observations, Scale.LOG), {"order": 1})
    before = regressor.mean(made.unseen)
    stored = pickle.dumps(regressor)
    assert len(stored) < 10_000
    assert np.array_equal(pickle.loads(stored).mean(made.unseen), before)  # noqa: S301  our own bytes


def test_more_rows_than_it_can_carry_are_sampled(jobs: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian, "PREDICT_FROM", 40)
    rows = put_together(jobs(60).observations, Scale.LOG)
    regressor: Any = LOG_LOG.fit(rows, {"order": 2})
    assert len(regressor.standard) == 40
    mean, variances = LOG_LOG.left_out(regressor, rows, np.arange(60) % 4)
    assert len(mean) == len(variances.total) == 60
    assert np.std(mean - rows.mean) < 0.3


def test_responses_that_are_all_equal_are_predicted_as_such(jobs: Callable[..., Any]) -> None:
    observations = jobs(12).observations
    flat = put_together(replace(observations, y=np.full(12, 7.0)), Scale.LOG)
    assert LOG_LOG.fit(flat, {"order": 2}).mean(observations.settings) == pytest.approx(np.full(12, np.log(7.0)))
