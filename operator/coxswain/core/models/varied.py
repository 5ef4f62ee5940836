"""What runs were varied in, and what was the same in all of them.

A factor that never changed cannot be learned about: it is left out of the model and remembered. A job that has another
value of it is forecast all the same, with a note, and with a bound as wide as our ignorance: a number that differs by
some ratio may change the time by as much either way, and another category by a factor of e.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coxswain.core.dataset import make_dataset
from coxswain.core.errors import InputError
from coxswain.core.factors import Level
from coxswain.core.models.observations import Observations, observations_of
from coxswain.core.models.types import Bools, Floats

Settings = Mapping[str, Level]
ANOTHER_CATEGORY = 1.0


@dataclass(frozen=True)
class Varied:
    """The names of the settings that differ between runs, and the values of those that do not."""

    names: tuple[str, ...]
    fixed: Settings

    def query(self, settings: Settings) -> dict[str, Level]:
        """The settings that a model was fitted to."""
        return {name: value for name, value in settings.items() if name not in self.fixed}

    def unlike(self, settings: Settings) -> tuple[str, ...]:
        """A sentence for each setting that is not what it was in every run."""
        return tuple(
            f"{name} = {_text(settings[name])} was never run: it was {_text(value)} in every run"
            for name, value in self._changed(settings)
        )

    def ignorance(self, settings: Settings) -> float:
        """What these settings add to the spread of a logarithm."""
        return math.hypot(*(_distance(settings[name], value) for name, value in self._changed(settings)))

    def _changed(self, settings: Settings) -> list[tuple[str, Level]]:
        return [(name, value) for name, value in self.fixed.items() if settings.get(name, value) != value]


def varied_in(runs: Sequence[Settings]) -> Varied:
    """Tell the settings that differ between runs from those that do not.

    Raises:
        InputError: if a run has other settings than the first.
    """
    names = list(runs[0])
    for run in runs:
        odd = set(names).symmetric_difference(run)
        if odd:
            raise InputError(f"some runs have a value of {min(odd)} and some have none; give all of them one.")
    fixed = {name: runs[0][name] for name in names if all(run[name] == runs[0][name] for run in runs)}
    return Varied(tuple(name for name in names if name not in fixed), fixed)


def observe(varied: Varied, runs: Sequence[Settings], response: str, y: Floats, censored: Bools) -> Observations:
    """Observations of runs; where nothing was varied each run is a unit by itself, else all runs of a row are one."""
    if not varied.names:
        return Observations((), response, np.empty((len(y), 0)), y, np.arange(len(y)), censored)
    table = pd.DataFrame([{name: run[name] for name in varied.names} for run in runs]).assign(**{response: y})
    return observations_of(make_dataset(table, response, varied.names), censored)


def _distance(value: Level, usual: Level) -> float:
    if isinstance(value, str) or isinstance(usual, str) or min(value, usual) <= 0:
        return ANOTHER_CATEGORY
    return abs(math.log(value / usual))


def _text(value: Level) -> str:
    return value if isinstance(value, str) else f"{value:g}"
