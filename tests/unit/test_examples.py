"""The examples as files: each is valid, and its design can be made."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from coxswain.core.api import TrainingExperiment, parse, parse_experiment
from coxswain.core.demand import demand_of
from coxswain.core.designs.from_spec import design_of
from coxswain.core.expand import expand

EXAMPLES = Path(__file__).parents[2] / "examples"
MANIFESTS = {
    manifest["metadata"]["name"]: manifest
    for file in sorted(EXAMPLES.glob("*.yaml"))
    for manifest in yaml.safe_load_all(file.read_text())
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_an_example_is_valid(name: str) -> None:
    described = parse(MANIFESTS[name])
    if isinstance(described, TrainingExperiment) and described.spec.design.search is None:
        assert expand(described, design_of(described.spec))


def test_the_speed_test_analyses_reading_and_writing() -> None:
    responses = {each.name for each in parse_experiment(MANIFESTS["ingest"]).spec.analysis.responses}
    assert {"samplesPerSecond", "imagesWrittenPerSecond"} <= responses


def test_courier_s_jobs_at_a_time_are_all_that_run_and_fit_on_two_cores() -> None:
    courier = parse_experiment(MANIFESTS["courier"])
    runs = expand(courier, design_of(courier.spec))
    assert (courier.spec.parallelism, len(runs)) == (1, 4 * 4 * 3 * 2)
    assert max(sum(demand_of(job.spec).all_cores for job in run.jobs) for run in runs) <= 1.8


@pytest.mark.parametrize("load", ["low", "high"])
@pytest.mark.parametrize("kind", ["little", "much"])
def test_the_same_jobs_come_to_one_fast_server_and_to_three_slow_ones(kind: str, load: str) -> None:
    fast, slow = (parse_experiment(MANIFESTS[f"queue-{shape}-{kind}-{load}"]) for shape in ("fast", "slow"))
    assert (fast.spec.parallelism, slow.spec.parallelism) == (1, 3)
    cores = [demand_of(each.spec.template.spec).all_cores for each in (fast, slow)]
    assert cores[0] == pytest.approx(3 * cores[1])
    assert max(cores) <= 1, "a server with more than one core would have more than one thread"
    runs = [expand(each, design_of(each.spec)) for each in (fast, slow)]
    assert [(run.settings, run.arrival) for run in runs[0]] == [(run.settings, run.arrival) for run in runs[1]]


@pytest.mark.parametrize("load", ["low", "high"])
def test_jobs_that_vary_much_do(load: str) -> None:
    # CPU seconds as the example's head gives them.
    little, much = (
        np.array([4 + 0.1 * float(run.settings["epochs"]) for run in expand(each, design_of(each.spec))])
        for each in (parse_experiment(MANIFESTS[f"queue-slow-{kind}-{load}"]) for kind in ("little", "much"))
    )
    assert little.var() / little.mean() ** 2 < 0.01
    assert much.var() / much.mean() ** 2 > 3
