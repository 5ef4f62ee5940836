"""Runs as real processes: what is recorded, retried, given up and repeated."""

import ast
import os
from itertools import pairwise
from typing import Any

import pytest

from coxswain.core.errors import InputError
from coxswain.core.observations import FAILED, STOPPED
from coxswain.local.folder import Folder, read_observations
from tests.unit.local.conftest import Make, Manifest, experiment, job, job_spec

PAIR = [{"name": "batch_size", "field": "parameters.batchSize", "levels": [16, 64]}]


def pair(template: Manifest | None = None, **fields: Any) -> Manifest:
    """An experiment of two runs, for tests to which more would tell no more."""
    return experiment(template, factors=PAIR, **fields)


def test_every_run_is_made_once_and_recorded_with_what_was_measured(make: Make) -> None:
    made = make(experiment())
    assert [each.job for each in made.observations] == [run.name for run in made.runs]
    assert sorted(made.display.recorded) == sorted(run.name for run in made.runs)
    for each in made.observations:
        assert each.succeeded
        assert each.epochs == each.settings["epochs"] == len(each.curve.accuracy)
        assert each.responses["accuracy"] == each.curve.accuracy[-1]
        assert each.responses["duration"] > each.responses["startup"] > 0
        assert each.attempts == 1
    seeds = {each.responses["accuracy"] * 100_000 % 1000 for each in made.observations}
    assert len(seeds) == 4
    assert made.display.snapshots[-1].done == 4
    assert not made.gave_up


def test_workers_are_pinned_and_halves_share_a_core(make: Make) -> None:
    made = make(pair(), parallelism=2)
    for each in made.observations:
        cores = ast.literal_eval(made.log(each.job).splitlines()[-1].removeprefix("cores "))
        assert len(cores) == 1
        assert set(cores) <= os.sched_getaffinity(0)
    assert max(len(now.running) for now in made.display.snapshots) == 2


def test_what_is_done_is_not_made_again(make: Make) -> None:
    first = make(pair())
    second = make(pair())
    assert second.observations == first.observations
    assert second.display.recorded == []


def test_more_replicates_may_be_asked_for_later(make: Make) -> None:
    first = make(pair())
    design = {"type": "FullFactorial", "seed": 1, "replications": 2}
    second = make(pair(design=design))
    assert len(second.display.recorded) == 2
    assert set(second.display.recorded).isdisjoint(first.display.recorded)


def test_a_changed_manifest_is_refused_and_nothing_is_lost(make: Make) -> None:
    first = make(pair())
    with pytest.raises(InputError, match="before its manifest was changed"):
        make(pair(job_spec(parameters={"learningRate": 0.5})))
    assert read_observations(first.path)


def test_an_error_of_the_jobs_own_is_recorded_with_its_reason_and_not_retried(make: Make) -> None:
    made = make(job(wish="bad data"), most_failures=0)
    [observation] = made.observations
    assert (observation.state, observation.reason, observation.attempts) == (FAILED, "BadData", 1)
    assert observation.message == "the data is not there."
    assert made.display.retried == []
    assert made.gave_up


def test_an_experiment_ends_when_more_runs_fail_than_it_allows(make: Make) -> None:
    made = make(experiment(job_spec(wish="crash")), parallelism=1, most_failures=1)
    assert made.gave_up
    assert [each.reason for each in made.observations] == ["Error", "Error"]
    assert "exit code 3: cores" in (made.observations[0].message or "")


def test_failed_runs_are_made_again_by_the_next_command_even_when_the_manifest_was_mended(make: Make) -> None:
    make(job(wish="bad data"))
    made = make(job(wish=""))
    [observation] = made.observations
    assert observation.succeeded
    assert observation.attempts == 2
    assert [each.state for each in read_observations(made.path)] == [FAILED, "succeeded"]


@pytest.mark.parametrize("wish", ["bad luck at first", "killed at first", "stopped at first"])
def test_bad_luck_is_retried(make: Make, wish: str) -> None:
    made = make(job(wish=wish, parameters={"epochs": 3}))
    [observation] = made.observations
    assert observation.succeeded
    assert observation.attempts == 2
    assert len(made.display.retried) == 1


def test_bad_luck_is_not_retried_for_ever(make: Make) -> None:
    made = make(job(wish="bad luck always", maxRetries=1))
    [observation] = made.observations
    assert (observation.state, observation.reason, observation.attempts) == (FAILED, "Unreachable", 2)


def test_the_cause_is_told_even_if_another_worker_found_it(make: Make) -> None:
    made = make(job(wish="bad data in worker 1", resources={"workers": 2}))
    [observation] = made.observations
    assert observation.message == "the second worker has no data."


def test_a_job_that_runs_too_long_is_killed(make: Make) -> None:
    made = make(job(wish="deaf", seconds=60, activeDeadlineSeconds=2))
    [observation] = made.observations
    assert (observation.state, observation.reason, observation.attempts) == (FAILED, "DeadlineExceeded", 1)
    assert 2 <= observation.responses["duration"] < 60


def test_a_job_stopped_at_its_deadline_keeps_its_best_result(make: Make) -> None:
    made = make(job(seconds=0.2, parameters={"epochs": 1000}, deadline={"within": "6s", "enforce": "Stop"}))
    [observation] = made.observations
    assert observation.state == STOPPED
    assert 0 < observation.epochs < 1000
    assert observation.responses["accuracy"] == max(a for a in observation.curve.accuracy if a is not None)


def test_jobs_at_a_time_are_one_run_and_start_together(make: Make) -> None:
    factors = [{"name": "jobs", "field": "concurrency", "levels": [1, 2]}]
    made = make(experiment(job_spec(seconds=1), factors=factors), parallelism=1)
    assert len(made.observations) == 3
    together = [each for each in made.observations if each.settings["jobs"] == 2]
    assert len({each.run for each in together}) == 1
    assert len({each.job for each in together}) == 2
    assert all(each.load is not None and each.load > 1 for each in together)
    assert max(each.started for each in together) < min(each.finished for each in together)


def test_blocks_are_made_one_after_the_other(make: Make) -> None:
    design = {"type": "FullFactorial", "seed": 1, "replications": 2, "blocks": 2}
    made = make(pair(design=design))
    blocks = [[each for each in made.observations if each.block == block] for block in (0, 1)]
    assert [len(block) for block in blocks] == [2, 2]
    assert max(each.finished for each in blocks[0]) <= min(each.started for each in blocks[1])


def test_runs_arrive_in_their_order_and_wait_for_room(make: Make) -> None:
    arrivals = {"type": "Trace", "times": [0, 0.2, 0.4, 2.0]}
    made = make(experiment(job_spec(seconds=0.3), arrivals=arrivals), parallelism=1)
    assert made.display.recorded == [run.name for run in made.runs]
    for before, after in pairwise(made.observations):
        assert before.finished <= after.started
    waits = [each.responses["wait"] for each in made.observations]
    assert waits[2] > waits[1] > 0


def test_a_run_that_ended_unseen_is_recorded_and_not_made_again(make: Make) -> None:
    first = make(experiment())
    path = first.path / "observations.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2]) + lines[2][:50])  # as if the machine had gone down while writing
    again = make(experiment())
    assert [each.attempts for each in again.observations] == [1, 1, 1, 1]
    assert {each.job: each.responses for each in again.observations} == {
        each.job: each.responses for each in first.observations
    }


def test_two_commands_do_not_share_a_folder(make: Make) -> None:
    made = make(job())
    with Folder(made.path), pytest.raises(InputError, match="another cox run is using"):
        Folder(made.path)
