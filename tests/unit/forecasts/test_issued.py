"""Forecasts are kept as they were made, from the job's status to the ledger."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from coxswain.core.api.status import Interval, IssuedForecasts
from coxswain.core.cost import Prices
from coxswain.core.errors import InputError
from coxswain.core.forecasts.fan import FARTHEST, SCORES, fan_of, score_of, seconds_at
from coxswain.core.forecasts.learning import FamilyModel, learn
from coxswain.core.forecasts.outlook import outlook
from coxswain.core.jobs.entries import entry_of
from coxswain.core.jobs.life import decide, start
from coxswain.core.jobs.view import Job, Snapshot, Trained
from coxswain.core.ledger.entry import Entry, Promised
from coxswain.core.ledger.table import read_csv, to_csv
from coxswain.core.observations import SUCCEEDED
from coxswain.core.verdict import Verdict
from tests.unit.forecasts.making import NOON, after, entry, issued, job


@cache
def taught() -> FamilyModel:
    rng = np.random.default_rng(0)
    return learn([entry(number, 5 * np.exp(rng.normal(0, 0.05, 2 + number % 5))) for number in range(12)])


def test_a_fan_places_a_time_where_its_distribution_does() -> None:
    fan = fan_of(lambda levels: 100 * np.exp(0.2 * norm.ppf(levels)))
    assert len(fan) == len(SCORES) == 13
    for score in (-6.0, -3.0, -1.3, 0.0, 0.4, 2.9, 5.5):
        assert score_of(fan, 100 * np.exp(0.2 * score)) == pytest.approx(score, abs=0.02)
        assert seconds_at(fan, np.array([score]))[0] == pytest.approx(100 * np.exp(0.2 * score), rel=0.005)
    assert score_of(fan, 1e9) == FARTHEST
    assert score_of((5.0,) * 13, 5.0) == pytest.approx(0.0, abs=3.0)


def foreseen(one: Job, now: float, wait: Interval | None = None) -> Snapshot:
    return Snapshot(one, after(now), outlook=outlook(one, taught(), after(now), load=1.0, wait=wait))


def told(one: Job, now: float, wait: Interval | None = None) -> Job:
    """The job once its forecast is in its status."""
    return Job({**one.manifest, "status": decide(foreseen(one, now, wait)).status.render()})


def kept(one: Job) -> IssuedForecasts:
    assert one.status.issued is not None
    return one.status.issued


def test_a_waiting_job_keeps_its_first_forecast_as_it_was_told() -> None:
    wait = Interval(low=0, expected=30, high=60)
    one = told(job(parameters={"epochs": 4}, deadline={"within": "10m"}), 0, wait)
    first, forecast = kept(one).first, one.status.forecast
    assert first is not None
    assert forecast is not None
    assert (first.time, first.wait_seconds) == (NOON, wait)
    assert (first.duration_seconds, first.chance_percent) == (forecast.duration_seconds, forecast.chance_percent)
    assert first.latest_finish_time == forecast.latest_finish_time
    # 10 s of start-up and four epochs of 5 s.
    assert first.quantiles[6] == pytest.approx(30, rel=0.1)
    assert list(first.quantiles) == sorted(first.quantiles)
    assert kept(told(one, 40)) == kept(one)


def test_a_job_that_is_held_back_is_forecast_anew_when_it_may_run() -> None:
    asked = {"parameters": {"epochs": 4}}
    one = told(job(parameters=asked["parameters"]), 0)
    held = told(Job({**one.manifest, "spec": {**asked, "suspend": True}}), 10)
    assert (held.status.state, held.status.issued) == ("Suspended", None)
    assert held.status.forecast is not None
    again = kept(told(Job({**held.manifest, "spec": asked}), 999)).first
    assert again is not None
    assert again.time == after(999)


def test_what_is_rewritten_while_it_waits_is_forecast_anew() -> None:
    one = told(job(parameters={"epochs": 4}, adjust=[{"field": "epochs", "min": 1, "max": 9}]), 0)
    rewritten = told(Job({**one.manifest, "spec": {**one.manifest["spec"], "steered": {"epochs": 8}}}), 40)
    before, first = kept(one).first, kept(rewritten).first
    assert before is not None
    assert first is not None
    assert (first.time, first.settings != before.settings) == (after(40), True)
    assert first.duration_seconds.expected == pytest.approx(before.duration_seconds.expected + 20, rel=0.1)


def test_the_forecast_at_the_start_knows_no_wait_and_is_the_first_of_a_job_that_has_none() -> None:
    one = told(job(parameters={"epochs": 4}), 0, Interval(low=0, expected=900, high=999))
    begun = start(one, after(20), outlook=foreseen(one, 20).outlook).issued
    assert begun is not None
    assert begun.first == kept(one).first
    assert begun.at_start is not None
    assert begun.at_start.wait_seconds is None
    assert begun.at_start.latest_finish_time < after(20 + 60)
    at_once = start(job(), NOON, outlook=foreseen(job(), 0).outlook).issued
    assert at_once is not None
    assert at_once.first == at_once.at_start is not None
    assert start(job(), NOON).issued is None


def test_a_job_that_has_epochs_to_go_by_is_no_forecast_to_score() -> None:
    begun = Job({**job().manifest, "status": start(job(parameters={"epochs": 4}), NOON).render()})
    seen = Trained(after(20), "running", 1, 4, epoch_seconds=(5.0,))
    assert outlook(begun, taught(), after(20), load=1.0, trained=seen).issued is None
    assert outlook(begun, taught(), after(20), load=1.0).issued is not None


def test_the_ledger_keeps_what_was_promised_beside_what_came() -> None:
    one = told(job(parameters={"epochs": 4}, deadline={"within": "10m"}), 0)
    begun = Job({**one.manifest, "status": start(one, after(20), outlook=foreseen(one, 20).outlook).render()})
    recorded = entry_of(
        begun,
        Verdict(SUCCEEDED, word={"state": SUCCEEDED, "epochs": 4, "seconds": {"total": 31.0, "startup": 9.0}}),
        ended=after(52),
        node_type="",
        prices=Prices(),
        load=1.0,
    )
    assert recorded.promised == Promised(
        first=kept(begun).first, at_start=kept(begun).at_start, ended=after(52), deadline=after(600)
    )
    assert Entry.from_json(recorded.to_json()) == recorded
    assert read_csv(to_csv([recorded, entry(1)]), "here", None, "") == [recorded, entry(1)]
    # Of two forecasts there is not much more than of none.
    assert len(recorded.to_json()) < len(replace(recorded, promised=None).to_json()) + 1700


def test_an_entry_from_before_forecasts_were_kept_is_read_as_one_without() -> None:
    old = json.loads(entry(1).to_json())
    del old["promised"]
    assert Entry.from_json(json.dumps(old)) == entry(1)
    spoilt = json.loads(entry(1, forecast=issued(20)).to_json())
    spoilt["promised"]["at_start"]["quantiles"] = ["long"]
    with pytest.raises(InputError, match="quantiles"):
        Entry.from_json(json.dumps(spoilt))
