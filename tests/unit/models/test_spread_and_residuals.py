from dataclasses import replace

import numpy as np
import pytest

from coxswain.core.factors import Factor
from coxswain.core.models.residuals import Measure, Residuals, standardise
from coxswain.core.models.scales import Scale
from coxswain.core.models.spread import MOST, learn_spread

FACTORS = (Factor("a", levels=(1.0, 2.0, 4.0, 8.0)), Factor("b", levels=(1.0, 2.0)))


def _settings(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.column_stack([rng.choice(factor.levels, size) for factor in FACTORS])


def _residuals(errors: np.ndarray, own: np.ndarray, settings: np.ndarray) -> Residuals:
    size = len(errors)
    return Residuals(
        scale=Scale.LOG,
        location=np.zeros(size),
        error=errors,
        own=own,
        level=np.zeros(size),
        settings=settings,
        units=np.arange(size),
        folds=np.arange(size) % 5,
        censored=np.zeros(size, dtype=bool),
        dof=np.full(size, 20.0),
    )


def test_noise_that_depends_on_a_factor_is_found() -> None:
    rng = np.random.default_rng(0)
    settings = _settings(rng, 300)
    scores = rng.normal(size=300) * settings[:, 0] ** 0.7
    correction = learn_spread(FACTORS, settings, np.zeros(300), scores, np.ones(300))
    low, high = correction.factor(np.array([[1.0, 1.0], [8.0, 1.0]]), np.zeros(2))
    assert high / low == pytest.approx(8**0.7, rel=0.4)


def test_where_noise_is_the_same_everywhere_hardly_anything_is_corrected() -> None:
    rng = np.random.default_rng(1)
    settings = _settings(rng, 60)
    corrections = [
        learn_spread(FACTORS, settings, np.zeros(60), rng.normal(size=60), np.ones(60)).factor(settings, np.zeros(60))
        for _ in range(20)
    ]
    assert np.mean(np.abs(np.log(corrections))) < 0.12


def test_a_correction_is_never_beyond_reason() -> None:
    rng = np.random.default_rng(2)
    settings = _settings(rng, 200)
    scores = rng.normal(size=200) * settings[:, 0] ** 5
    factor = learn_spread(FACTORS, settings, np.zeros(200), scores, np.ones(200)).factor(settings, np.zeros(200))
    assert factor.max() <= MOST
    assert factor.min() >= 1 / MOST


def test_a_spread_that_the_model_knows_well_is_used() -> None:
    rng = np.random.default_rng(3)
    own = rng.choice([0.02, 0.5], 300)
    found = standardise(FACTORS, _residuals(own * rng.normal(size=300), own, _settings(rng, 300)))
    assert found.standard.measure is Measure.OWN


def test_a_model_that_is_sure_of_itself_for_no_reason_is_not_believed() -> None:
    rng = np.random.default_rng(4)
    own = rng.choice([0.02, 0.5], 100)
    found = standardise(FACTORS, _residuals(0.1 * rng.normal(size=100), own, _settings(rng, 100)))
    assert found.standard.measure is Measure.SAME
    assert found.standard.spread(own, _settings(rng, 100), np.zeros(100)) == pytest.approx(np.full(100, 0.1), rel=0.3)


def test_the_spread_is_a_standard_deviation_whatever_it_is_measured_by() -> None:
    rng = np.random.default_rng(5)
    own = rng.choice([0.02, 0.5], 400)
    residuals = _residuals(3 * own * rng.normal(size=400), own, _settings(rng, 400))
    for some in (residuals, replace(residuals, own=np.ones(400))):
        found = standardise(FACTORS, some)
        assert np.std(some.error / found.spread) == pytest.approx(1, rel=0.05)


def test_with_few_rows_the_model_is_taken_at_its_word() -> None:
    rng = np.random.default_rng(6)
    found = standardise(FACTORS, _residuals(rng.normal(size=10), np.ones(10), _settings(rng, 10)))
    assert found.standard.measure is Measure.OWN
    assert not len(found.calibration(dof=5).knots)


def test_scores_to_come_are_measured_by_a_spread_that_large_errors_had_their_part_in() -> None:
    """As least squares has it: what a deleted residual is by the spread of all rows."""
    rng = np.random.default_rng(6)
    x = np.column_stack([np.ones(25), rng.normal(size=(25, 3))])
    y = x @ [1.0, 2.0, 0.5, 0.0] + rng.normal(size=25)
    leverage = np.sum(x @ np.linalg.inv(x.T @ x) * x, axis=1)
    residual = y - x @ np.linalg.lstsq(x, y)[0]
    variance = float(residual @ residual) / 21
    internal = residual / np.sqrt(variance * (1 - leverage))
    without = (21 * variance - residual**2 / (1 - leverage)) / 20
    deleted = residual / np.sqrt(without * (1 - leverage))
    found = standardise(FACTORS, _residuals(deleted, np.ones(25), _settings(rng, 25)))
    alike = replace(found, standard=replace(found.standard, measure=Measure.OWN), spread=np.ones(25))
    assert np.sort(internal) == pytest.approx(alike.calibration(dof=21).knots, rel=1e-6)
    unlike = replace(alike, standard=replace(found.standard, measure=Measure.SAME))
    assert np.sort(deleted) == pytest.approx(unlike.calibration(dof=21).knots, rel=1e-6)
