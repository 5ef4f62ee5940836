"""From a family's observations to what its waiting jobs should run with."""

from datetime import timedelta
from typing import Any

import pytest

from coxswain.core.api.status import Forecast, Interval
from coxswain.core.cost import Prices
from coxswain.core.forecasts.learning import FamilyModel
from coxswain.core.forecasts.outlook import outlook
from coxswain.core.jobs.foreseen import is_news
from coxswain.core.jobs.life import start
from coxswain.core.jobs.view import Job, Trained
from coxswain.core.planning.values import Capacity
from coxswain.core.steering.choices import MOST_CHOICES, choices_of, values_of
from coxswain.core.steering.scene import Prospect, Situation
from coxswain.core.steering.steps import steps_for
from tests.unit.forecasts.making import NOON, PER_EPOCH, STARTUP, job
from tests.unit.steering.making import EPOCHS, steps, taught


def test_the_choices_are_what_was_asked_for_and_all_that_is_allowed() -> None:
    assert choices_of(job().spec) == [None]
    found = choices_of(job(parameters={"epochs": 3}, adjust=[{"field": "epochs", "min": 2, "max": 5}]).spec)
    assert [each.epochs if each else None for each in found] == [None, 2, 4, 5]
    both = [{"field": "epochs", "min": 2, "max": 4}, {"field": "batchSize", "values": [64, 128]}]
    assert len(choices_of(job(parameters={"epochs": 2}, adjust=both).spec)) == 6


def test_a_choice_that_could_not_run_is_none() -> None:
    adjust = [{"field": "workers", "values": [1, 2, 128]}]
    found = choices_of(job(adjust=adjust).spec)
    assert [each.workers if each else None for each in found] == [None, 2]


def test_very_many_choices_are_thinned_out_but_keep_their_ends() -> None:
    adjust = [{"field": "epochs", "min": 1, "max": 1000}, {"field": "batchSize", "values": list(range(64, 128))}]
    found = [each for each in choices_of(job(adjust=adjust).spec) if each]
    assert len(found) <= MOST_CHOICES
    assert {min(each.epochs or 0 for each in found), max(each.epochs or 0 for each in found)} == {1, 1000}


def test_steps_do_not_miss_the_last_value_by_rounding() -> None:
    adjust = {"field": "learningRate", "min": 0.1, "max": 0.3, "step": 0.1}
    (only,) = job(adjust=[adjust]).spec.adjust or ()
    assert len(values_of(only)) == 3


def test_the_most_epochs_that_fit_are_chosen_and_not_more() -> None:
    (step,) = steps(job(parameters={"epochs": 40}, adjust=[EPOCHS], deadline={"within": "60s"}))
    assert step.steered
    assert step.steered.epochs
    # Ten epochs take 60 s: at 95 % a little less has to do, and much less would waste accuracy.
    assert 7 <= step.steered.epochs <= 9
    assert step.advice.attainable
    (change,) = step.advice.adjusted
    assert (change.field, change.before, change.to) == ("epochs", 40, step.steered.epochs)
    assert change.finish_after
    assert change.finish_after <= NOON + timedelta(seconds=60)


def test_what_was_asked_for_stays_when_it_fits() -> None:
    (step,) = steps(job(parameters={"epochs": 40}, adjust=[EPOCHS], deadline={"within": "10m"}))
    assert (step.steered, step.advice.adjusted, step.rewrites) == (None, (), False)


def test_a_job_that_waits_behind_another_gets_less() -> None:
    def asking(name: str) -> Job:
        return job(name, parameters={"epochs": 40}, adjust=[EPOCHS], deadline={"within": "2m"})

    alone = steps(asking("a"))[0].steered
    together = [step.steered for step in steps(asking("a"), asking("b"))]
    assert alone
    assert alone.epochs
    assert all(each and each.epochs and each.epochs < alone.epochs for each in together)


def test_without_a_model_nothing_is_changed() -> None:
    asked = job(parameters={"epochs": 40}, adjust=[EPOCHS], deadline={"within": "60s"})
    (step,) = steps(asked, model=FamilyModel(1))
    assert (step.steered, step.rewrites) == (None, False)


@pytest.mark.parametrize(("mode", "rewrites"), [("Auto", True), ("DryRun", False), ("Disabled", False)])
def test_only_auto_rewrites(mode: str, rewrites: bool) -> None:
    deadline = {"within": "60s"}
    asked = job(parameters={"epochs": 40}, adjust=[EPOCHS], deadline=deadline, steering={"mode": mode})
    assert steps(asked)[0].rewrites is rewrites


def test_disabling_takes_back_what_was_steered() -> None:
    steered = {"epochs": 5}
    (step,) = steps(job(adjust=[EPOCHS], steered=steered, deadline={"within": "60s"}, steering={"mode": "Disabled"}))
    assert step.rewrites


def test_an_impossible_deadline_names_what_would_do() -> None:
    (step,) = steps(job(parameters={"epochs": 4}, adjust=[EPOCHS], deadline={"within": "5s"}))
    assert step.advice.attainable is False
    assert step.advice.remedy


def test_a_forecast_has_intervals_a_basis_and_a_chance_that_agree() -> None:
    waits = Interval(low=0.0, expected=10.0, high=30.0)
    told = outlook(
        job(parameters={"epochs": 6}, deadline={"within": "1m"}), taught(), NOON, load=1.0, wait=waits
    ).forecast
    assert told
    assert told.duration_seconds
    assert told.duration_seconds.low < told.duration_seconds.expected < told.duration_seconds.high
    assert told.duration_seconds.expected == pytest.approx(STARTUP + 6 * PER_EPOCH, rel=0.05)
    assert told.accuracy
    assert told.accuracy.expected == pytest.approx(0.95 - 0.5 * 6**-0.7, abs=0.03)
    assert told.chance_percent is not None
    assert 50 < told.chance_percent < 100
    assert told.finish_time
    left = (told.finish_time - NOON).total_seconds()
    assert left == pytest.approx(waits.expected + told.duration_seconds.expected, rel=0.01)
    assert str(told.basis).split(",")[0] in {"conformal", "parametric"}


def test_a_running_job_is_forecast_by_its_own_epochs() -> None:
    asked = job(parameters={"epochs": 10})
    running = Job({**asked.manifest, "status": start(asked, NOON).render()})
    now = NOON + timedelta(seconds=60)
    slow = Trained(now, "training", epochs=5, planned=10, epoch_seconds=(10.0,) * 5)
    told = outlook(running, taught(), now, load=1.0, trained=slow).forecast
    assert told
    assert told.finish_time
    # Twice as slow as usual: the five epochs to come take 50 s rather than 25.
    assert (told.finish_time - now).total_seconds() == pytest.approx(50, rel=0.2)


def test_too_few_runs_are_counted() -> None:
    told = outlook(job(), FamilyModel(1), NOON, load=1.0)
    assert (told.forecast, told.reason) == (None, "TooFewObservations")
    assert told.message.startswith("2 more finished runs")


def test_a_forecast_is_told_again_only_when_it_moved() -> None:
    def at(seconds: float, chance: float) -> Forecast:
        finish = NOON + timedelta(seconds=seconds)
        return Forecast(time=NOON, confidence_percent=95, finish_time=finish, chance_percent=chance)

    assert not is_news(at(100, 90), at(103, 91), NOON)
    assert is_news(at(100, 90), at(110, 90), NOON)
    assert is_news(at(100, 90), at(100, 93), NOON)
    assert is_news(None, at(100, 90), NOON)


def test_a_job_that_was_started_before_goes_on_with_what_it_was_given() -> None:
    given: dict[str, Any] = {
        "parameters": {"epochs": 40},
        "adjust": [EPOCHS],
        "deadline": {"within": "60s"},
        "steered": {"epochs": 9},
    }
    began = start(job(**given), NOON)
    ended = began.attempts[-1].model_copy(update={"completion_time": NOON + timedelta(seconds=50), "reason": "Evicted"})
    again = Job({**job(**given).manifest, "status": began.model_copy(update={"attempts": (ended,)}).render()})
    assert again.waits
    (step,) = steps(again, now=NOON + timedelta(seconds=55))
    # There is no time left for anything, but the API server lets nobody change it any more.
    assert (step.rewrites, step.advice.adjusted, step.advice.attainable) == (False, (), False)
    off = {**given, "steering": {"mode": "Disabled"}}
    (step,) = steps(Job({**job(**off).manifest, "status": again.status.render()}))
    assert not step.rewrites


@pytest.mark.parametrize("model", [None, FamilyModel(2)])
def test_no_job_is_given_up_by_a_guess(model: FamilyModel | None) -> None:
    asked = job(deadline={"within": "60s"}, adjust=[EPOCHS], steering={"whenInfeasible": "Fail"})
    (step,) = steps_for(Situation((Prospect(asked, "family", model),), (), Capacity(1000), NOON, Prices()))
    assert (step.advice.attainable, step.advice.remedy, step.rewrites) == (None, None, False)
    assert step.decision.starts_now


def test_what_was_started_is_what_counts_whatever_the_spec_says_since() -> None:
    given: dict[str, Any] = {"parameters": {"epochs": 40}, "adjust": [EPOCHS], "steered": {"epochs": 9}}
    began = start(job(**given), NOON)
    changed = Job({**job(**{**given, "steered": {"epochs": 3}}).manifest, "status": began.render()})
    assert changed.effective.parameters.epochs == 9
    assert changed.effective.resources == changed.spec.resources
