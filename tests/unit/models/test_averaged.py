import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from coxswain.core.models.families import gaussian
from coxswain.core.models.families.averaged import ABSENT, DOFS, AveragedRegressor
from coxswain.core.models.families.gaussian import GAUSSIAN_PROCESS, LOG_LOG
from coxswain.core.models.families.posterior import GaussianRegressor
from coxswain.core.models.observations import Rows, put_together
from coxswain.core.models.scales import Scale
from coxswain.core.models.types import Floats
from tests.unit.models.conftest import seconds

KINDS = [(LOG_LOG, 2), (GAUSSIAN_PROCESS, 1)]
Make = Callable[..., Any]


def _rows(made: Any) -> Rows:
    return put_together(made.observations, Scale.LOG)


def _alone(regressor: AveragedRegressor) -> list[GaussianRegressor]:
    """Each answer as a regressor of its own."""
    return [
        replace(answers.base, parameters=parameters)
        for answers in regressor.answers
        for parameters in answers.parameters
    ]


def _answers(regressor: Any) -> Floats:
    return np.concatenate([answers.parameters for answers in regressor.answers])


def _draws(regressor: AveragedRegressor, settings: Floats, count: int) -> Floats:
    """New runs at settings, each by one of the answers, as a single Gaussian regressor gives them."""
    rng = np.random.default_rng(0)
    runs = []
    for alone in _alone(regressor):
        spread = np.sqrt(alone.variances(settings).total)
        runs.append(alone.mean(settings) + spread * rng.standard_normal((count, len(settings))))
    return np.concatenate(runs)


@pytest.mark.parametrize(("family", "order"), KINDS)
def test_only_few_rows_are_averaged_over_what_they_leave_open(family: Any, order: int, jobs: Make) -> None:
    few, enough = (
        family.fit(_rows(jobs(rows)), {"order": order}) for rows in (gaussian.FEW_ROWS - 1, gaussian.FEW_ROWS)
    )
    assert isinstance(few, AveragedRegressor)
    assert not isinstance(enough, AveragedRegressor)


def test_parts_of_a_table_are_fitted_as_all_of_it_is(jobs: Make) -> None:
    rows = _rows(jobs(gaussian.FEW_ROWS))
    part = rows.take(np.arange(len(rows)) % 10 != 0)
    assert not isinstance(LOG_LOG.of_table(len(rows)).fit(part, {"order": 2}), AveragedRegressor)
    assert isinstance(LOG_LOG.of_table(len(part)).fit(part, {"order": 2}), AveragedRegressor)


@pytest.mark.parametrize("family", [LOG_LOG, GAUSSIAN_PROCESS])
def test_few_rows_are_not_asked_which_scale_or_order_suits_them(family: Any, jobs: Make) -> None:
    few, enough = (family.axes(_rows(jobs(rows))) for rows in (gaussian.FEW_ROWS - 1, gaussian.FEW_ROWS))
    assert any(len(values) > 1 for values in enough.values())
    assert few == {"scale": [Scale.LOG], "order": [max(enough["order"])]}


@pytest.mark.parametrize(("family", "order"), KINDS)
def test_mean_and_bound_are_those_of_the_mixture(family: Any, order: int, jobs: Make) -> None:
    made = jobs(10, noise=0.2)
    regressor = family.fit(_rows(made), {"order": order})
    some = made.unseen[:6]
    drawn = _draws(regressor, some, 400)
    spread = np.sqrt(regressor.variances(some).total)
    assert regressor.mean(some) == pytest.approx(drawn.mean(axis=0), abs=0.05 * spread.max())
    half = (np.quantile(drawn, 0.95, axis=0) - np.quantile(drawn, 0.05, axis=0)) / 2
    assert spread * stats.t.ppf(0.95, regressor.dof) == pytest.approx(half, rel=0.05)


def test_fewer_rows_have_heavier_tails(jobs: Make) -> None:
    dof = [LOG_LOG.fit(_rows(jobs(rows)), {"order": 2}).dof for rows in (6, 12, 24)]
    assert dof == sorted(dof)
    assert dof[0] == DOFS[0] < dof[1] < dof[2]


def test_the_covariance_is_that_of_the_expected_responses(jobs: Make) -> None:
    made = jobs(10, noise=0.2)
    regressor: Any = LOG_LOG.fit(_rows(made), {"order": 2})
    some = made.unseen[:4]
    rng = np.random.default_rng(0)
    drawn = [rng.multivariate_normal(alone.mean(some), alone.covariance(some), 2000) for alone in _alone(regressor)]
    assert regressor.covariance(some) == pytest.approx(np.cov(np.concatenate(drawn), rowvar=False), rel=0.1, abs=0.01)
    assert regressor.covariance(some[:1]).shape == (1, 1)


@pytest.mark.parametrize(("family", "order"), KINDS)
def test_leaving_out_a_fold_in_closed_form_is_predicting_without_it(family: Any, order: int, jobs: Make) -> None:
    rows = _rows(jobs(12))
    regressor = family.fit(rows, {"order": order})
    folds = np.arange(12) % 4
    mean, variances = regressor.left_out(folds)
    parts = (replace(answers, base=answers.base.take(folds != 1)) for answers in regressor.answers)
    without = AveragedRegressor(tuple(parts))
    left = rows.settings[folds == 1]
    assert mean[folds == 1] == pytest.approx(without.mean(left), rel=1e-6)
    # Both as intervals: what is left out changes the degrees of freedom.
    wide, narrow = (stats.t.ppf(0.95, one.dof) for one in (without, regressor))
    expected = wide * np.sqrt(without.variances(left).total)
    assert narrow * np.sqrt(variances.total[folds == 1]) == pytest.approx(expected, rel=1e-3)


def test_whether_factors_interact_is_left_open_until_rows_tell(jobs: Make) -> None:
    made = jobs(20, noise=0.05)
    plain = _rows(made)
    coded = np.log(plain.settings) - np.log(plain.settings).mean(axis=0)
    additive = 1.0 + coded @ [-0.5, -0.4, 0.2, 0.9] + 0.05 * np.random.default_rng(1).standard_normal(20)
    interacting = additive + 0.5 * coded[:, 0] * coded[:, 3]

    def share_without(mean: Floats, some: slice) -> float:
        rows = replace(plain, mean=mean, values=mean).take(np.isin(np.arange(20), np.arange(20)[some]))
        answers = _answers(LOG_LOG.fit(rows, {"order": 2}))
        return float(np.mean(answers[:, 1] == ABSENT))

    assert share_without(interacting, slice(20)) == 0
    assert share_without(additive, slice(20)) > 0.6
    assert 0.2 < share_without(additive, slice(6)) < 0.9


def _share_of_nothing(rows: Rows) -> float:
    return float(np.mean(_answers(LOG_LOG.fit(rows, {"order": 2}))[:, 0] == ABSENT))


def test_that_nothing_matters_gets_likelier_where_it_is_so_and_is_ruled_out_where_it_is_not(jobs: Make) -> None:
    rows = _rows(jobs(12))
    chance = 0.1 * np.random.default_rng(2).standard_normal((10, 12))
    beforehand = 1 / 3  # beside main effects alone and interactions
    assert np.mean([_share_of_nothing(replace(rows, mean=mean, values=mean)) for mean in chance]) > 1.6 * beforehand
    assert _share_of_nothing(rows) == 0


@pytest.mark.parametrize(("family", "order"), KINDS)
def test_a_pick_is_taken_for_chance_only_as_far_as_nothing_may_matter(family: Any, order: int, jobs: Make) -> None:
    rows = _rows(jobs(12))
    chance = 0.1 * np.random.default_rng(2).standard_normal((10, 12))
    alike = [family.fit(replace(rows, mean=mean, values=mean), {"order": order}).by_chance for mean in chance]
    assert np.mean(alike) > 0.8
    assert max(alike) == 1
    assert family.fit(rows, {"order": order}).by_chance == 0


def test_rows_that_differ_by_more_than_their_runs_say_that_something_matters(jobs: Make) -> None:
    made = jobs(8, replicates=3)
    replicated = _rows(made)
    differing = 0.5 * np.random.default_rng(2).standard_normal((10, 8))

    def share(rows: Rows) -> float:
        return float(np.mean([_share_of_nothing(replace(rows, mean=mean)) for mean in differing]))

    once = replace(replicated, count=np.ones(8), within=0.0)
    assert share(replicated) < 0.1
    assert share(once) > 0.3


def test_runs_that_agree_to_the_last_digit_tell_nothing_of_noise(jobs: Make) -> None:
    rows = _rows(jobs(12, replicates=2))
    equal, almost = (LOG_LOG.fit(replace(rows, within=within), {"order": 2}) for within in (0.0, 1e-30))
    assert np.array_equal(_answers(equal), _answers(almost))


def test_one_row_run_twice_by_luck_alike_promises_little_more(jobs: Make) -> None:
    made = jobs(12)
    once = _rows(made)
    twice = replace(once, count=np.array([2.0] + [1.0] * 11), within=1e-8)
    wide, narrow = (
        np.mean(np.sqrt(LOG_LOG.fit(rows, {"order": 2}).variances(made.unseen).total)) for rows in (once, twice)
    )
    assert narrow > 0.7 * wide


def test_runs_that_hardly_differ_do_not_make_effects_express_everything(jobs: Make) -> None:
    held = []
    for seed in range(12):
        made = jobs(12, replicates=2, noise=0.001, seed=seed)
        regressor = LOG_LOG.fit(_rows(made), {"order": 2})
        bound = stats.t.ppf(0.95, regressor.dof) * np.sqrt(regressor.variances(made.unseen).total)
        held.append(np.mean(np.log(seconds(made.unseen)) < regressor.mean(made.unseen) + bound))
    # Bounds that trusted the runs alone held for 63 %; those of one family without calibration hold for about 92 %.
    assert np.mean(held) > 0.9


def test_runs_of_a_row_tell_how_much_rows_may_be_off_unless_rows_differ_by_more(jobs: Make) -> None:
    rng = np.random.default_rng(3)
    tables = [_rows(jobs(12, replicates=3, seed=seed)) for seed in range(10)]
    coded = [np.log(rows.settings) - np.log(rows.settings).mean(axis=0) for rows in tables]

    def share_of_runs_alone(shared: float) -> float:
        """Of products of powers whose runs share some noise."""
        shares = []
        for rows, z in zip(tables, coded, strict=True):
            noise = np.hypot(shared, np.sqrt(rows.within / 3))
            mean = z @ [-0.5, -0.4, 0.2, 0.9] + noise * rng.standard_normal(12)
            shares.append(np.mean(_answers(LOG_LOG.fit(replace(rows, mean=mean), {"order": 2}))[:, -2] == ABSENT))
        return float(np.mean(shares))

    assert share_of_runs_alone(0.0) > 0.5
    assert share_of_runs_alone(0.3) < 0.2
    assert np.all(_answers(LOG_LOG.fit(_rows(jobs(12)), {"order": 2}))[:, -2] != ABSENT)


def test_replicates_make_few_rows_surer(jobs: Make) -> None:
    once, thrice = (jobs(12, replicates=replicates) for replicates in (1, 3))
    spreads = [
        np.mean(np.sqrt(LOG_LOG.fit(_rows(made), {"order": 2}).variances(made.unseen).total)) for made in (once, thrice)
    ]
    assert spreads[1] < 0.8 * spreads[0]


def test_an_average_depends_on_its_rows_alone_and_is_stored_without_what_can_be_computed(jobs: Make) -> None:
    made = jobs(12)
    first, second = (GAUSSIAN_PROCESS.fit(_rows(made), {"order": 1}) for _ in range(2))
    before = first.mean(made.unseen)
    assert np.array_equal(second.mean(made.unseen), before)
    stored = pickle.dumps(first)
    assert len(stored) < 10_000
    assert np.array_equal(pickle.loads(stored).mean(made.unseen), before)  # noqa: S301  our own bytes


@pytest.mark.parametrize(("family", "order"), KINDS)
def test_rows_that_are_all_equal_are_no_surprise(family: Any, order: int, jobs: Make) -> None:
    rows = _rows(jobs(8))
    flat = replace(rows, mean=np.full(8, 2.0), values=np.full(8, 2.0))
    regressor = family.fit(flat, {"order": order})
    assert regressor.mean(rows.settings) == pytest.approx(np.full(8, 2.0))
    assert np.all(np.isfinite(regressor.variances(rows.settings).total))
