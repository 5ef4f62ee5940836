"""What was promised beside what came, in figures."""

from dataclasses import replace

import numpy as np
import pytest

from coxswain.core.forecasts.fan import SCORES
from coxswain.core.forecasts.scores import Made, Scores, scored, scores_of
from coxswain.core.ledger.entry import Entry
from coxswain.core.models.scoring import LEVELS, crps
from coxswain.core.observations import FAILED, STOPPED
from coxswain.shell.metrics import Metrics
from tests.unit.forecasts.making import SPREAD, STARTUP, after, entry, issued

NOTHING = Scores(0, None, None, None, None, None, None, 0, 0)


def taking(seconds: float, number: int = 0, began: float = 0.0, **more: object) -> Entry:
    return entry(number, [seconds - STARTUP], began=after(began), **more)  # type: ignore[arg-type]


def with_state(one: Entry, state: str) -> Entry:
    return replace(one, observation=replace(one.observation, state=state))


def family(count: int, spread: float, bias: float = 0.0) -> list[Entry]:
    """Runs one after the other whose medians differ by a factor of four and are forecast as they are."""
    rng = np.random.default_rng(1)
    runs, began = [], 0.0
    for number in range(count):
        median = 100 * 4.0 ** rng.uniform()
        seconds = float(median * np.exp(bias + spread * rng.standard_normal()))
        runs.append(taking(seconds, number, began, forecast=issued(median, after(began))))
        began += seconds
    return runs


def test_a_forecast_is_scored_by_its_interval_its_bound_and_its_error() -> None:
    forecast = issued(100)
    for seconds, inside, within in ((100, True, True), (84, False, True), (118, False, False), (115, True, False)):
        (one,) = scored([taking(seconds, forecast=forecast)], Made.START)
        assert (one.interval_held, one.bound_held) == (inside, within)
        assert one.error == pytest.approx(abs(100 / seconds - 1))
        assert one.score == pytest.approx(np.log(seconds / 100) / SPREAD, abs=0.01)
    assert scored([taking(100, first=forecast)], Made.START) == []
    assert len(scored([taking(100, first=forecast)], Made.CREATION)) == 1


def test_well_calibrated_forecasts_hold_as_often_as_they_say_and_beat_plain_history() -> None:
    found = scores_of(family(600, SPREAD), Made.START)
    assert found.forecasts == 600
    assert found.confidence == pytest.approx(0.9)
    assert found.interval_held == pytest.approx(0.9, abs=0.03)
    assert found.bound_held == pytest.approx(0.9, abs=0.03)
    assert found.mape == pytest.approx(SPREAD * np.sqrt(2 / np.pi), rel=0.1)
    # Of a normal distribution the expected CRPS is its deviation times 1/sqrt(pi).
    assert found.crps == pytest.approx(SPREAD / np.sqrt(np.pi), rel=0.07)
    # Plain history spreads evenly over log 4: a third of log 4 on average, less its own mean difference.
    assert found.skill == pytest.approx(0.76, abs=0.03)


def test_forecasts_that_are_far_off_have_no_skill() -> None:
    found = scores_of(family(200, SPREAD, bias=1.0), Made.START)
    assert found.skill is not None
    assert found.skill < 0
    assert found.bound_held == 0


def test_history_is_only_what_had_finished_before_the_forecast_was_made() -> None:
    early = [taking(50, number) for number in range(3)]
    known = taking(100, 9, 60, forecast=issued(100, after(60)))
    unknown = taking(100, 8, 20, forecast=issued(100, after(20)))
    assert scores_of([*early, unknown], Made.START).skill is None
    plain = float(crps(np.log(np.full((1, 40), 50.0)), np.log([100.0]))[0])
    own = scores_of([known], Made.START).crps
    assert own is not None
    assert scores_of([*early, known], Made.START).skill == pytest.approx(1 - own / plain)
    assert len(LEVELS) == 40


def test_a_promise_is_a_chance_of_at_least_the_confidence_and_is_kept_by_who_is_done_in_time() -> None:
    sure, unsure = issued(100, chance_percent=90), issued(100, chance_percent=89.9)
    runs = [
        taking(100, 0, forecast=sure, deadline=after(120)),
        taking(130, 1, forecast=sure, deadline=after(120)),
        taking(100, 2, forecast=unsure, deadline=after(120)),
        taking(100, 3, forecast=sure),
        with_state(taking(110, 4, forecast=sure, deadline=after(120)), STOPPED),
        with_state(taking(110, 5, forecast=sure, deadline=after(120)), FAILED),
    ]
    found = scores_of(runs, Made.START)
    # One that was stopped at its deadline had been promised to train to its end.
    assert (found.promised, found.kept, found.forecasts) == (3, 1, 4)


def test_what_was_adapted_is_scored_as_it_was_issued() -> None:
    moved = issued(100, adapted=tuple(SCORES + 2))
    plain, shifted = (
        scored([taking(122, forecast=each)], Made.START)[0].quantiles(np.array([0.5, 0.95]))
        for each in (issued(100), moved)
    )
    assert plain[0] == pytest.approx(100)
    assert shifted == pytest.approx(plain * np.exp(2 * SPREAD), rel=1e-3)


def test_of_nothing_nothing_is_said() -> None:
    assert scores_of([], Made.START) == NOTHING
    assert scores_of([entry(1)], Made.CREATION) == NOTHING
    undated = replace(entry(1), observation=replace(entry(1).observation, finished="some day"))
    assert scores_of([undated, taking(100, 9, 60, forecast=issued(100, after(60)))], Made.START).skill is None


def test_the_operator_counts_what_was_promised_and_kept() -> None:
    metrics = Metrics()
    sure = issued(100, chance_percent=95)
    for seconds in (100.0, 130.0):
        metrics.observe_forecasts(taking(seconds, forecast=sure, first=sure, deadline=after(120)))
    metrics.observe_forecasts(with_state(taking(110, forecast=sure, deadline=after(120)), FAILED))
    metrics.observe_forecasts(entry(1))
    for made in Made:
        for name, count in (
            ("forecast_bounds_issued_total", 2),
            ("forecast_bounds_kept_total", 1),
            ("deadlines_promised_total", 2),
            ("deadlines_kept_total", 1),
            ("forecast_error_ratio_count", 2),
        ):
            assert metrics.registry.get_sample_value(f"coxswain_{name}", {"made": made}) == count, name
