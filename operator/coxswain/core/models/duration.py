"""How long a run takes: what happens once, and then as many epochs as it has.

Time is learned by the epoch. A run of ten epochs so teaches about runs of one to ten, and runs of different lengths
teach about each other. The epochs of one run are one cluster: they share the run's own speed, so ten epochs of one run
are not ten observations. Two variances are told apart: between runs of the same settings, which does not average out
over the epochs of a job, and between epochs of a run, which does.

What happens once is the start-up and whatever the first epoch takes longer than the rest, as caches fill.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from coxswain.core.dataset import make_dataset
from coxswain.core.errors import InputError
from coxswain.core.factors import Level
from coxswain.core.models.families import Family
from coxswain.core.models.families.gaussian import GAUSSIAN_PROCESS, LOG_LOG
from coxswain.core.models.fitted import FittedModel
from coxswain.core.models.fitting import fit
from coxswain.core.models.observations import from_dataset
from coxswain.core.models.predictive import Predictive
from coxswain.core.models.types import Floats

ONCE, EPOCH = "once_seconds", "epoch_seconds"
# Both are fitted after each run, so the quick families compete.
QUICK: tuple[Family, ...] = (LOG_LOG, GAUSSIAN_PROCESS)
# The sum of two distributions is taken over so many quantiles of each.
QUANTILES = 200


@dataclass(frozen=True)
class RunRecord:
    """What one finished run told: its settings without the epochs, its start-up, and the seconds of each epoch."""

    settings: Mapping[str, Level]
    startup: float
    epochs: Sequence[float]


@dataclass(frozen=True, eq=False)
class Duration:
    """The distribution of one duration, by evenly likely values in ascending order."""

    values: Floats

    def quantile(self, level: float) -> float:
        """The duration that is not exceeded with a probability."""
        return float(np.interp(level, self._levels, self.values))

    def cdf(self, seconds: float) -> float:
        """The chance to be done within so many seconds."""
        return float(np.interp(seconds, self.values, self._levels, left=0.0, right=1.0))

    @property
    def point(self) -> float:
        """The median."""
        return self.quantile(0.5)

    @property
    def _levels(self) -> Floats:
        return (np.arange(len(self.values)) + 0.5) / len(self.values)


@dataclass(frozen=True, eq=False)
class DurationModel:
    """What happens once and the time of an epoch, each with a model of its own.

    `between_epochs` is the variance between epochs of one run, and `epochs` the (harmonic) mean number of epochs of
    the runs fitted, both on the scale of the model of epochs.
    """

    once: FittedModel
    epoch: FittedModel
    between_epochs: float
    epochs: float

    def predict(self, settings: Mapping[str, Level], epochs: int, *, done: Sequence[float] = ()) -> Duration:
        """Distribution of a run's duration, or of what is left of it after the epochs `done` (their seconds)."""
        if epochs < 1:
            raise InputError(f"a run has at least one epoch, not {epochs}.")
        left = epochs - len(done)
        if left <= 0:
            return Duration(np.zeros(QUANTILES))
        pace = self._pace(self.epoch.predict([settings]), left, done)
        levels = (np.arange(QUANTILES) + 0.5) / QUANTILES
        seconds = left * np.array([pace.quantile(level)[0] for level in levels])
        if done:
            return Duration(seconds)
        once_prediction = self.once.predict([settings])
        once = np.array([once_prediction.quantile(level)[0] for level in levels])
        return Duration(np.sort(np.add.outer(seconds, once).ravel())[QUANTILES // 2 :: QUANTILES])

    def _pace(self, epoch: Predictive, left: int, done: Sequence[float]) -> Predictive:
        """The mean time of the epochs to come, given those that are done."""
        run = np.maximum(epoch.spread**2 - self.between_epochs / self.epochs, 0.1 * epoch.spread**2)
        location = epoch.location
        if done:
            # The first epoch carries what happens once, so it tells least; it counts only where it is all there is.
            own = self.epoch.scale.forward(np.array(done[1:] or done, dtype=float))
            weight = run / (run + self.between_epochs / len(own))
            location = location + weight * (own.mean() - location)
            run = run * (1 - weight)
        return replace(epoch, location=location, spread=np.sqrt(run + self.between_epochs / left))


def fit_durations(records: Sequence[RunRecord], *, seed: int = 0) -> DurationModel:
    """Learn durations from finished runs.

    Raises:
        InputError: if a record has no epochs or a time that is not positive, or there are too few records.
    """
    for record in records:
        if not record.epochs or min(record.epochs) <= 0 or record.startup < 0:
            raise InputError("a run needs at least one epoch, and times above 0; leave it out.")
    first_takes = _first_takes(records)
    paces = np.array([_pace_of(record.epochs, first_takes) for record in records])
    totals = np.array([record.startup + sum(record.epochs) for record in records])
    counts = np.array([len(record.epochs) for record in records], dtype=float)
    # Where the first epoch happens to be quick, a run may seem to have cost nothing before it.
    once = np.maximum(totals - counts * paces, 1e-3 * totals)
    names = list(records[0].settings) if records else []
    table = pd.DataFrame([{name: record.settings.get(name) for name in names} for record in records])
    fitted = {
        response: fit(
            from_dataset(make_dataset(table.assign(**{response: values}), response, names)), families=QUICK, seed=seed
        )
        for response, values in ((ONCE, once), (EPOCH, paces))
    }
    scale = fitted[EPOCH].scale
    placed = [scale.forward(np.array(record.epochs[1:], dtype=float)) for record in records if len(record.epochs) > 2]
    spare = sum(len(values) - 1 for values in placed)
    between = sum(float(np.sum((values - values.mean()) ** 2)) for values in placed) / spare if spare else 0.0
    return DurationModel(fitted[ONCE], fitted[EPOCH], between, float(len(counts) / np.sum(1 / counts)))


def _first_takes(records: Sequence[RunRecord]) -> float:
    """How many times as long as a later epoch the first one takes, on average over runs that have both."""
    ratios = [record.epochs[0] / np.mean(record.epochs[1:]) for record in records if len(record.epochs) > 1]
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0


def _pace_of(epochs: Sequence[float], first_takes: float) -> float:
    """The steady time of an epoch of a run."""
    return float(np.mean(epochs[1:])) if len(epochs) > 1 else epochs[0] / first_takes
