"""Experiments with observations made up from a formula, for reports and results to work on."""

from collections.abc import Callable
from typing import Any

import numpy as np

from coxswain.core.api import TrainingExperiment, parse_experiment
from coxswain.core.designs import Design
from coxswain.core.designs.from_spec import design_of
from coxswain.core.expand import expand
from coxswain.core.observations import Curve, Observation

FACTORS: list[dict[str, Any]] = [
    {"name": "batch_size", "field": "parameters.batchSize", "levels": [16, 128], "coding": "Log"},
    {"name": "network", "field": "workload.network", "categories": ["shallow-cnn", "deep-cnn"]},
    {"name": "epochs", "field": "parameters.epochs", "levels": [2, 6]},
]

Settings = dict[str, Any]


def experiment(**spec: Any) -> TrainingExperiment:
    return parse_experiment(
        {
            "apiVersion": "coxswain.dev/v1alpha1",
            "kind": "TrainingExperiment",
            "metadata": {"name": "made-up"},
            "spec": {
                "factors": FACTORS,
                "design": {"type": "FullFactorial", "replications": 2, "seed": 1},
                "template": {"spec": {}},
                **spec,
            },
        }
    )


def duration(settings: Settings) -> float:
    """Twice as long with the deep network, and in proportion to the epochs: these interact."""
    per_epoch = 2.0 if settings.get("network") == "deep-cnn" else 1.0
    return float(10 + per_epoch * settings["epochs"])


def observe(
    made: TrainingExperiment, noise: float = 0.1, formula: Callable[[Settings], float] = duration
) -> tuple[Design, list[Observation]]:
    """All runs as if they had been made."""
    design = design_of(made.spec)
    chance = np.random.default_rng(0)
    observations = []
    for run in expand(made, design):
        for job in run.jobs:
            epochs = job.spec.parameters.epochs
            accuracy = tuple(1 - 0.5 / (epoch + 1) - 0.01 * chance.random() for epoch in range(epochs))
            took = formula(dict(run.settings)) + noise * chance.standard_normal()
            observations.append(
                Observation(
                    experiment=made.name,
                    run=run.name,
                    job=job.name,
                    row=run.row,
                    replicate=run.replicate,
                    block=run.block,
                    digest=job.digest,
                    settings=run.settings,
                    responses={"duration": took, "accuracy": accuracy[-1]},
                    state="succeeded",
                    started="2026-11-16T08:00:00.000Z",
                    finished="2026-11-16T08:00:09.000Z",
                    epochs=epochs,
                    curve=Curve(epoch=tuple(range(1, epochs + 1)), seconds=(1.0,) * epochs, accuracy=accuracy),
                )
            )
    return design, observations
