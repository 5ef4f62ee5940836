"""Jobs, and a family that has taught what they take, for tests of steering."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np

from coxswain.core.cost import Prices
from coxswain.core.families import family_of, fields_of
from coxswain.core.forecasts.learning import FamilyModel, learn
from coxswain.core.jobs.view import Job
from coxswain.core.ledger.entry import Entry
from coxswain.core.observations import SUCCEEDED, Curve, Observation
from coxswain.core.planning.values import Capacity
from coxswain.core.steering.scene import Prospect, Situation
from coxswain.core.steering.steps import Step, steps_for

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EPOCHS = {"field": "epochs", "min": 1, "max": 40}
STARTUP, PER_EPOCH = 10.0, 5.0


def job(name: str = "train", **spec: Any) -> Job:
    metadata = {"name": name, "namespace": "here", "uid": name, "creationTimestamp": "2026-01-01T12:00:00Z"}
    return Job({"apiVersion": "coxswain.dev/v1alpha1", "kind": "TrainingJob", "metadata": metadata, "spec": spec})


def entry(number: int, epochs: int, batch: int) -> Entry:
    """A run that took what its settings say, within a few per cent, and whose accuracy grew with its epochs."""
    rng = np.random.default_rng(number)
    done = job(f"run-{number}", parameters={"epochs": epochs, "batchSize": batch})
    seconds = PER_EPOCH * (64 / batch) ** 0.5 * np.exp(rng.normal(0, 0.02, epochs) + rng.normal(0, 0.02))
    accuracy = 0.95 - 0.5 * np.arange(1, epochs + 1) ** -0.7 + rng.normal(0, 0.003)
    observation = Observation(
        experiment="",
        run=done.name,
        job=done.name,
        row=0,
        replicate=0,
        block=0,
        digest="",
        settings={},
        responses={"duration": STARTUP + float(seconds.sum()), "startup": STARTUP, "accuracy": float(accuracy[-1])},
        state=SUCCEEDED,
        started="",
        finished="",
        epochs=epochs,
        load=1.0,
        curve=Curve(tuple(range(1, epochs + 1)), tuple(map(float, seconds)), (), tuple(map(float, accuracy))),
    )
    return Entry(
        uid=done.uid, family=family_of("here", done.spec, ""), fields=fields_of(done.effective), observation=observation
    )


@cache
def taught() -> FamilyModel:
    """What 24 runs of 2 to 12 epochs with three batch sizes teach."""
    return learn([entry(number, 2 + number % 11, (32, 64, 128)[number % 3]) for number in range(24)])


def steps(*jobs: Job, cores: int = 1000, model: FamilyModel | None = None) -> list[Step]:
    prospects = tuple(Prospect(each, "family", model or taught()) for each in jobs)
    return steps_for(Situation(prospects, (), Capacity(cores), NOON, Prices(core_hour=1.0)))
