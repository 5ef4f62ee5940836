"""Jobs that slow each other down: learned from runs in different company, and counted when a queue is planned."""

from dataclasses import replace
from datetime import timedelta

import pytest

from coxswain.core.cost import Prices
from coxswain.core.forecasts.learning import FamilyModel, learn
from coxswain.core.jobs.life import start
from coxswain.core.jobs.view import Job, Trained
from coxswain.core.planning.values import Capacity
from coxswain.core.steering.contention import contention_of
from coxswain.core.steering.scene import Prospect, Situation, scene_of
from coxswain.core.steering.steps import steps_for
from tests.unit.forecasts.making import NOON, PER_EPOCH, STARTUP, entry, job
from tests.unit.steering.making import taught

TWO_CORES = Capacity(2000)
SLOWER = 1.5
"""By what factor epochs are slower where two jobs run at a time."""


def in_company() -> FamilyModel:
    """What runs teach of which every other one had another job beside it."""
    entries = []
    for number in range(12):
        load = 1.0 + number % 2
        seconds = [PER_EPOCH * SLOWER ** (load - 1) * (1 + 0.01 * (number % 3))] * (4 + number % 5)
        made = entry(number, seconds)
        entries.append(replace(made, observation=replace(made.observation, load=load)))
    return learn(entries)


def test_how_much_jobs_slow_each_other_down_is_learned_from_runs_in_different_company() -> None:
    long = job(parameters={"epochs": 1000})
    # One core of two beside it made it slower by a half, so all others would by as much as they are of two cores.
    found = contention_of([(long, "family", in_company())], TWO_CORES)
    assert found == pytest.approx(2 * (SLOWER - 1), rel=0.1)
    assert contention_of([(long, "family", taught())], TWO_CORES) == 0
    assert contention_of([(long, "family", None)], TWO_CORES) == 0


def test_a_job_that_would_make_a_running_one_late_does_not_start_beside_it() -> None:
    model = in_company()
    epochs = 20
    # In time by itself, and not with another one beside it from now on.
    due = (STARTUP + epochs * PER_EPOCH) * 1.15
    begun = job("running", parameters={"epochs": epochs}, deadline={"within": f"{due:.0f}s"})
    runs = Job({**begun.manifest, "status": start(begun, NOON).render()})
    trained = Trained(NOON + timedelta(seconds=15), "training", epochs=1, planned=epochs, epoch_seconds=(PER_EPOCH,))
    waiting = job("waiting", parameters={"epochs": 5})

    def held(known: FamilyModel, *running: Job) -> bool:
        prospects = tuple(Prospect(each, "family", known, trained) for each in running)
        now = NOON + timedelta(seconds=15)
        (step,) = steps_for(Situation((Prospect(waiting, "family", known),), prospects, TWO_CORES, now, Prices()))
        return step.held

    assert held(model, runs)
    # Without anybody to harm, or without having seen that jobs do.
    assert not held(model)
    assert not held(taught(), runs)


def test_times_are_those_of_a_job_alone_where_the_planner_knows_what_company_does() -> None:
    model = in_company()
    prospects = (Prospect(job("a"), "family", model), Prospect(job("b"), "family", model))
    scene = scene_of(Situation(prospects, (), TWO_CORES, NOON, Prices()))
    assert scene.snapshot.contention > 0
    medians = [each.candidates[0].times.quantile(0.5) for each in scene.snapshot.pending]
    assert medians == pytest.approx([STARTUP + PER_EPOCH] * 2, rel=0.1)
