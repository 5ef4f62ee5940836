import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from coxswain.core.models.calibration import CONFORMAL_ROWS, Basis, Calibration, calibrate


def _calibrate(scores: np.ndarray, units: np.ndarray | None = None, censored: np.ndarray | None = None) -> Calibration:
    units = np.arange(len(scores)) if units is None else units
    censored = np.zeros(len(scores), dtype=bool) if censored is None else censored
    return calibrate(scores, units, censored, dof=10)


def test_a_score_is_exceeded_as_often_as_its_rank_says() -> None:
    scores = np.arange(1.0, 40.0)
    assert _calibrate(scores).cdf(np.array([38.0]))[0] == pytest.approx(38 / 40)
    assert _calibrate(scores).quantile(np.array([0.95]))[0] == pytest.approx(38.0)


def test_nineteen_rows_are_just_enough_for_95_percent() -> None:
    rng = np.random.default_rng(0)
    enough, too_few = (_calibrate(rng.normal(size=rows)) for rows in (CONFORMAL_ROWS, CONFORMAL_ROWS - 1))
    assert enough.basis(0.95) is Basis.CONFORMAL
    assert enough.basis(0.96) is Basis.PARAMETRIC
    assert too_few.basis(0.95) is Basis.PARAMETRIC
    assert enough.quantile(np.array([0.95]))[0] == pytest.approx(enough.knots.max())


@pytest.mark.parametrize(("noise", "rows"), [(stats.norm, 22), (stats.norm, 30), (stats.t(3), 27), (stats.expon, 35)])
def test_an_interpolated_bound_holds_as_often_as_it_says(noise: stats.rv_continuous, rows: int) -> None:
    rng = np.random.default_rng(1)
    covered = [
        noise.cdf(_calibrate(noise.rvs(size=rows, random_state=rng)).quantile(np.array([0.95]))[0]) for _ in range(1000)
    ]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.006)


@given(
    st.lists(st.floats(-50, 50), min_size=3, max_size=60),
    st.floats(0.001, 0.999),
)
def test_quantile_and_cdf_are_inverse(scores: list[float], level: float) -> None:
    calibration = _calibrate(np.array(scores))
    score = calibration.quantile(np.array([level]))
    assert calibration.cdf(score)[0] == pytest.approx(level, abs=1e-5)


@given(st.lists(st.floats(-50, 50), min_size=19, max_size=60))
def test_quantiles_never_decrease(scores: list[float]) -> None:
    quantiles = _calibrate(np.array(scores)).quantile(np.linspace(0.001, 0.999, 301))
    assert np.all(np.diff(quantiles) >= 0)


def test_runs_of_one_row_share_its_weight() -> None:
    scores = np.concatenate([np.full(20, 5.0), np.arange(-10.0, 10.0)])
    units = np.concatenate([np.zeros(20, dtype=int), np.arange(1, 21)])
    crowded = _calibrate(scores, units)
    assert crowded.rows == 21
    assert crowded.cdf(np.array([5.0 + 1e-6]))[0] == pytest.approx(17 / 22, abs=1e-3)


def test_rows_whose_runs_err_each_for_itself_count_for_more() -> None:
    rng = np.random.default_rng(3)
    units = np.repeat(np.arange(30), 2)
    apart = rng.normal(size=60)
    together = np.repeat(rng.normal(size=30), 2)
    assert 1 - _calibrate(apart, units).levels[-1] == pytest.approx(1 / 61, rel=0.3)
    assert 1 - _calibrate(together, units).levels[-2:].mean() == pytest.approx(1 / 31, rel=0.01)


@pytest.mark.parametrize("row_share", [0.0, 0.5, 1.0])
def test_a_bound_from_repeated_rows_holds_for_new_rows(row_share: float) -> None:
    rng = np.random.default_rng(4)
    units = np.repeat(np.arange(32), 2)
    covered = []
    for _ in range(600):
        scores = np.sqrt(row_share) * rng.normal(size=32)[units] + np.sqrt(1 - row_share) * rng.normal(size=64)
        covered.append(stats.norm.cdf(_calibrate(scores, units).quantile(np.array([0.95]))[0]))
    assert np.mean(covered) == pytest.approx(0.95, abs=0.008)


def test_the_weight_of_a_killed_run_goes_to_larger_scores() -> None:
    scores = np.arange(1.0, 41.0)
    killed = scores == 20
    counted, dropped = _calibrate(scores, censored=killed), _calibrate(scores[~killed])
    assert counted.cdf(np.array([19.0]))[0] == pytest.approx(19 / 41)
    assert counted.cdf(np.array([40.0]))[0] == pytest.approx(1 - 1 / 41 * (1 + 1 / 21), abs=1e-3)
    assert counted.cdf(np.array([40.0]))[0] < 1 - 1 / 41
    assert dropped.cdf(np.array([19.0]))[0] == pytest.approx(19 / 40)


def test_a_run_killed_before_it_could_tell_anything_counts_as_if_it_had_not_been() -> None:
    scores, killed = np.arange(1.0, 60.0), np.zeros(60, dtype=bool)
    killed[-1] = True
    level = _calibrate(np.append(scores, -9.0), censored=killed).cdf(scores[:-1])
    assert level == pytest.approx(_calibrate(scores).cdf(scores[:-1]))


def test_a_killed_run_beyond_all_others_makes_high_bounds_parametric() -> None:
    scores = np.arange(1.0, 41.0)
    killed = scores > 36
    calibration = _calibrate(scores, censored=killed)
    assert calibration.basis(0.95) is Basis.PARAMETRIC
    assert calibration.quantile(np.array([0.95]))[0] > 36


def test_with_few_rows_a_model_is_not_trusted_more_than_it_trusts_itself() -> None:
    calibration = _calibrate(np.full(8, 0.01))
    assert calibration.quantile(np.array([0.95]))[0] == pytest.approx(stats.t.ppf(0.95, 10))


def test_with_few_rows_large_errors_widen_the_bound() -> None:
    assert _calibrate(np.array([3.0, -3.0] * 4)).quantile(np.array([0.95]))[0] > 2 * stats.t.ppf(0.95, 10)


def test_with_few_rows_errors_that_may_be_chance_change_nothing() -> None:
    assert _calibrate(np.array([1.2, -1.2] * 4)).quantile(np.array([0.95]))[0] == pytest.approx(stats.t.ppf(0.95, 10))
