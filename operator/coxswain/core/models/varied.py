"""What runs were varied in, and what was the same in all of them.

A factor that never changed cannot be learned about: it is left out of the model and remembered. A job that has another
value of it is forecast all the same, with a note, and with a bound as wide as our ignorance: a number that differs by
some ratio may change the time by as much either way, and another category by a factor of e.

How many jobs run meanwhile, the load, is no setting that anybody chose: runs differ in it by chance and often by
little, and a trend over so little leads nowhere far from there. So the nearest load that was measured is taken in its
place, and the rest is ignorance. Of that there is half as much as of another number: jobs have their cores for
themselves, and at worst they share something else that all wait for, so that the time grows in proportion to the load.
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
LOAD = "load"
"""The setting that tells how many jobs ran at the same time, itself included."""
ANOTHER_CATEGORY, ANOTHER_LOAD = 1.0, 0.5


@dataclass(frozen=True)
class Varied:
    """The names of the settings that differ between runs, and the values of those that do not."""

    names: tuple[str, ...]
    fixed: Settings
    loads: tuple[float, float] | None = None
    """From the smallest load to the largest, if it differs."""

    def query(self, settings: Settings) -> dict[str, Level]:
        """The settings that a model was fitted to, or as near to them as it knows."""
        query = {name: value for name, value in settings.items() if name not in self.fixed}
        if self.loads is None or not isinstance(query.get(LOAD), (int, float)):
            return query  # the model says what it lacks
        return {**query, LOAD: self._nearest_load(settings)}

    def unlike(self, settings: Settings) -> tuple[str, ...]:
        """A sentence for each setting that is not what it was in every run, or in any."""
        never = [
            f"{name} = {_text(settings[name])} was never run: it was {_text(value)} in every run"
            for name, value in self._changed(settings)
        ]
        if self.loads is not None and self._nearest_load(settings) != settings[LOAD]:
            low, high = self.loads
            never.append(f"{LOAD} = {_text(settings[LOAD])} is beyond the measured range {low:g} to {high:g}")
        return tuple(never)

    def ignorance(self, settings: Settings) -> float:
        """What these settings add to the spread of a logarithm."""
        changed = dict(self._changed(settings))
        if self.loads is not None:
            changed[LOAD] = self._nearest_load(settings)
        return math.hypot(
            *(
                _distance(settings[name], known) * (ANOTHER_LOAD if name == LOAD else 1.0)
                for name, known in changed.items()
            )
        )

    def _nearest_load(self, settings: Settings) -> float:
        assert self.loads is not None  # noqa: S101 - the callers have looked
        return min(max(float(settings[LOAD]), self.loads[0]), self.loads[1])

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
    loads = [float(run[LOAD]) for run in runs] if LOAD in names and LOAD not in fixed else None
    return Varied(
        tuple(name for name in names if name not in fixed), fixed, (min(loads), max(loads)) if loads else None
    )


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
