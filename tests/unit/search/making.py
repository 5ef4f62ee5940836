"""Searches whose runs are made by a formula, one look at a time, as the operator and `cox run` make them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coxswain.core.api import TrainingExperiment, parse_experiment
from coxswain.core.expand import PlannedRun
from coxswain.core.factors import Level
from coxswain.core.observations import FAILED, SUCCEEDED, Observation
from coxswain.core.search import Begun, Course, SearchPlan, plan_search

RATE: dict[str, Any] = {
    "name": "rate",
    "field": "parameters.learningRate",
    "levels": [0.002, 1],
    "coding": "Log",
}
WORKERS: dict[str, Any] = {"name": "workers", "field": "resources.workers", "levels": [1, 2, 3, 4, 6, 8]}
BATCH: dict[str, Any] = {"name": "batch", "field": "parameters.batchSize", "levels": [16, 32, 64, 128, 256]}
NETWORK: dict[str, Any] = {"name": "network", "field": "workload.network", "categories": ["mlp", "vit", "fashion-cnn"]}

Settings = Mapping[str, Level]
Formula = Callable[[Settings], float]


def searching(kind: str, *factors: dict[str, Any], search: dict[str, Any] | None = None, **design: Any) -> Any:
    """The manifest of an experiment that makes its duration small."""
    spec = design.pop("spec", {})
    return {
        "apiVersion": "coxswain.dev/v1alpha1",
        "kind": "TrainingExperiment",
        "metadata": {"name": "search"},
        "spec": {
            "factors": list(factors),
            "design": {"type": kind, "search": {"minimize": "duration", **(search or {})}, **design},
            "template": {"spec": {"parameters": {"batchSize": 1024}}},
            **spec,
        },
    }


def valley(at: float, floor: float = 10.0) -> Formula:
    """A response that grows with the square of how many doublings the rate is away from its best."""
    return lambda settings: floor * (1 + 0.2 * math.log2(float(settings["rate"]) / at) ** 2)


@dataclass
class Search:
    """A search whose runs end as a formula says; those that give nan fail."""

    manifest: Any
    formula: Formula
    noise: float = 0.0
    others: Callable[[Settings], Mapping[str, float]] = lambda _: {}
    begun: list[Begun] = field(default_factory=list)

    @property
    def experiment(self) -> TrainingExperiment:
        return parse_experiment(self.manifest)

    def look(self) -> SearchPlan:
        return plan_search(self.experiment, self.begun)

    def make(self, run: PlannedRun) -> None:
        """One run, whose luck depends on its name alone."""
        for job in run.jobs:
            chance = np.random.default_rng([job.spec.parameters.seed, 7])
            value = self.formula(run.settings) * float(np.exp(self.noise * chance.standard_normal()))
            failed = not math.isfinite(value)
            observation = Observation(
                experiment="search",
                run=run.name,
                job=job.name,
                row=run.row,
                replicate=run.replicate,
                block=0,
                digest=job.digest,
                settings=run.settings,
                responses={} if failed else {"duration": value, **self.others(run.settings)},
                state=FAILED if failed else SUCCEEDED,
                started="",
                finished="",
            )
            self.begun.append(Begun(run.row, run.replicate, run.settings, observation))

    def missing(self) -> list[PlannedRun]:
        done = {(each.row, each.replicate) for each in self.begun}
        return [run for run in self.look().runs if (run.row, run.replicate) not in done]

    def to_the_end(self, parallelism: int = 1) -> Course:
        while due := self.missing()[:parallelism]:
            for run in due:
                self.make(run)
        course = self.look().course
        assert course.over
        return course

    def best(self) -> Settings:
        course = self.to_the_end()
        assert course.best
        return dict(zip((factor.name for factor in course.space.factors), course.best.settings, strict=True))
