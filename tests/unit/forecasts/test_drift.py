"""The alarm is quiet while forecasts hold and prompt when they do not; then old runs are forgotten."""

from collections.abc import Sequence

import numpy as np
import pytest

from coxswain.core.api.status import Issued
from coxswain.core.forecasts.drift import ALPHA, RECOVERED, Drift, drift_in, one_by_one
from coxswain.core.forecasts.learning import FamilyModel, learn
from coxswain.core.forecasts.outlook import outlook
from coxswain.core.forecasts.scores import Scored
from coxswain.core.jobs.foreseen import with_outlook
from coxswain.core.jobs.view import Snapshot
from coxswain.core.models.types import Floats
from tests.unit.forecasts.making import NOON, PER_EPOCH, SPREAD, STARTUP, after, entry, issued, job

BEFORE = 30


def runs(scores: Sequence[float] | Floats, begin: float = 0.0, each: float = 100.0) -> list[Scored]:
    """Runs one after the other, forecast to take 50 s, whose times lie at some scores of their forecasts."""
    return [
        Scored(
            FORECAST.model_copy(update={"time": after(begin + each * place)}),
            50 * float(np.exp(SPREAD * score)),
            after(begin + each * (place + 1)),
            None,
            finished=True,
        )
        for place, score in enumerate(scores)
    ]


FORECAST: Issued = issued(50)


def normal(seed: int, size: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(size)


def noticed(drift: Drift | None) -> float:
    """After which run the alarm was raised."""
    assert drift is not None
    return (drift.noticed - NOON).total_seconds() / 100


def test_false_alarms_are_as_rare_as_they_should_be() -> None:
    alarms = sum(drift_in(runs(normal(seed, 40))) is not None for seed in range(2000))
    assert alarms / 2000 <= ALPHA


@pytest.mark.parametrize("spread", [0.5, 1.5, 2.5])
def test_forecasts_that_are_always_too_sure_or_not_sure_enough_are_no_drift(spread: float) -> None:
    assert sum(drift_in(runs(spread * normal(seed, 100))) is not None for seed in range(50)) <= 5


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_a_change_of_all_times_by_two_is_noticed_within_a_handful_of_runs(factor: float) -> None:
    for seed in range(20):
        scores = normal(seed, BEFORE + 10)
        scores[BEFORE:] += np.log(factor) / SPREAD
        drift = drift_in(runs(scores)[: BEFORE + 7])
        assert drift is not None
        assert BEFORE < noticed(drift) <= BEFORE + 6
        assert drift.ratio == pytest.approx(factor, rel=0.3)
        assert not drift.over


def test_one_surprise_is_no_alarm_nor_are_three() -> None:
    scores = normal(1, BEFORE + 20)
    scores[[BEFORE, BEFORE + 6, BEFORE + 12]] = 9.0
    assert drift_in(runs(scores)) is None


def test_when_the_change_was_is_told_and_once_forecasts_hold_it_is_over() -> None:
    scores = normal(3, BEFORE + 6)
    scores[BEFORE:] += 7.0
    first = drift_in(runs(scores))
    assert first is not None
    assert abs((first.since - after(100 * BEFORE)).total_seconds()) <= 300
    calm = runs(normal(4, 40), begin=100 * len(scores))
    assert not drift_in([*runs(scores), *calm[: RECOVERED - 3]]).over  # type: ignore[union-attr]
    later = drift_in([*runs(scores), *calm])
    assert later == Drift(first.since, first.noticed, first.ratio, over=True)


def test_forecasts_by_one_model_err_together_and_count_once() -> None:
    side_by_side = [
        Scored(FORECAST.model_copy(update={"time": NOON}), 100.0, after(100 + place), None, finished=True)
        for place in range(50)
    ]
    assert one_by_one(side_by_side) == side_by_side[:1]
    assert drift_in(side_by_side) is None
    # One that began after the first had ended, but whose model had not learned of it, is no more independent.
    unlearned = [
        Scored(each.issued.model_copy(update={"learned": NOON}), each.seconds, each.ended, None, finished=True)
        for each in runs([*[0.5, -0.5] * 5, *[7.0] * 20])
    ]
    assert len(one_by_one(unlearned)) == 1
    assert drift_in(runs([*[0.5, -0.5] * 5, *[7.0] * 20])) is not None


def taught(factor: float, count: int) -> FamilyModel:
    """What a family teaches whose last runs took longer by a factor than was forecast."""
    rng = np.random.default_rng(5)
    entries, now = [], 0.0
    for number in range(BEFORE + count):
        epochs = 2 + number % 4
        slower = factor if number >= BEFORE else 1.0
        seconds = slower * PER_EPOCH * np.exp(rng.normal(0, 0.03) + rng.normal(0, 0.02, epochs))
        forecast = issued(STARTUP + PER_EPOCH * epochs, after(now))
        entries.append(entry(number, seconds, began=after(now), forecast=forecast))
        now += STARTUP + float(seconds.sum()) + 1
    return learn(entries)


def test_after_a_change_forecasts_are_learned_from_the_runs_since_and_say_so() -> None:
    model = taught(3.0, 8)
    assert model.drifting
    assert 4 <= model.runs <= 12
    one = job(parameters={"epochs": 4})
    told = outlook(one, model, after(9999), load=1.0)
    assert told.forecast is not None
    assert told.forecast.duration_seconds is not None
    assert told.forecast.duration_seconds.expected == pytest.approx(STARTUP + 3 * PER_EPOCH * 4, rel=0.15)
    ready = with_outlook(one.status, Snapshot(one, after(9999), outlook=told)).condition("ModelReady")
    assert ready is not None
    assert (ready.status, ready.reason) == ("True", "Drifted")
    assert f"forecast from {model.runs} finished runs like it that began since 2026-01-01T12:" in ready.message
    assert "times as long as forecast, so earlier ones are left out." in ready.message


def test_without_a_change_nothing_is_left_out() -> None:
    model = taught(1.0, 8)
    assert (model.drift, model.runs) == (None, BEFORE + 8)
    assert outlook(job(), model, after(9999), load=1.0).reason == "Learned"
