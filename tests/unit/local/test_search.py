"""`cox run` of a search: row after row, whatever interrupts it, and at the end what was found."""

import json
from pathlib import Path
from typing import Any

from coxswain.local.folder import OBSERVATIONS, read_observations
from tests.unit.cli.conftest import Cox, cox  # noqa: F401 - a fixture
from tests.unit.local.conftest import Manifest, experiment, job_spec
from tests.unit.local.test_command import write

BATCH = {"name": "batch_size", "field": "parameters.batchSize", "levels": [16, 32, 64], "coding": "Log"}
ERROR = {"responses": [{"name": "error", "expression": "1 - accuracy"}]}


def search(template: Manifest | None = None, **fields: Any) -> Manifest:
    """A climb whose error falls with the batch size, by little."""
    options = {"minimize": "error", "stopWhenImprovementBelowPercent": 1, **fields.pop("search", {})}
    design = {"type": "HillClimb", "search": options}
    return experiment(template, **{"factors": [BATCH], "design": design, "analysis": ERROR, **fields})


def test_it_climbs_tells_its_steps_and_goes_on_where_it_was(cox: Cox, tmp_path: Path) -> None:  # noqa: F811
    file, out = write(tmp_path / "climb.yaml", search()), tmp_path / "out"
    code, printed, told = cox("run", file, "--out", out, "-o", "json")
    assert code == 0
    assert "Trying row 1 (batch_size 32); so far the best is batch_size 16 with error" in told
    document = json.loads(printed)
    found = document["search"]
    assert [step["settings"]["batch_size"] for step in found["steps"]] == [16, 32, 64]
    assert found["best"]["settings"] == {"batch_size": 64}
    assert found["over"] == "around batch_size 64 no step lowers error by 1 % or more beyond chance"
    assert [each["name"] for each in (queue["before"] for queue in found["queue"])] == ["M/M/1", "M/M/4"]
    report = (out / "report.html").read_text()
    assert "The search, row after row" in report
    assert "the best is batch_size 64" in report

    lines = (out / OBSERVATIONS).read_text().splitlines(keepends=True)
    (out / OBSERVATIONS).write_text("".join(lines[:2]))  # as if the machine had gone down
    code, printed, _ = cox("run", file, "--out", out)
    assert code == 0
    assert "row after row" in printed
    assert "the best: " in printed
    again = {each.job: (each.settings, each.attempts) for each in read_observations(out)}
    assert again == {each["job"]: (each["settings"], 1) for each in document["observations"]}
    assert cox("run", file, "--out", out)[2] == ""


def test_a_row_that_fails_is_not_repeated_and_too_many_end_it(cox: Cox, tmp_path: Path) -> None:  # noqa: F811
    design = {"type": "HillClimb", "replications": 3, "search": {"minimize": "error"}}
    manifest = search(job_spec(wish="bad data"), design=design, maxFailedRuns=1)
    file, out = write(tmp_path / "failing.yaml", manifest), tmp_path / "out"
    for _ in range(2):
        code, _, told = cox("run", file, "--out", out)
        assert code == 1
        assert "more than 1 runs failed" in told
        assert [each.job for each in read_observations(out)] == ["tiny-row0-0", "tiny-row1-0"]


def test_a_folder_of_something_else_is_refused(cox: Cox, tmp_path: Path) -> None:  # noqa: F811
    out = tmp_path / "out"
    assert cox("run", write(tmp_path / "a.yaml", experiment(factors=[BATCH])), "--out", out)[0] == 0
    changed = search(job_spec(parameters={"learningRate": 0.5}))
    code, _, told = cox("run", write(tmp_path / "b.yaml", changed), "--out", out)
    assert code == 2
    assert "results of another experiment" in told


def test_settings_that_do_not_fit_this_machine_are_not_tried(cox: Cox, tmp_path: Path) -> None:  # noqa: F811
    workers = {"name": "workers", "field": "resources.workers", "levels": [1, 512, 1024]}
    design = {"type": "BayesianOptimization", "search": {"minimize": "error", "maxRuns": 5}}
    manifest = search(job_spec(parameters={"batchSize": 2048}), factors=[workers], design=design)
    code, printed, _ = cox("run", write(tmp_path / "wide.yaml", manifest), "--out", tmp_path / "out", "-o", "json")
    assert code == 0
    found = json.loads(printed)["search"]
    assert [step["settings"] for step in found["steps"]] == [{"workers": 1}]
    assert found["over"] == "all settings that a job can have were tried"


def test_real_training_is_climbed(cox: Cox, tmp_path: Path) -> None:  # noqa: F811
    template = {
        "workload": {"network": "mlp", "samples": 200},
        "parameters": {"epochs": 1, "batchSize": 20, "optimizer": "SGD"},
        "resources": {"coresPerWorker": "1"},
    }
    rate = {"name": "rate", "field": "parameters.learningRate", "levels": [0.0001, 1], "coding": "Log"}
    loss = {"minimize": "loss", "maxRuns": 2, "stopWhenImprovementBelowPercent": 0}
    manifest = search(template, factors=[rate], search=loss, analysis={"responses": [{"name": "loss"}]})
    code, printed, _ = cox("run", write(tmp_path / "real.yaml", manifest), "--out", tmp_path / "out", "-o", "json")
    assert code == 0
    found = json.loads(printed)["search"]
    assert found["over"] == "a further row would make more runs than maxRuns (2)"
    means = [step["mean"] for step in found["steps"]]
    assert found["best"]["mean"] == min(means)
    assert len(means) == 2
