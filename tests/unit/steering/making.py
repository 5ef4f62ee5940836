"""Jobs, and a family that has taught what they take, for tests of steering."""

from dataclasses import replace
from datetime import datetime
from functools import cache

import numpy as np

from coxswain.core.cost import Prices
from coxswain.core.forecasts.learning import FamilyModel, learn
from coxswain.core.jobs.view import Job
from coxswain.core.ledger.entry import Entry
from coxswain.core.planning.values import Capacity
from coxswain.core.steering.scene import Prospect, Situation
from coxswain.core.steering.steps import Step, steps_for
from tests.unit.forecasts.making import NOON, PER_EPOCH
from tests.unit.forecasts.making import entry as run

EPOCHS = {"field": "epochs", "min": 1, "max": 40}


def entry(number: int, epochs: int, batch: int) -> Entry:
    """A run that took what its settings say, within a few per cent, and whose accuracy grew with its epochs."""
    rng = np.random.default_rng(number)
    seconds = PER_EPOCH * (64 / batch) ** 0.5 * np.exp(rng.normal(0, 0.02, epochs) + rng.normal(0, 0.02))
    accuracy = 0.95 - 0.5 * np.arange(1, epochs + 1) ** -0.7 + rng.normal(0, 0.003)
    made = run(number, seconds, batchSize=batch)
    seen = made.observation
    curve = replace(seen.curve, accuracy=tuple(map(float, accuracy)))
    responses = {**seen.responses, "accuracy": float(accuracy[-1])}
    return replace(made, observation=replace(seen, curve=curve, responses=responses))


@cache
def taught() -> FamilyModel:
    """What 24 runs of 2 to 12 epochs with three batch sizes teach."""
    return learn([entry(number, 2 + number % 11, (32, 64, 128)[number % 3]) for number in range(24)])


def steps(*jobs: Job, cores: int = 1000, model: FamilyModel | None = None, now: datetime = NOON) -> list[Step]:
    prospects = tuple(Prospect(each, "family", model or taught()) for each in jobs)
    return steps_for(Situation(prospects, (), Capacity(cores), now, Prices(core_hour=1.0)))
