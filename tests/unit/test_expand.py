from typing import Any

import pytest

from coxswain.core.api import parse_experiment, parse_job
from coxswain.core.designs.from_spec import design_of
from coxswain.core.errors import InputError
from coxswain.core.expand import LONGEST_NAME, PlannedRun, expand, single


def runs_of(**spec: Any) -> tuple[PlannedRun, ...]:
    manifest = {
        "apiVersion": "coxswain.dev/v1alpha1",
        "kind": "TrainingExperiment",
        "metadata": {"name": spec.pop("name", "speed")},
        "spec": {
            "factors": [
                {"name": "cores", "field": "resources.coresPerWorker", "levels": [0.5, 1]},
                {"name": "network", "field": "workload.network", "categories": ["mlp", "vit"]},
            ],
            "design": {"type": "FullFactorial", "replications": 2, "seed": 3},
            "template": {"spec": {"parameters": {"epochs": 3}}},
            **spec,
        },
    }
    experiment = parse_experiment(manifest)
    return expand(experiment, design_of(experiment.spec))


def test_every_row_becomes_as_many_runs_as_it_has_replicates_in_the_order_of_the_design() -> None:
    runs = runs_of()
    assert len(runs) == 8
    assert {(run.row, run.replicate) for run in runs} == {(row, rep) for row in range(4) for rep in range(2)}
    assert runs != tuple(sorted(runs, key=lambda run: (run.row, run.replicate)))
    assert runs == runs_of()


def test_a_run_is_the_template_with_its_settings() -> None:
    for run in runs_of():
        [job] = run.jobs
        assert job.name == run.name == f"speed-row{run.row}-{run.replicate}"
        assert job.spec.resources.cores_per_worker == run.settings["cores"]
        assert job.spec.workload.network == run.settings["network"]
        assert job.spec.parameters.epochs == 3


def test_every_job_has_a_seed_of_its_own_that_stays() -> None:
    seeds = [run.jobs[0].spec.parameters.seed for run in runs_of()]
    assert len(set(seeds)) == 8
    more = runs_of(design={"type": "FullFactorial", "replications": 3, "seed": 3})
    assert set(seeds) < {run.jobs[0].spec.parameters.seed for run in more}
    other = runs_of(template={"spec": {"parameters": {"epochs": 3, "seed": 1}}})
    assert set(seeds).isdisjoint(run.jobs[0].spec.parameters.seed for run in other)


def test_jobs_at_a_time_are_the_jobs_of_one_run() -> None:
    factors = [{"name": "jobs", "field": "concurrency", "levels": [1, 3]}]
    runs = runs_of(factors=factors, design={"type": "FullFactorial"})
    by_level = {run.settings["jobs"]: run for run in runs}
    assert [job.name for job in by_level[1].jobs] == [by_level[1].name]
    assert [job.name for job in by_level[3].jobs] == [f"{by_level[3].name}-{copy}" for copy in range(3)]
    assert len({job.spec.parameters.seed for job in by_level[3].jobs}) == 3


def test_runs_do_not_write_over_each_others_models() -> None:
    runs = runs_of(template={"spec": {"output": {"claim": "models", "path": "mine"}}})
    assert {job.spec.output and job.spec.output.path for run in runs for job in run.jobs} == {
        f"mine/{run.name}" for run in runs
    }
    bare = runs_of(template={"spec": {"output": {"claim": "models"}}})
    assert bare[0].jobs[0].spec.output is not None
    assert bare[0].jobs[0].spec.output.path == bare[0].name


def test_a_digest_tells_jobs_apart_by_what_matters_alone() -> None:
    digests = {run.name: run.jobs[0].digest for run in runs_of()}
    assert len(set(digests.values())) == 8
    assert digests == {run.name: run.jobs[0].digest for run in runs_of(parallelism=4, maxFailedRuns=9)}
    lazy = runs_of(template={"spec": {"parameters": {"epochs": 3}, "priority": 7}})
    assert digests == {run.name: run.jobs[0].digest for run in lazy}
    longer = runs_of(template={"spec": {"parameters": {"epochs": 4}}})
    assert set(digests.values()).isdisjoint(run.jobs[0].digest for run in longer)


def test_names_stay_short_and_distinct() -> None:
    design = {"type": "FullFactorial", "replications": 999}
    names = [
        {job.name for run in runs_of(name=f"{'a-long-name-' * 20}{end}", design=design) for job in run.jobs}
        for end in ("x", "y")
    ]
    assert all(len(name) <= LONGEST_NAME for found in names for name in found)
    assert len(names[0] | names[1]) == 2 * 4 * 999


def test_poisson_arrivals_keep_their_rate_and_their_seed() -> None:
    design = {"type": "FullFactorial", "replications": 1000}
    arrivals = {"type": "Poisson", "ratePerHour": 60, "seed": 1}
    times = [run.arrival or 0.0 for run in runs_of(design=design, arrivals=arrivals)]
    assert times == sorted(times)
    assert times[-1] / len(times) == pytest.approx(60, rel=0.05)
    assert times == [run.arrival for run in runs_of(design=design, arrivals=arrivals)]
    assert times != [run.arrival for run in runs_of(design=design, arrivals={**arrivals, "seed": 2})]


def test_a_trace_gives_each_run_its_time() -> None:
    arrivals = {"type": "Trace", "times": [9, 1, 2, 3, 4, 5, 6, 7]}
    assert [run.arrival for run in runs_of(arrivals=arrivals)] == [1, 2, 3, 4, 5, 6, 7, 9]
    with pytest.raises(InputError, match="has 1 times, but there are 8 runs"):
        runs_of(arrivals={"type": "Trace", "times": [0]})


def test_a_row_that_makes_no_job_is_named() -> None:
    factors = [
        {"name": "batch_size", "field": "parameters.batchSize", "levels": [1, 64]},
        {"name": "workers", "field": "resources.workers", "levels": [1, 2]},
    ]
    with pytest.raises(InputError, match=r"row \d \(batch_size=1, workers=2\) makes no valid job: .*batchSize"):
        runs_of(factors=factors)


def test_a_factor_may_not_be_called_like_a_response() -> None:
    factors = [{"name": "duration", "field": "parameters.epochs", "levels": [1, 2]}]
    with pytest.raises(InputError, match="factor duration has the name of a response"):
        runs_of(factors=factors)


def test_a_job_by_itself_is_left_as_it_is() -> None:
    job = parse_job(
        {
            "apiVersion": "coxswain.dev/v1alpha1",
            "kind": "TrainingJob",
            "metadata": {"name": "lone"},
            "spec": {"parameters": {"seed": 5}, "output": {"claim": "models", "path": "mine"}},
        }
    )
    run = single(job)
    assert run.jobs[0].spec == job.spec
    assert run.name == run.jobs[0].name == "lone"
