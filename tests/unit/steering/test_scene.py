"""A queue as the planner sees it: who is to come, what has been promised, and how sure a promise has to be."""

from dataclasses import replace
from datetime import timedelta

from coxswain.core.api.status import DEADLINE_ATTAINABLE, Result
from coxswain.core.cost import Prices
from coxswain.core.jobs.life import start
from coxswain.core.jobs.view import Job
from coxswain.core.planning.promise import strictest
from coxswain.core.planning.values import Capacity
from coxswain.core.steering.scene import Prospect, Situation, scene_of
from coxswain.core.steering.steps import steps_for
from tests.unit.forecasts.making import NOON, job
from tests.unit.steering.making import taught


def situation(*waiting: Job, ended: tuple[Job, ...] = ()) -> Situation:
    prospects = tuple(Prospect(each, "family", taught()) for each in waiting)
    return Situation(prospects, (), Capacity(1000), NOON, Prices(), ended)


def ended(number: int) -> Job:
    """A short and urgent job that came and went before."""
    asked = job(f"ended-{number}", parameters={"epochs": 4}, deadline={"within": "60s"})
    came = NOON - timedelta(minutes=2 * number)
    metadata = {**asked.manifest["metadata"], "creationTimestamp": came.isoformat()}
    status = asked.status.model_copy(update={"result": Result(outcome="Completed", duration_seconds=30.0)})
    return Job({**asked.manifest, "metadata": metadata, "status": status.render()})


def test_who_came_tells_who_is_to_come() -> None:
    assert scene_of(situation(job())).snapshot.arrivals is None
    arrivals = scene_of(situation(job(), ended=tuple(map(ended, range(60))))).snapshot.arrivals
    assert arrivals is not None
    assert 0.9 / 120 < arrivals.rate < 1.1 / 120
    assert arrivals.times.quantile(0.5) == 30.0
    assert arrivals.due.quantile(0.5) == 60.0


def test_a_wait_counts_those_to_come() -> None:
    running = job("running", parameters={"epochs": 60})
    running = Job({**running.manifest, "status": start(running, NOON).render()})
    waits = []
    for before in ((), tuple(map(ended, range(60)))):
        busy = situation(job(parameters={"epochs": 4}, deadline={"within": "3h"}), ended=before)
        busy = replace(busy, running=(Prospect(running, "family", taught()),))
        (step,) = steps_for(busy)
        assert step.wait is not None
        waits.append(step.wait.expected)
    assert waits[1] > 1.1 * waits[0]


def test_what_has_been_told_counts_as_a_promise() -> None:
    asked = job(parameters={"epochs": 4}, deadline={"within": "5m"})
    assert not scene_of(situation(asked)).snapshot.pending[0].promised
    status = asked.status.having(DEADLINE_ATTAINABLE, "True", "Attainable", "it will.", now=NOON)
    told = Job({**asked.manifest, "status": status.render()})
    assert scene_of(situation(told)).snapshot.pending[0].promised


def test_a_promise_about_settings_that_hardly_differ_has_to_be_surer() -> None:
    def level(*batches: int) -> float:
        adjust = [{"field": "batchSize", "values": list(batches)}]
        asked = job(parameters={"epochs": 4, "batchSize": batches[0]}, adjust=adjust, deadline={"within": "5m"})
        return scene_of(situation(asked)).snapshot.pending[0].asks_for

    assert level(32, 128) <= level(64, 65, 66) <= strictest(0.95)
    assert level(64, 65, 66) > 0.95
