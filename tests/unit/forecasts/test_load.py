"""What is forecast of a running job when other jobs begin or end beside it."""

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pytest

from coxswain.core.forecasts.learning import FamilyModel, learn
from coxswain.core.forecasts.outlook import outlook
from coxswain.core.jobs.life import start
from coxswain.core.jobs.view import Job, Trained
from tests.unit.forecasts.making import NOON, PER_EPOCH, STARTUP, after, entry, job

EPOCHS, DONE = 20, 10


def taught(loads: Sequence[float]) -> FamilyModel:
    """A family whose epochs take as many times longer as jobs run."""
    rng = np.random.default_rng(0)
    runs = ((number, loads[number % len(loads)]) for number in range(18))
    return learn([entry(n, PER_EPOCH * load * np.exp(rng.normal(0, 0.03, 4)), load=load) for n, load in runs])


def seconds_left(model: FamilyModel, load: float, load_so_far: float | None) -> float:
    """Of a job that has done half of its epochs, alone and in the usual time."""
    waits = job(parameters={"epochs": EPOCHS})
    runs = Job({**waits.manifest, "status": start(waits, NOON).render()})
    now = after(STARTUP + DONE * PER_EPOCH)
    trained = Trained(now, "training", DONE, EPOCHS, PER_EPOCH, epoch_seconds=(PER_EPOCH,) * DONE)
    told = outlook(runs, model, now, load=load, load_so_far=load_so_far, trained=trained).forecast
    assert told is not None
    assert told.finish_time is not None
    return (told.finish_time - now) / timedelta(seconds=1)


def test_a_running_job_is_forecast_to_slow_down_when_others_begin() -> None:
    model = taught([1.0, 2.0, 3.0])
    alone = (EPOCHS - DONE) * PER_EPOCH
    assert seconds_left(model, load=1.0, load_so_far=1.0) == pytest.approx(alone, rel=0.05)
    assert seconds_left(model, load=3.0, load_so_far=1.0) == pytest.approx(3 * alone, rel=0.15)
    # Half of its epochs beside two others, and all the rest alone: it was quick for that company.
    assert seconds_left(model, load=1.0, load_so_far=2.0) == pytest.approx(alone / 2, rel=0.15)


def test_where_all_runs_had_the_same_company_nothing_is_known_of_another() -> None:
    model = taught([1.0])
    assert seconds_left(model, load=3.0, load_so_far=1.0) == seconds_left(model, load=3.0, load_so_far=None)
