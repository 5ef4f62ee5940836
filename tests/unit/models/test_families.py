import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

from coxswain.core.factors import Factor
from coxswain.core.models.families import FAMILIES, Family, Spread
from coxswain.core.models.families.combined import DOE_FOREST
from coxswain.core.models.families.learners import FOREST, LASSO
from coxswain.core.models.families.least_squares import LINEAR, POLYNOMIAL
from coxswain.core.models.families.operational import OPERATIONAL
from coxswain.core.models.observations import Observations, put_together
from coxswain.core.models.scales import Scale


def _defaults(family: Family, observations: Observations) -> dict[str, Any]:
    axes = family.axes(put_together(observations, Scale.IDENTITY))
    return {axis: values[0] for axis, values in axes.items()}


def test_every_seed_model_competes_under_its_own_name() -> None:
    names = [family.name for family in FAMILIES]
    assert len(set(names)) == len(names) == 13
    assert {"linear", "loglog", "polynomial", "gaussian_process", "lasso", "ridge", "tree", "forest", "boosting"} < set(
        names
    )
    assert {"mlp", "operational", "doe_forest", "parts"} < set(names)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_each_family_learns_and_fits_the_same_again(family: Family, jobs: Callable[..., Any]) -> None:
    made = jobs(80)
    setting = _defaults(family, made.observations)
    rows = put_together(made.observations, Scale(setting["scale"]))
    spread = Spread(0.01, 0.02)
    regressor, again = family.fit(rows, setting, spread), family.fit(rows, setting, spread)
    predicted = regressor.mean(made.unseen)
    assert np.array_equal(predicted, again.mean(made.unseen))
    truth = rows.scale.forward(made.run(made.unseen, np.random.default_rng(0)))
    assert np.corrcoef(predicted, truth)[0, 1] > 0.8
    variances = regressor.variances(made.unseen)
    assert np.all(variances.total > 0)
    covariance = regressor.covariance(made.unseen[:4])
    assert np.diag(covariance) == pytest.approx(variances.model[:4], rel=1e-6)
    assert regressor.dof >= 1


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_each_family_stays_small_enough_to_be_sent_about(family: Family, jobs: Callable[..., Any]) -> None:
    observations = jobs(150).observations
    axes = family.axes(put_together(observations, Scale.IDENTITY))
    largest = {axis: values[-1] for axis, values in axes.items()} | {"depth": 10, "scale": axes["scale"][0]}
    largest |= {"degree": max(axes.get("degree", [1])), "loss": "squared_error", "criterion": "squared_error"}
    rows = put_together(observations, Scale(str(largest["scale"])))
    assert len(pickle.dumps(family.fit(rows, largest))) < 4_000_000


def test_least_squares_is_that_of_statsmodels(jobs: Callable[..., Any]) -> None:
    made = jobs(40)
    rows = put_together(made.observations, Scale.IDENTITY)
    regressor = LINEAR.fit(rows, {"degree": 2, "penalty": 0.0})
    reference = sm.OLS(rows.mean, regressor.matrix(rows.settings)).fit()
    there = reference.get_prediction(regressor.matrix(made.unseen[:7]))
    assert regressor.mean(made.unseen[:7]) == pytest.approx(there.predicted)
    assert np.sqrt(regressor.variances(made.unseen[:7]).total) == pytest.approx(there.se_obs)
    assert regressor.dof == pytest.approx(reference.df_resid)


def test_a_penalty_holds_effects_back(jobs: Callable[..., Any]) -> None:
    rows = put_together(jobs(40).observations, Scale.LOG)
    free, held = (POLYNOMIAL.fit(rows, {"degree": 2, "penalty": penalty}) for penalty in (0.0, 50.0))
    assert np.abs(held.coefficients[1:]).sum() < np.abs(free.coefficients[1:]).sum()


def test_a_model_with_too_many_terms_for_the_rows_does_not_compete(jobs: Callable[..., Any]) -> None:
    assert LINEAR.axes(put_together(jobs(60).observations, Scale.IDENTITY))["degree"] == [2, 1, 3]
    assert LINEAR.axes(put_together(jobs(10).observations, Scale.IDENTITY))["degree"] == [1]
    assert LINEAR.axes(put_together(jobs(6).observations, Scale.IDENTITY)) == {}


def test_runs_vary_more_than_the_means_of_rows(jobs: Callable[..., Any]) -> None:
    single, repeated = (put_together(jobs(60, replicates=count, noise=0.2).observations, Scale.LOG) for count in (1, 4))
    noise = [
        float(np.sqrt(POLYNOMIAL.fit(rows, {"degree": 3, "penalty": 0.0}).variances(rows.settings[:1]).noise[0]))
        for rows in (single, repeated)
    ]
    assert noise == pytest.approx([0.2, 0.2], rel=0.35)


def test_the_seeds_regression_keeps_to_the_response_as_it_is(jobs: Callable[..., Any]) -> None:
    rows = put_together(jobs(60).observations, Scale.IDENTITY)
    assert list(LINEAR.axes(rows)["scale"]) == [Scale.IDENTITY]
    assert set(LASSO.axes(rows)["scale"]) == {Scale.LOG, Scale.IDENTITY}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_share_is_modelled_by_its_log_odds_or_not_at_all(family: Family, jobs: Callable[..., Any]) -> None:
    rows = put_together(jobs(40).observations, Scale.IDENTITY)
    shares = replace(rows, scale=Scale.LOGIT)
    assert list(family.axes(shares).get("scale", [Scale.LOGIT])) == [Scale.LOGIT]


def test_the_combination_is_the_mean_of_its_halves(jobs: Callable[..., Any]) -> None:
    made = jobs(60)
    rows = put_together(made.observations, Scale.IDENTITY)
    both = DOE_FOREST.fit(rows, {"scale": Scale.IDENTITY, "degree": 2, "penalty": 0.0})
    forest = FOREST.fit(rows, {**_defaults(FOREST, made.observations), "scale": Scale.IDENTITY})
    line = LINEAR.fit(rows, {"degree": 2, "penalty": 0.0})
    assert both.mean(made.unseen) == pytest.approx((forest.mean(made.unseen) + line.mean(made.unseen)) / 2)


FACTORS = (
    Factor("batch_size", levels=(64.0, 128.0, 256.0, 512.0)),
    Factor("cpus", levels=(1.0, 2.0, 4.0, 8.0)),
    Factor("epochs", levels=(5.0, 10.0)),
)


def _courier_like(settings: np.ndarray) -> np.ndarray:
    batch, cpus, epochs = settings.T
    return np.asarray(60_000 * epochs / batch * (0.045 + 1 / (8 + 0.02 * batch - 0.5 * cpus)))


def test_the_operational_law_is_recovered_where_it_holds() -> None:
    grid = np.stack(np.meshgrid(*(factor.levels for factor in FACTORS)), axis=-1).reshape(-1, 3)
    units = np.arange(len(grid))
    observations = Observations(FACTORS, "t", grid, _courier_like(grid), units, units < 0)
    rows = put_together(observations, Scale.LOG)
    fastest = np.min(observations.y * grid[:, 0] / grid[:, 2])
    regressor = OPERATIONAL.fit(rows, {"cpu_share": 60_000 * 0.045 / fastest})
    between = np.array([[100.0, 3.0, 7.0], [300.0, 6.0, 8.0]])
    assert np.exp(regressor.mean(between)) == pytest.approx(_courier_like(between), rel=1e-6)


def test_the_operational_law_needs_factors_it_knows(jobs: Callable[..., Any]) -> None:
    observations = jobs(20).observations
    strangers = tuple(Factor(f"x{index}", levels=factor.levels) for index, factor in enumerate(observations.factors))
    unknown = Observations(
        strangers, "t", observations.settings, observations.y, observations.units, observations.censored
    )
    assert OPERATIONAL.axes(put_together(unknown, Scale.IDENTITY)) == {}
    assert OPERATIONAL.axes(put_together(observations, Scale.IDENTITY))
