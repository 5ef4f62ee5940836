import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from coxswain.core.errors import InputError
from coxswain.core.factors import Factor
from coxswain.core.models.failure import ConstantChance, LogisticChance, fit_failures

FACTORS = (Factor("memory", levels=(1.0, 2.0, 4.0, 8.0)), Factor("network", categories=("deep", "shallow")))


def _settings(size: int, rng: np.random.Generator) -> np.ndarray:
    return np.column_stack([rng.choice(FACTORS[0].levels, size), rng.integers(0, 2, size).astype(float)])


def test_without_a_failure_the_chance_is_small_but_not_nothing() -> None:
    settings = _settings(20, np.random.default_rng(0))
    model = fit_failures(FACTORS, settings, np.zeros(20, dtype=bool))
    assert isinstance(model, ConstantChance)
    chance = model.predict(settings[:2])
    assert chance.point == pytest.approx([0.5 / 21] * 2)
    assert chance.high[0] == pytest.approx(stats.beta.ppf(0.975, 0.5, 20.5))


def test_more_runs_without_a_failure_make_it_smaller() -> None:
    few, many = (ConstantChance(0, runs).predict(np.zeros((1, 2))) for runs in (5, 500))
    assert many.high[0] < few.high[0] / 20


def test_what_failures_depend_on_is_found() -> None:
    rng = np.random.default_rng(1)
    settings = _settings(400, rng)
    truth = expit(-1.0 - 1.5 * np.log2(settings[:, 0] / 2))
    model = fit_failures(FACTORS, settings, rng.random(400) < truth)
    assert isinstance(model, LogisticChance)
    chance = model.predict(np.array([[1.0, 0.0], [8.0, 0.0]]))
    assert chance.point[0] > 0.45
    assert chance.point[1] < 0.15
    assert np.all((chance.low < chance.point) & (chance.point < chance.high))


def test_a_factor_that_separates_failures_does_not_promise_certainty() -> None:
    settings = np.column_stack([np.repeat([1.0, 2.0, 4.0, 8.0], 4), np.tile([0.0, 1.0], 8)])
    settings[:, 0] *= 1 + np.arange(16) / 100  # each a row of its own
    chance = fit_failures(FACTORS, settings, settings[:, 0] < 3).predict(np.array([[1.0, 0.0], [8.0, 0.0]]))
    assert 0.9 < chance.point[0] < 0.999
    assert 0.001 < chance.point[1] < 0.1


def test_a_strong_dependence_is_not_held_back() -> None:
    """From one chance in fifty to forty-nine, over the range of a factor."""
    rng = np.random.default_rng(2)
    settings = np.column_stack([np.exp(rng.uniform(0, np.log(8), 300)), rng.integers(0, 2, 300).astype(float)])
    truth = expit(-3.9 * (2 * np.log(settings[:, 0]) / np.log(8) - 1))
    chance = fit_failures(FACTORS, settings, rng.random(300) < truth).predict(np.array([[1.0, 0.0], [8.0, 0.0]]))
    assert chance.point[0] > 0.93
    assert chance.point[1] < 0.07


def test_runs_of_a_row_that_fail_together_count_as_one() -> None:
    settings = np.repeat(np.array([[1.0, 0.0], [2.0, 0.0], [4.0, 1.0], [8.0, 1.0]]), 10, axis=0)
    together = np.repeat([True, False, False, False], 10)
    mixed = np.tile([True, False, False, False], 10)
    wide, narrow = (fit_failures(FACTORS, settings, failed).predict(settings[:1]) for failed in (together, mixed))
    assert wide.high[0] > narrow.high[0] + 0.2
    assert fit_failures(FACTORS, settings, together) == ConstantChance(1.0, 4.0)


def test_intervals_cover_the_truth() -> None:
    covered = []
    there = np.array([[2.0, 1.0]])
    for seed in range(60):
        rng = np.random.default_rng(seed)
        settings = _settings(80, rng)
        failed = rng.random(80) < expit(-0.5 + 0.8 * (settings[:, 1] - 0.5))
        chance = fit_failures(FACTORS, settings, failed).predict(there, 0.9)
        covered.append(chance.low[0] <= expit(-0.1) <= chance.high[0])
    assert 0.8 < np.mean(covered) <= 1


def test_one_row_alone_is_counted_by_its_runs() -> None:
    settings = np.repeat(np.array([[1.0, 0.0]]), 20, axis=0)
    assert fit_failures(FACTORS, settings, np.arange(20) < 4) == ConstantChance(4.0, 20.0)


def test_there_must_be_runs() -> None:
    with pytest.raises(InputError, match="no runs"):
        fit_failures(FACTORS, np.empty((0, 2)), np.empty(0, dtype=bool))
