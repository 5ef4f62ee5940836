"""What the world does to a plan: news that gets worse and worse, clocks that jump, deadlines in the past, edits."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from coxswain.core.cost import Prices
from coxswain.core.forecasts.learning import FamilyModel, learn
from coxswain.core.jobs.life import start
from coxswain.core.jobs.parameters import steered_to
from coxswain.core.jobs.view import Job, Trained
from coxswain.core.planning.values import Capacity
from coxswain.core.steering.scene import Prospect, Situation
from coxswain.core.steering.steps import Step, steps_for
from tests.unit.forecasts.making import NOON, job
from tests.unit.steering.making import EPOCHS, entry, taught

MANY = 100


@cache
def taught_with(doublings: int) -> FamilyModel:
    """What 24 usual runs teach together with one that has taken twice as long as usual so many times over."""
    usual = [entry(number, 2 + number % 11, (32, 64, 128)[number % 3]) for number in range(24)]
    odd = entry(99, 8, 64)
    factor = 2.0**doublings
    curve = replace(odd.observation.curve, seconds=tuple(factor * each for each in odd.observation.curve.seconds))
    responses = {**odd.observation.responses, "duration": factor * odd.observation.responses["duration"]}
    return learn([*usual, replace(odd, observation=replace(odd.observation, curve=curve, responses=responses))])


def asking(number: int) -> Job:
    within = 60 + 12 * number
    return job(f"job-{number}", parameters={"epochs": 20}, adjust=[EPOCHS], deadline={"within": f"{within}s"})


def planned(
    jobs: list[Job], model: FamilyModel, *, news: bool = True, now: datetime = NOON, cores: int = 4000
) -> list[Step]:
    prospects = tuple(Prospect(each, "family", model, news=news) for each in jobs)
    return steps_for(Situation(prospects, (), Capacity(cores), now, Prices()))


def rewritten(jobs: list[Job], steps: list[Step]) -> list[Job]:
    """The jobs as the cluster has them once every rewrite is written."""
    written = {step.job.name: step.steered for step in steps if step.rewrites}
    return [
        _with(each, steered=steered_to(written[each.name]) or None) if each.name in written else each for each in jobs
    ]


def _with(asked: Job, **fields: Any) -> Job:
    spec = {name: value for name, value in {**asked.manifest["spec"], **fields}.items() if value is not None}
    return Job({**asked.manifest, "spec": spec})


def test_news_that_doubles_every_time_changes_each_job_at_most_once_a_pass_and_nothing_flips_without_news() -> None:
    jobs = [asking(number) for number in range(MANY)]
    for doublings in range(1, 4):
        steps = planned(jobs, taught_with(doublings))
        # One pass says what is to become of everybody, once.
        assert sorted(step.job.name for step in steps) == sorted(each.name for each in jobs)
        jobs = rewritten(jobs, steps)
        again = planned(jobs, taught_with(doublings), news=False)
        in_time_before = {step.job.name for step in steps if step.advice.attainable}
        flipped = [step for step in again if step.rewrites and step.job.name in in_time_before]
        assert flipped == []


def test_time_that_passes_is_no_news() -> None:
    jobs = [asking(number) for number in range(12)]
    jobs = rewritten(jobs, planned(jobs, taught()))
    for seconds in (1, 3):
        later = planned(jobs, taught(), news=False, now=NOON + timedelta(seconds=seconds))
        # Only what has become too slow by the time that passed may be less than it was, and nothing more.
        for step in (each for each in later if each.rewrites):
            assert all(change.to < change.before for change in step.advice.adjusted)


def test_a_clock_that_jumps_breaks_nothing_and_is_forgotten() -> None:
    jobs = [_with(asking(number), adjust=[{"field": "epochs", "min": 1, "max": 40, "step": 13}]) for number in range(3)]
    running = job("running", parameters={"epochs": 10})
    running = Job({**running.manifest, "status": start(running, NOON).render()})
    trained = Trained(NOON, "training", epochs=3, planned=10, epoch_seconds=(5.0,) * 3)

    def at(now: datetime) -> list[Step]:
        prospects = tuple(Prospect(each, "family", taught()) for each in jobs)
        runs = (Prospect(running, "family", taught(), trained), Prospect(running, "family", taught()))
        return steps_for(Situation(prospects, runs, Capacity(3000), now, Prices()))

    before = at(NOON)
    jumps = [timedelta(days=-3650), timedelta(hours=-1), timedelta(hours=1), timedelta(days=3650)]
    for step in (step for jump in jumps for step in at(NOON + jump)):
        assert step.wait is None or step.wait.expected >= 0
        assert step.decision.forecast.chance is not None
        assert 0 <= step.decision.forecast.chance <= 1
        assert step.steered is None or 1 <= (step.steered.epochs or 1) <= 40
    assert [(step.job.name, step.steered, step.wait) for step in at(NOON)] == [
        (step.job.name, step.steered, step.wait) for step in before
    ]


def test_a_deadline_in_the_past_is_told_and_delays_nobody() -> None:
    passed = job("passed", parameters={"epochs": 20}, adjust=[EPOCHS], deadline={"at": "2026-01-01T11:00:00Z"})
    steps = planned([passed, asking(0)], taught(), cores=1000)
    assert [step.job.name for step in steps] == ["job-0", "passed"]
    late = steps[1].advice
    assert late.attainable is False
    assert late.reason == "Its deadline passed 60 min ago."
    alone = planned([asking(0)], taught(), cores=1000)
    assert steps[0].steered == alone[0].steered


def test_what_the_user_edits_is_the_new_request_whatever_was_steered() -> None:
    asked = asking(10)
    (step,) = planned([asked], taught())
    (steered,) = rewritten([asked], [step])
    # Less than was steered to: the request fits, so it stands.
    edited = _with(steered, parameters={"epochs": 3}, adjust=None, steered=None)
    (step,) = planned([edited], taught())
    assert (step.steered, step.rewrites) == (None, False)
    # A new request with bounds of its own: nothing outside them is chosen.
    bounds = [{"field": "epochs", "min": 2, "max": 6}]
    (step,) = planned([_with(steered, adjust=bounds, deadline={"within": "60s"}, steered=None)], taught())
    assert step.steered is not None
    assert 2 <= (step.steered.epochs or 0) <= 6
