"""Manifests of experiments whose runs are real processes of a script, and the parts that make them."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from coxswain.core.api import parse_experiment, parse_job
from coxswain.core.designs.from_spec import design_of
from coxswain.core.expand import PlannedRun, expand, single
from coxswain.core.observations import Observation
from coxswain.core.verdict import Verdict
from coxswain.local.folder import Folder
from coxswain.local.runner import Options, Runner
from coxswain.local.snapshot import Snapshot

SCRIPT = Path(__file__).with_name("script.py")

Manifest = dict[str, Any]


def job_spec(wish: str = "", seconds: float = 0.0, **fields: Any) -> Manifest:
    extra = [{"name": "wish", "value": wish}, {"name": "seconds", "value": str(seconds)}]
    return {
        "workload": {"type": "Custom", "image": "none", "command": [sys.executable, str(SCRIPT)]},
        "parameters": {"extra": extra, **fields.pop("parameters", {})},
        "resources": {"coresPerWorker": "500m", **fields.pop("resources", {})},
        **fields,
    }


def experiment(template: Manifest | None = None, **fields: Any) -> Manifest:
    spec = {
        "factors": [
            {"name": "batch_size", "field": "parameters.batchSize", "levels": [16, 64]},
            {"name": "epochs", "field": "parameters.epochs", "levels": [1, 2]},
        ],
        "design": {"type": "FullFactorial", "seed": 1},
        "template": {"spec": job_spec() if template is None else template},
        **fields,
    }
    return {
        "apiVersion": "coxswain.dev/v1alpha1",
        "kind": "TrainingExperiment",
        "metadata": {"name": "tiny"},
        "spec": spec,
    }


def job(**fields: Any) -> Manifest:
    return {
        "apiVersion": "coxswain.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "lone"},
        "spec": job_spec(**fields),
    }


def runs_of(manifest: Manifest) -> Sequence[PlannedRun]:
    if manifest["kind"] == "TrainingJob":
        return [single(parse_job(manifest))]
    parsed = parse_experiment(manifest)
    return expand(parsed, design_of(parsed.spec))


class Listener:
    """A display that remembers what it was told."""

    def __init__(self) -> None:
        self.snapshots: list[Snapshot] = []
        self.recorded: list[str] = []
        self.retried: list[str] = []

    def show(self, now: Snapshot) -> None:
        self.snapshots.append(now)

    def finished(self, observations: Sequence[Observation], now: Snapshot) -> None:
        self.snapshots.append(now)
        self.recorded += [each.job for each in observations]

    def retrying(self, run: PlannedRun, verdict: Verdict) -> None:
        self.retried.append(f"{run.name}: {verdict.message}")


class Made:
    """What came of making runs."""

    def __init__(self, manifest: Manifest, path: Path, *, parallelism: int = 4, most_failures: int = 3) -> None:
        self.runs, self.path, self.display = runs_of(manifest), path, Listener()
        options = Options(
            experiment="tiny",
            parallelism=parallelism,
            most_failures=most_failures,
            claims={"models": path / "models"},
            fresh=manifest["kind"] == "TrainingExperiment",
        )
        with Folder(path) as folder:
            runner = Runner(self.runs, folder, options, self.display)
            runner.run()
            self.gave_up = runner.gave_up
            self.observations = folder.of(self.runs)

    def log(self, job: str, attempt: int = 1, worker: int = 0) -> str:
        return (self.path / "runs" / job / f"attempt-{attempt}" / f"worker-{worker}.log").read_text()


Make = Callable[..., Made]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make the runs of a manifest in a folder of the test."""

    def make_runs(manifest: Manifest, **options: Any) -> Made:
        return Made(manifest, tmp_path / "out", **options)

    return make_runs
