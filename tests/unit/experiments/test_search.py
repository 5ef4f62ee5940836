"""The life of an experiment that searches: its runs are made like a design's, and grow with what they give."""

import json
import math
from typing import Any

from coxswain.core.experiments.findings import find
from coxswain.core.experiments.life import decide
from coxswain.core.experiments.plan import plan_course
from coxswain.core.experiments.view import Experiment, Plan, Snapshot
from coxswain.core.jobs.view import RUN_ANNOTATION
from coxswain.core.observations import FAILED
from tests.unit.experiments.test_life import World

RATE = {"name": "rate", "field": "parameters.learningRate", "levels": [0.01, 1], "coding": "Log"}


def climbing(**spec: Any) -> World:
    design = {"type": "HillClimb", "replications": 2, "search": {"minimize": "duration", "maxRuns": 40}}
    return World(**{"factors": [RATE], "design": design, **spec})


def duration_of(world: World, name: str) -> float:
    told = json.loads(world.jobs[name].manifest["metadata"]["annotations"][RUN_ANNOTATION])
    return 10 * (1 + math.log2(float(told["settings"]["rate"]) / 0.05) ** 2) + 0.01 * float(told["replicate"])


def run_all(world: World) -> list[str]:
    """Make runs until none is left; gives their names in order."""
    made: list[str] = []
    while world.jobs or world.look().create:
        name = next(iter(world.jobs))
        made.append(name)
        world.end(name, duration=duration_of(world, name))
    return made


def test_it_is_fixed_by_its_hash_and_begins_with_its_start() -> None:
    world = climbing(parallelism=4)
    first = world.look()
    assert first.status.design_hash
    assert first.create == ()
    assert "Trying row 0 (rate 0.01)" in first.notes[0].message
    second = world.look()
    assert [each["metadata"]["name"] for each in second.create] == ["study-row0-0", "study-row0-1"]
    assert second.create[0]["spec"]["parameters"]["learningRate"] == 0.01
    assert second.status.counts
    assert second.status.counts.total == 2


def test_rows_follow_from_results_until_it_ends_with_the_best_in_its_status() -> None:
    world = climbing()
    world.begin()
    made = run_all(world)
    assert made[:5] == ["study-row0-0", "study-row0-1", "study-row1-0", "study-row1-1", "study-row2-0"]
    assert len(made) == len(set(made))
    world.look()
    done = world.look().status
    assert done.state == "Succeeded"
    assert done.counts
    assert done.counts.total == done.counts.succeeded == len(made)
    assert done.search
    (best,) = done.search.best
    assert best.level
    assert 0.04 <= best.level <= 0.06
    assert done.search.response
    assert done.search.standard_error
    complete = done.condition("Complete")
    assert complete
    assert "no step lowers duration by 10 % or more beyond chance; the best is rate 0.0" in complete.message
    assert world.look().status == done


def test_each_step_is_told_once() -> None:
    world = climbing()
    told = [note.message for note in (*world.look().notes, *world.look().notes, *world.look().notes)]
    assert len(told) == 1
    for name in list(world.jobs):
        world.end(name, duration=10.0)
    world.look()
    world.end("study-row0-1", duration=10.0)
    (note,) = world.look().notes
    assert note.reason == "Searching"
    assert note.message == "Trying row 1 (rate 0.02); so far the best is rate 0.01 with duration 10 ± 0."
    assert world.look().notes == ()


def test_whatever_is_forgotten_the_same_runs_are_made() -> None:
    calm = climbing(parallelism=2)
    calm.begin()
    expected = set(run_all(calm))
    hunted = climbing(parallelism=2)
    hunted.begin()
    count = 0
    while hunted.jobs or hunted.look().create:
        count += 1
        if count % 3 == 0:  # a job that vanished before it was observed
            hunted.jobs.popitem()
            hunted.look()
        name = next(iter(hunted.jobs))
        hunted.end(name, duration=duration_of(hunted, name))
    assert set(hunted.entries) == expected
    for name, entry in hunted.entries.items():
        assert entry.observation.settings == calm.entries[name].observation.settings


def test_a_run_that_failed_ends_its_row_and_too_many_end_the_search() -> None:
    world = climbing(maxFailedRuns=1)
    world.begin()
    world.end("study-row0-0", duration=10)
    world.look()
    world.end("study-row0-1", duration=10)
    world.look()
    world.end("study-row1-0", FAILED)
    (turned_back,) = world.look().create
    assert turned_back["metadata"]["name"] == "study-row2-0"
    assert turned_back["spec"]["parameters"]["learningRate"] == 0.011
    world.end("study-row2-0", FAILED)
    world.look()
    failed = world.look().status.condition("Failed")
    assert failed
    assert failed.reason == "TooManyFailedRuns"


def test_suspending_and_a_spent_budget_hold_it_like_a_design() -> None:
    assert climbing(suspend=True).begin().create == ()
    world = climbing(budget={"cost": 5})
    world.begin()
    world.end("study-row0-0", money=6.0)
    assert world.look().create == ()
    complete = world.look().status.condition("Complete")
    assert complete
    assert complete.reason == "BudgetSpent"


def test_what_came_in_while_the_plan_was_made_does_not_end_it() -> None:
    world = climbing(design={"type": "HillClimb", "search": {"minimize": "duration"}})
    world.begin()
    stale = plan_course(Experiment(world.manifest).parsed, {}, world.jobs.values())
    world.end("study-row0-0")
    decision = decide(Snapshot(Experiment(world.manifest), world.now, stale, world.entries, world.jobs))
    assert (decision.status.state, decision.analyse) == ("Running", False)
    assert [each["metadata"]["name"] for each in world.look().create] == ["study-row1-0"]


def test_the_findings_hold_the_course_and_the_queue_before_and_after() -> None:
    world = climbing()
    world.begin()
    run_all(world)
    experiment = Experiment(world.manifest).parsed
    plan = plan_course(experiment, world.entries, ())
    assert isinstance(plan, Plan)
    assert plan.search
    found = json.loads(find(experiment.spec, list(world.entries.values()), plan.search.course).text)["search"]
    assert [step["row"] for step in found["steps"]] == list(range(len(found["steps"])))
    assert found["best"]["verdict"].startswith("the best")
    one, four = found["queue"]
    assert (one["before"]["name"], four["after"]["name"]) == ("M/M/1", "M/M/4")
    start, best = found["steps"][0]["mean"], found["best"]["mean"]
    assert one["before"]["response_seconds"] == 5 * start
    assert one["after"]["utilization"] == 0.8 * best / start
