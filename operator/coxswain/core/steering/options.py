"""The settings that a job may be given, with how long each takes and what it is worth.

All of this depends on what the job asks for and allows, on its family's model, and on how much else runs; not on the
job itself, nor on when it is due. Jobs come by the hundred from one manifest, and queues are planned again whenever
something happens, so it is remembered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from coxswain.core.api.job import JobSpec, Steered
from coxswain.core.cost import Prices
from coxswain.core.forecasts.learning import FamilyModel
from coxswain.core.jobs.parameters import asked_for, effective, steered_to
from coxswain.core.planning.promise import promise_level, strictest
from coxswain.core.planning.times import SCORES
from coxswain.core.planning.values import Candidate
from coxswain.core.steering.choices import choices_of, thinned
from coxswain.core.steering.predictions import need_of, times_at, values_at

# How sure a promise has to be is found from so many of a job's settings: those between are nearly the same.
_TRIED = 12
_REMEMBERED = 1024
_MATTERS = {"engine", "workload", "parameters", "resources", "data", "adjust", "steering"}


@dataclass(frozen=True, eq=False)
class Options:
    """What `steered` may be, and the candidates that this makes; the first is what was asked for, or has to stay."""

    choices: Sequence[Steered | None]
    candidates: tuple[Candidate, ...]
    confidence: float

    def only(self, place: int) -> "Options":
        """One of them, with no choice left."""
        return Options(self.choices[place : place + 1], self.candidates[place : place + 1], self.confidence)

    @cached_property
    def level(self) -> float:
        """How sure a promise has to be, so that it is kept with the confidence although the setting is picked."""
        middle = len(SCORES) // 2
        by_time = sorted(self.candidates, key=lambda candidate: candidate.times.values[middle])
        tried = thinned(by_time, _TRIED)
        values = np.array([each.value for each in tried])
        return promise_level([each.times for each in tried], values, self.confidence) or strictest(self.confidence)


def options_of(
    spec: JobSpec, model: FamilyModel | None, load: float, prices: Prices, *, fixed: bool = False
) -> Options:
    """The settings of a job, `load` being how many jobs run at the same time.

    One that is `fixed` has been started before: whatever it was given then, the next attempt goes on with that.
    """
    known = model is not None and model.durations is not None
    if fixed:
        steers, kept = False, spec.steered
    elif spec.steering.mode == "Disabled" or not spec.adjust:
        steers, kept = False, None
    else:
        steers, kept = known, None if known else spec.steered
    bare = spec.model_copy(update={"steered": kept})
    return _options(_Asked(bare, bare.model_dump_json(include={*_MATTERS, "steered"}), steers), model, load, prices)


@dataclass(frozen=True)
class _Asked:
    """A spec by what matters of it, which makes two of them the same."""

    spec: JobSpec
    text: str
    steers: bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and (self.text, self.steers) == (other.text, other.steers)

    def __hash__(self) -> int:
        return hash((self.text, self.steers))


@lru_cache(maxsize=_REMEMBERED)
def _options(asked: _Asked, model: FamilyModel | None, load: float, prices: Prices) -> Options:
    spec = asked.spec
    choices = choices_of(spec) if asked.steers else [spec.steered]
    specs = [effective(spec.model_copy(update={"steered": steered})) for steered in choices]
    times = times_at(model, specs, load)
    values = values_at(spec.steering.objective, model, specs, times, prices)
    candidates = tuple(
        Candidate(_named(spec, steered), need_of(each), lasting, value)
        for steered, each, lasting, value in zip(choices, specs, times, values, strict=True)
    )
    return Options(tuple(choices), candidates, spec.steering.confidence_percent / 100)


def _named(spec: JobSpec, steered: Steered | None) -> dict[str, float]:
    """What a setting is called: the fields that may be adjusted, as they would be."""
    values = asked_for(spec) | steered_to(steered)
    return {each.field: values[each.field] for each in spec.adjust or ()}
