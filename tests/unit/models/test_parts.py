from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from coxswain.core.factors import Factor
from coxswain.core.models.families import gaussian
from coxswain.core.models.families.gaussian import LOG_LOG
from coxswain.core.models.families.parts import PARTS, _Search
from coxswain.core.models.families.start import Start
from coxswain.core.models.observations import Observations, Rows, put_together
from coxswain.core.models.scales import Scale
from coxswain.core.models.types import Floats

Make = Callable[..., Any]


def _seconds(settings: Floats) -> Floats:
    """A start, work that workers share, and talk that grows with their number."""
    workers, cores, batch, epochs = settings.T
    shared, talk = 12 / (workers * cores**0.8), 40 * workers**0.5 / batch
    return np.asarray(20 + epochs * (shared + talk), dtype=float)


def _rows(made: Any, noise: float = 0.02, rows: slice = slice(None)) -> Rows:
    settings = made.observations.settings[rows]
    y = _seconds(settings) * np.exp(noise * np.random.default_rng(1).standard_normal(len(settings)))
    none = np.zeros(len(y), dtype=bool)
    return put_together(Observations(made.observations.factors, "t", settings, y, np.arange(len(y)), none), Scale.LOG)


def _error(regressor: Any, settings: Floats) -> float:
    return float(np.mean(np.abs(np.exp(regressor.mean(settings)) / _seconds(settings) - 1)))


@pytest.fixture
def without_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of powers have no start."""
    monkeypatch.setattr(gaussian, "starts_of", lambda _: [Start(0.0, 1.0)])


@pytest.mark.usefixtures("without_start")
def test_jobs_that_are_sums_of_parts_are_learned_better_than_by_products_of_powers(jobs: Make) -> None:
    made = jobs(60)
    rows = _rows(made)
    assert _error(PARTS.fit(rows, {"parts": 3}), made.unseen) < 0.03
    assert _error(LOG_LOG.fit(rows, {"order": 2}), made.unseen) > 0.06


@pytest.mark.usefixtures("without_start")
def test_no_setting_is_faster_than_the_start(jobs: Make) -> None:
    made = jobs(60)
    regressor = PARTS.fit(_rows(made), {"parts": 3})
    fastest = np.array([[64.0, 16.0, 2048.0, 1.0]])  # far beyond what was measured
    assert np.exp(regressor.mean(fastest)) == pytest.approx(20, rel=0.2)
    assert np.exp(LOG_LOG.fit(_rows(made), {"order": 1}).mean(fastest)) < 10


def test_rows_left_out_in_closed_form_are_predicted_as_without_them(jobs: Make) -> None:
    rows = _rows(jobs(80))
    folds = np.arange(80) % 4
    regressor = PARTS.fit(rows, {"parts": 2})
    mean, variances = PARTS.left_out(regressor, rows, folds)
    anew = PARTS.fit(rows.take(folds != 1), {"parts": 2})
    left = rows.settings[folds == 1]
    assert mean[folds == 1] == pytest.approx(anew.mean(left), abs=0.3 * np.sqrt(variances.total[0]))
    assert not np.allclose(mean, regressor.mean(rows.settings))
    assert np.all(variances.model > regressor.variances(rows.settings).model)


def test_a_row_left_out_has_no_part_in_what_is_predicted_of_it(jobs: Make) -> None:
    rows = _rows(jobs(60))
    regressor = PARTS.fit(rows, {"parts": 2})
    odd = np.where(np.arange(60) == 7, rows.mean + 0.01, rows.mean)
    alone = np.arange(60)
    before, after = (PARTS.left_out(regressor, replace(rows, mean=mean), alone)[0] for mean in (rows.mean, odd))
    # Its own error moves a linear model's prediction of it by leverage / (1 - leverage), away from itself.
    assert after[7] < before[7]
    assert np.array_equal(np.delete(after, 7), np.delete(before, 7))


def test_how_sure_it_is_follows_from_how_much_runs_vary(jobs: Make) -> None:
    made = jobs(80)
    steady, wavering = (PARTS.fit(_rows(made, noise), {"parts": 3}) for noise in (0.02, 0.2))
    assert steady.run_noise**0.5 == pytest.approx(0.02, rel=0.3)
    assert wavering.run_noise**0.5 == pytest.approx(0.2, rel=0.3)
    assert np.mean(steady.variances(made.unseen).model) < np.mean(wavering.variances(made.unseen).model)


def test_of_a_single_part_plausibility_is_that_of_linear_regression() -> None:
    rng = np.random.default_rng(0)
    columns = np.column_stack([np.ones(30), rng.uniform(-1, 1, (30, 2))])
    usual, spreads = np.array([[1.0, 0.0, 0.0]]), np.array([[2.0, 1.0, 1.0]])
    gaps = []
    for noise in (0.05, 0.3):
        response = columns @ [1.5, 0.7, -0.4] + noise * rng.standard_normal(30)
        search = _Search(columns, response, usual, spreads, 1e-9)
        found = search.find(usual)
        covariance = found.noise * np.eye(30) + (columns * spreads**2) @ columns.T
        exact = stats.multivariate_normal.logpdf(response, columns @ usual[0], covariance)
        gaps.append(search.plausibility(found) - exact)
    # But for what depends on neither the response nor the noise.
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-3)


@pytest.mark.parametrize(("rows", "parts"), [(19, []), (20, [2]), (29, [2]), (30, [2, 3])])
def test_as_many_parts_as_rows_can_tell_apart(rows: int, parts: list[int], jobs: Make) -> None:
    assert list(PARTS.axes(_rows(jobs(rows))).get("parts", [])) == parts


def test_neither_shares_nor_responses_below_0_have_parts(jobs: Make) -> None:
    rows = _rows(jobs(60))
    assert PARTS.axes(replace(rows, scale=Scale.LOGIT)) == {}
    assert PARTS.axes(replace(rows, scale=Scale.IDENTITY, values=rows.values - 10)) == {}


def test_categories_and_rows_without_any_noise_are_no_trouble() -> None:
    factors = (Factor("network", categories=("deep", "flat", "wide")), Factor("epochs", levels=(1.0, 30.0)))
    settings = np.array([[network, epochs] for network in range(3) for epochs in np.geomspace(1, 30, 12)])
    y = 5 + np.array([3.0, 0.5, 1.0])[settings[:, 0].astype(int)] * settings[:, 1]
    none = np.zeros(len(y), dtype=bool)
    rows = put_together(Observations(factors, "t", settings, y, np.arange(len(y)), none), Scale.LOG)
    regressor = PARTS.fit(rows, {"parts": 2})
    assert np.exp(regressor.mean(settings)) == pytest.approx(y, rel=0.01)
    assert np.all(np.isfinite(regressor.variances(settings).total))
