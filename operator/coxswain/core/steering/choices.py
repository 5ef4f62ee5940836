"""The settings that a job allows: what was asked for, and every combination of values within `adjust`."""

import itertools
import math
from collections.abc import Sequence
from typing import TypeVar

from coxswain.core.api.job import Adjustment, JobSpec, Steered
from coxswain.core.jobs.parameters import effective

Item = TypeVar("Item")
MOST_CHOICES = 1000
"""More than these are thinned out: their neighbours are nearly the same."""


def choices_of(spec: JobSpec) -> list[Steered | None]:
    """What `steered` may be, first of all nothing: what was asked for."""
    adjust = spec.adjust or ()
    lists = [values_of(each) for each in adjust]
    most = max(2, int(MOST_CHOICES ** (1 / len(lists)))) if lists else 0
    if math.prod(len(values) for values in lists) > MOST_CHOICES:
        lists = [thinned(values, most) for values in lists]
    found: list[Steered | None] = [None]
    asked = effective(spec.model_copy(update={"steered": None}))
    for values in itertools.product(*lists) if lists else ():
        given = {each.field: value for each, value in zip(adjust, values, strict=True)}
        steered = Steered.model_validate(given, strict=False)
        changed = effective(spec.model_copy(update={"steered": steered}))
        if runnable(changed) and (changed.parameters, changed.resources) != (asked.parameters, asked.resources):
            found.append(steered)
    return found


def runnable(spec: JobSpec) -> bool:
    """Whether every training process has at least one sample of a batch; `spec` is the effective one."""
    resources = spec.resources
    return resources.workers * resources.processes_per_worker <= spec.parameters.batch_size


def values_of(adjustment: Adjustment) -> list[float]:
    """The values that one field may take, in ascending order."""
    if adjustment.values is not None:
        return sorted(adjustment.values)
    low, high, step = adjustment.min or 1.0, adjustment.max or 1.0, adjustment.step or 1.0
    # Half a step more than the highest that fits, whatever the rounding.
    return [low + step * place for place in range(int((high - low) / step + 1e-9) + 1)]


def thinned(values: Sequence[Item], most: int) -> list[Item]:
    """At most so many of the values, evenly spread, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    return [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)]
