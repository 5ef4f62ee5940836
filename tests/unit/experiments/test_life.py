import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from coxswain.core.api.status import ADMITTED
from coxswain.core.cost import Prices
from coxswain.core.experiments.life import Decision, decide
from coxswain.core.experiments.plan import plan_course, plan_design
from coxswain.core.experiments.view import Experiment, Snapshot
from coxswain.core.families import family_of
from coxswain.core.jobs.view import RUN_ANNOTATION, Job
from coxswain.core.ledger.entry import Entry
from coxswain.core.observations import FAILED, SUCCEEDED, Observation

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FACTORS = [
    {"name": "batch", "field": "parameters.batchSize", "levels": [32, 64]},
    {"name": "epochs", "field": "parameters.epochs", "levels": [1, 2]},
]


def manifest(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "coxswain.dev/v1alpha1",
        "kind": "TrainingExperiment",
        "metadata": {
            "name": "study",
            "namespace": "here",
            "uid": "uid",
            "generation": 1,
            "creationTimestamp": "2026-01-01T12:00:00Z",
        },
        "spec": {
            "factors": FACTORS,
            "design": {"type": "FullFactorial", "order": "Standard"},
            "template": {"spec": {}},
            **spec,
        },
    }


class World:
    """An experiment whose decisions are carried out, and whose jobs end when the test says so."""

    def __init__(self, **spec: Any) -> None:
        self.manifest = manifest(**spec)
        self.now = NOON
        self.jobs: dict[str, Job] = {}
        self.entries: dict[str, Entry] = {}
        self.results = False
        self.prices = Prices(core_hour=0.1)

    def look(self) -> Decision:
        experiment = Experiment(self.manifest)
        if experiment.parsed.spec.design.search:
            plan = plan_course(experiment.parsed, self.entries, self.jobs.values())
        else:
            plan = plan_design(experiment.parsed)
        decision = decide(Snapshot(experiment, self.now, plan, self.entries, self.jobs, self.results, self.prices))
        self.manifest = {**self.manifest, "status": decision.status.render()}
        for each in decision.create:
            created = {"uid": each["metadata"]["name"], "creationTimestamp": "2026-01-01T12:00:00Z"}
            self.jobs[each["metadata"]["name"]] = Job({**each, "metadata": {**each["metadata"], **created}})
        self.results = self.results or decision.analyse
        return decision

    def begin(self) -> Decision:
        """The look that fixes the design, and the first that creates runs."""
        assert self.look().create == ()
        return self.look()

    def hold(self, name: str, reason: str, message: str) -> None:
        job = self.jobs[name]
        status = job.status.model_copy(update={"state": "Held"}).having(
            ADMITTED, "False", reason, message, now=self.now
        )
        self.jobs[name] = Job({**job.manifest, "status": status.render()})

    def end(self, name: str, state: str = SUCCEEDED, money: float = 0.0, duration: float = 1.0) -> None:
        job = self.jobs.pop(name)
        told = json.loads(job.manifest["metadata"]["annotations"][RUN_ANNOTATION])
        observation = Observation(
            experiment="study",
            run=told["run"],
            job=name,
            row=told["row"],
            replicate=told["replicate"],
            block=told["block"],
            digest="",
            settings=told["settings"],
            responses={"duration": duration, "money": money},
            state=state,
            started="",
            finished="",
        )
        family = family_of("here", job.spec, "")
        self.entries[name] = Entry(uid=name, family=family, experiment_uid="uid", observation=observation)
        self.results = False


def test_the_design_is_fixed_before_the_first_run_is_created() -> None:
    world = World()
    first = world.look()
    assert first.status.design_hash
    assert first.create == ()
    assert [each["metadata"]["name"] for each in world.look().create] == ["study-row0-0"]


def test_no_more_runs_than_parallelism_allows_and_each_once() -> None:
    world = World(parallelism=2)
    assert len(world.begin().create) == 2
    assert world.look().create == ()
    world.end("study-row0-0")
    assert [each["metadata"]["name"] for each in world.look().create] == ["study-row2-0"]


def test_when_all_are_done_it_is_analysed_and_only_then_complete() -> None:
    world = World(parallelism=4)
    world.begin()
    for name in list(world.jobs):
        world.end(name)
    analysing = world.look()
    assert (analysing.status.state, analysing.analyse) == ("Analysing", True)
    done = world.look()
    assert (done.status.state, done.analyse, done.create) == ("Succeeded", False, ())
    assert world.look().status == done.status


def test_a_job_that_vanished_without_an_observation_is_made_again() -> None:
    world = World()
    world.begin()
    del world.jobs["study-row0-0"]
    assert [each["metadata"]["name"] for each in world.look().create] == ["study-row0-0"]


def test_a_job_that_vanished_after_its_observation_is_not() -> None:
    world = World(parallelism=1)
    world.begin()
    world.end("study-row0-0")
    assert [each["metadata"]["name"] for each in world.look().create] == ["study-row1-0"]


def test_too_many_failures_end_it_once_the_others_are_done() -> None:
    world = World(parallelism=2, maxFailedRuns=0)
    world.begin()
    world.end("study-row0-0", FAILED)
    assert world.look().create == ()
    world.end("study-row1-0")
    world.look()
    failed = world.look().status
    condition = failed.condition("Failed")
    assert condition
    assert (failed.state, condition.reason) == ("Failed", "TooManyFailedRuns")
    assert "2 of 4 runs are left undone" in condition.message


def test_a_spent_budget_leaves_runs_undone_and_says_so() -> None:
    world = World(budget={"cost": 5})
    world.begin()
    world.end("study-row0-0", money=6.0)
    world.look()
    complete = world.look().status.condition("Complete")
    assert complete
    assert complete.reason == "BudgetSpent"
    assert "3 of 4 runs" in complete.message
    late = World(budget={"duration": "1h"})
    late.begin()
    late.end("study-row0-0")
    late.now += timedelta(hours=1)
    assert late.look().create == ()


def test_suspending_creates_no_further_run() -> None:
    world = World(suspend=True)
    assert world.begin().create == ()
    assert world.look().status.state == "Suspended"
    world.manifest["spec"]["suspend"] = False
    resumed = world.look()
    assert resumed.create
    assert resumed.status.state == "Running"


def test_more_replications_go_on_where_it_ended() -> None:
    world = World(parallelism=8)
    world.begin()
    for name in list(world.jobs):
        world.end(name)
    world.look()
    assert world.look().status.state == "Succeeded"
    world.manifest["spec"]["design"] = {**world.manifest["spec"]["design"], "replications": 2}
    more = world.look()
    assert more.status.state == "Running"
    assert more.status.condition("Complete") is None
    assert sorted(each["metadata"]["name"] for each in more.create) == [f"study-row{row}-1" for row in range(4)]


def test_runs_arrive_when_the_trace_says() -> None:
    world = World(parallelism=9, arrivals={"type": "Trace", "times": [0, 10, 20, 30]})
    world.begin()
    assert list(world.jobs) == ["study-row0-0"]
    waiting = world.look()
    assert waiting.wake_at == NOON + timedelta(seconds=10)
    world.now = waiting.wake_at
    (arrived,) = world.look().create
    assert json.loads(arrived["metadata"]["annotations"][RUN_ANNOTATION])["arrived"] == "2026-01-01T12:00:10Z"


def test_blocks_follow_each_other() -> None:
    world = World(parallelism=9, design={"type": "FullFactorial", "order": "Standard", "replications": 2, "blocks": 2})
    assert len(world.begin().create) == 4
    for name in list(world.jobs)[:3]:
        world.end(name)
    assert world.look().create == ()
    world.end(next(iter(world.jobs)))
    assert len(world.look().create) == 4


def test_jobs_of_a_run_begin_together_and_end_it_together() -> None:
    concurrency = {"name": "jobs", "field": "concurrency", "levels": [1, 3]}
    world = World(factors=[concurrency], parallelism=1)
    world.begin()
    world.end("study-row0-0")
    assert len(world.look().create) == 3
    world.end("study-row1-0-0")
    running = world.look()
    assert (running.status.state, running.create) == ("Running", ())


def test_a_job_that_the_last_run_lacks_is_created() -> None:
    world = World(factors=[{"name": "jobs", "field": "concurrency", "levels": [1, 3]}], parallelism=2)
    world.begin()
    world.end("study-row0-0")
    del world.jobs["study-row1-0-2"]  # as if the operator had ended before it came to this one
    assert [each["metadata"]["name"] for each in world.look().create] == ["study-row1-0-2"]


@pytest.mark.parametrize("ends", ["failures", "budget", "suspended"])
def test_a_job_that_a_run_lacks_is_created_also_when_no_further_run_is(ends: str) -> None:
    concurrency = {"name": "jobs", "field": "concurrency", "levels": [1, 2, 3]}
    world = World(factors=[concurrency], parallelism=2, maxFailedRuns=0, budget={"cost": 5})
    world.begin()
    failed, money = (FAILED, 0.0) if ends == "failures" else (SUCCEEDED, 6.0 if ends == "budget" else 0.0)
    world.manifest["spec"]["suspend"] = ends == "suspended"
    world.end("study-row0-0", failed, money)
    del world.jobs["study-row1-0-1"]  # somebody deleted it
    assert [each["metadata"]["name"] for each in world.look().create] == ["study-row1-0-1"]
    if ends != "suspended":
        world.end("study-row1-0-0")
        world.end("study-row1-0-1")
        world.look()
        assert world.look().status.finished


def test_a_budget_that_ends_before_anything_was_observed_ends_it_and_that_is_said() -> None:
    world = World(suspend=True, budget={"duration": "1h"})
    world.begin()
    world.now += timedelta(hours=1)
    over = world.look()
    complete = over.status.condition("Complete")
    assert complete
    assert (over.status.state, over.analyse, complete.reason) == ("Succeeded", False, "BudgetSpent")
    assert complete.message == "the time of the budget is over; 4 of 4 runs are left undone."


def test_which_run_is_held_and_why_is_said_until_none_is() -> None:
    world = World(parallelism=2)
    world.begin()
    assert world.look().status.condition("Held") is None
    world.hold("study-row0-0", "TooLarge", "it needs 64 cores; the queue has 4.")
    held = world.look().status.condition("Held")
    assert held
    assert (held.status, held.reason) == ("True", "TooLarge")
    assert held.message == "run study-row0-0 is held (TooLarge): it needs 64 cores; the queue has 4."
    world.hold("study-row1-0", "Infeasible", "it cannot meet its deadline.")
    held = world.look().status.condition("Held")
    assert held
    assert held.message.endswith("the queue has 4. 2 runs are held in all.")
    world.end("study-row0-0")
    world.end("study-row1-0")
    held = world.look().status.condition("Held")
    assert held
    assert (held.status, held.message) == ("False", "no run is held.")


def test_a_budget_of_money_says_what_is_spent_and_that_nothing_is_without_prices() -> None:
    assert World().look().status.condition("BudgetCounted") is None
    world = World(budget={"cost": 5})
    world.begin()
    world.end("study-row0-0", money=1.25)
    counted = world.look().status.condition("BudgetCounted")
    assert counted
    assert (counted.status, counted.message) == ("True", "1.25 of the budget of 5 is spent.")
    # A price of what no run holds is as good as none.
    for prices in (Prices(), Prices(gpu_hour=2.0)):
        world.prices = prices
        counted = world.look().status.condition("BudgetCounted")
        assert counted
        assert (counted.status, counted.reason) == ("False", "NoPrices")
        assert "set prices.coreHour, prices.gibHour or prices.gpuHour" in counted.message
    world.manifest["spec"]["budget"] = {"duration": "1h"}
    assert world.look().status.condition("BudgetCounted") is None


def test_a_row_that_makes_no_job_is_refused_before_anything_runs() -> None:
    world = World(factors=[{"name": "workers", "field": "resources.workers", "levels": [1, 512]}])
    refused = world.look()
    valid = refused.status.condition("Valid")
    assert valid
    assert (refused.status.state, valid.status, refused.create) == ("Pending", "False", ())
    assert "batchSize must be at least" in valid.message
    assert world.look().notes == ()


@pytest.mark.parametrize("ttl", [0, 60])
def test_it_goes_when_its_time_is_over(ttl: int) -> None:
    world = World(parallelism=9, ttlSecondsAfterFinished=ttl)
    world.begin()
    for name in list(world.jobs):
        world.end(name)
    world.look()
    assert not world.look().remove
    world.now += timedelta(seconds=ttl)
    assert world.look().remove
