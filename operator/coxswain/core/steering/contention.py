"""How much jobs slow each other down, by what the families of a queue have taught.

Durations are learned with the number of jobs that ran at the same time as one of their settings. Where a family has run
both alone and with others, its stretch from the one to the other, over the share of the cores that the others used,
says how much it would slow down if everything else were busy. A queue has one such number: the median of its families.
"""

import statistics
from collections.abc import Iterable

from coxswain.core.forecasts.learning import FamilyModel
from coxswain.core.jobs.view import Job
from coxswain.core.models.varied import LOAD
from coxswain.core.planning.values import Capacity
from coxswain.core.steering.predictions import need_of, times_at


def contention_of(jobs: Iterable[tuple[Job, str, FamilyModel | None]], capacity: Capacity) -> float:
    """By how much a job's time grows when all other cores are busy; jobs come with their family's key and model."""
    families = {family: (job, model) for job, family, model in jobs}
    found = [_of_one(job, model, capacity) for job, model in families.values()]
    known = [each for each in found if each is not None]
    return max(statistics.median(known), 0.0) if known else 0.0


def _of_one(job: Job, model: FamilyModel | None, capacity: Capacity) -> float | None:
    """What one family says; None if all its runs had the same company."""
    if model is None or model.durations is None:
        return None
    loads = next((each.levels for each in model.durations.epoch.model.factors if each.name == LOAD), None)
    need = need_of(job.effective).cores
    if loads is None or not need:
        return None
    fewest, most = float(min(loads)), float(max(loads))
    alone, together = (times_at(model, [job.effective], load)[0].quantile(0.5) for load in (fewest, most))
    used_by_others = min((most - fewest) * need / capacity.cores, 1.0) if capacity.cores else 1.0
    return (together / alone - 1) / used_by_others
