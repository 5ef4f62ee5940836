"""Bounds adapt until they hold as often as they say, and chances with them."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from coxswain.core.forecasts.adapted import AdaptedModel, adapt, plain, read_at
from coxswain.core.forecasts.fan import SCORES, fan_of, score_of, seconds_at
from coxswain.core.forecasts.learning import FamilyModel, learn
from coxswain.core.forecasts.outlook import outlook
from coxswain.core.forecasts.track import UNMOVED, Track, track, tracks
from coxswain.core.models.types import Floats
from tests.unit.forecasts.making import NOON, entry, job

CONFIDENCES = np.array([0.05, 0.5, 0.8, 0.9, 0.95, 0.99])
MODEL: FamilyModel = learn([entry(number, [5.0 + 0.1 * (number % 3)] * (2 + number % 3)) for number in range(8)])


def held(scores: Floats) -> Floats:
    """For each score whether it lay below the bounds that those before it gave, one for each confidence."""
    met = zip(scores, tracks(scores), strict=False)
    return np.array([score <= each.at(ndtri(CONFIDENCES)) for score, each in met])


def normal(seed: int, size: int = 300) -> Floats:
    return np.random.default_rng(seed).standard_normal(size)


def test_forecasts_that_hold_are_left_as_they_are_but_for_noise() -> None:
    assert not UNMOVED.moved
    assert track([]).scores.tolist() == SCORES.tolist()
    for seed in range(5):
        assert track(normal(seed)).at(ndtri(CONFIDENCES)) == pytest.approx(ndtri(CONFIDENCES), abs=0.6)
    assert held(normal(7)).mean(axis=0) == pytest.approx(CONFIDENCES, abs=0.03)


def test_after_all_times_have_doubled_bounds_hold_again_as_often_as_they_say() -> None:
    # With a spread of a tenth a doubling is a shift by seven deviations, and no model learns of it here.
    shifted = held(np.concatenate([normal(1, 50), np.log(2) / 0.1 + normal(2, 300)]))
    assert shifted[50:60].mean(axis=0)[4] < 0.5
    assert shifted[100:].mean(axis=0)[1:] == pytest.approx(CONFIDENCES[1:], abs=0.05)


@pytest.mark.parametrize("times", [0.4, 2.5], ids=["too wide", "too narrow"])
def test_forecasts_that_are_too_sure_or_not_sure_enough_are_put_right(times: float) -> None:
    found = held(times * normal(3, 600))[200:].mean(axis=0)
    # What is too wide is narrowed by one step in twenty at 95 %: slowly, as nobody is hurt.
    sure = slice(1, 3) if times < 1 else slice(0, 6)
    assert found[sure] == pytest.approx(CONFIDENCES[sure], abs=0.06)


def test_whatever_comes_the_long_run_holds() -> None:
    cycles = np.where(np.arange(800) // 25 % 2, 3.0, -3.0) + 0.1 * normal(4, 800)
    assert held(cycles)[200:].mean(axis=0) == pytest.approx(CONFIDENCES, abs=0.04)


def test_bounds_never_cross() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        moved = track(rng.normal(rng.normal(0, 3), 10 ** rng.uniform(-1, 1), int(rng.integers(1, 60))))
        assert np.all(np.diff(moved.scores) >= 0)
        assert np.all(np.diff(moved.at(np.linspace(-6, 6, 100))) >= 0)


def test_bounds_and_chances_come_from_one_distribution_also_when_adapted() -> None:
    assert MODEL.durations is not None
    settings = {"load": 1.0} | dict(MODEL.durations.epoch.varied.fixed)
    moved = Track(SCORES * 1.5 + 2)
    model = adapt(MODEL.durations, moved)
    assert isinstance(model, AdaptedModel)
    before, after = MODEL.durations.at(settings).one(4), model.at(settings).one(4)
    for level in (0.01, 0.1, 0.5, 0.9, 0.99):
        bound = after.quantile(level)
        assert after.cdf(bound) == pytest.approx(level, abs=1e-6)
        # What is read within the model's own range is the model's own value there.
        score = float(moved.at(np.array([ndtri(level)]))[0])
        if abs(score) < 3:
            assert before.cdf(bound) == pytest.approx(float(ndtr(score)), abs=1e-6)
        else:
            fan = fan_of(before.quantile)
            assert bound == pytest.approx(float(seconds_at(fan, np.array([score]))[0]), rel=0.01)
            assert score_of(fan, bound) == pytest.approx(score, abs=0.1)
    many = model.at(settings).many([1, 4])
    assert many.quantile(np.array([0.9]))[0, 1] == pytest.approx(after.quantile(0.9))
    assert plain(after).quantile(0.9) == before.quantile(0.9)
    assert read_at(after) == pytest.approx(moved.scores)
    assert read_at(before) is None


def test_a_run_that_has_done_epochs_is_forecast_by_these_alone() -> None:
    assert MODEL.durations is not None
    settings = {"load": 1.0} | dict(MODEL.durations.epoch.varied.fixed)
    model = adapt(MODEL.durations, Track(SCORES + 2))
    done = (5.0, 5.1)
    assert model.at(settings).one(4, done).quantile(0.9) == MODEL.durations.at(settings).one(4, done).quantile(0.9)


def test_nothing_is_wrapped_where_nothing_moved() -> None:
    assert MODEL.durations is not None
    assert adapt(MODEL.durations, UNMOVED) is MODEL.durations


def test_what_is_kept_of_an_adapted_forecast_is_the_model_s_own_and_where_it_was_read() -> None:
    assert MODEL.durations is not None
    moved = FamilyModel(8, adapt(MODEL.durations, Track(SCORES + 1)))
    one = job(parameters={"epochs": 4})
    plainly, adapted = (outlook(one, model, NOON, load=1.0).issued for model in (MODEL, moved))
    assert plainly is not None
    assert adapted is not None
    assert adapted.quantiles == plainly.quantiles
    assert adapted.duration_seconds.expected > plainly.duration_seconds.expected
    assert plainly.adapted is None
    assert adapted.adapted == pytest.approx(SCORES + 1)
