"""What runs tell about durations: what happened once, and how long an epoch takes when it runs steadily.

The first epoch is apart: caches fill and kernels are chosen while it runs. A run that was killed tells by the epochs
it finished; the one it was in, if that was already slower than those, and a start-up without any epoch are told only
as lower limits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coxswain.core.errors import InputError
from coxswain.core.factors import Level
from coxswain.core.models.types import Bools, Floats

# Before anything was measured epochs of a run are thought to vary by a tenth, and first epochs by a third. Each is
# worth one observation: without it two equal epochs would promise that all others are equal too.
USUAL_EPOCHS, USUAL_FIRST = 0.1, 0.3
# What happens once is never taken as less than this share of an epoch.
LEAST_ONCE = 0.01

Response = tuple[Floats, Bools]
"""A value for each run, and whether it is only a lower limit; 0 where the run tells nothing."""


@dataclass(frozen=True)
class RunRecord:
    """What one run told: its settings without the epochs, its start-up, and the seconds of each finished epoch.

    `killed_after` is given for a run that was killed: the seconds it had spent in the epoch that it did not finish, 0
    for a run killed during its start-up.
    """

    settings: Mapping[str, Level]
    startup: float
    epochs: Sequence[float]
    killed_after: float | None = None


@dataclass(frozen=True)
class Seconds:
    """How the epochs of one run differ, by the logarithm of their seconds."""

    first_takes: float
    """How many times as long as a later epoch the first one takes."""
    first_doubt: float
    """The variance of that ratio's logarithm, between runs."""
    between_epochs: float
    """The variance between epochs of a run, the first apart."""
    averaged: float
    """The variance of a run's mean epoch that its epochs account for, as far as that was measured."""

    def told_by(self, done: Sequence[float]) -> tuple[float, float]:
        """What the epochs that a run has done tell about its pace: the logarithm, and the variance of that."""
        first = np.log(done[0] / self.first_takes)
        if len(done) == 1:
            return float(first), self.first_doubt
        known = np.array([1 / self.first_doubt, (len(done) - 1) / self.between_epochs])
        told = np.array([first, np.log(np.mean(done[1:]))])
        return float(known @ told / known.sum()), float(1 / known.sum())


def separate(records: Sequence[RunRecord]) -> tuple[Seconds, Response, Response]:
    """How epochs differ; of each run what happened once; of each run its pace.

    Raises:
        InputError: if a run has a time that is not positive, or neither an epoch nor a reason for having none.
    """
    for record in records:
        if min(record.epochs, default=1.0) <= 0 or min(record.startup, record.killed_after or 0.0) < 0:
            raise InputError("a run has a time that is not above 0; correct it or leave that run out.")
        if not record.epochs and record.killed_after is None:
            raise InputError("a run that was not killed has at least one epoch; leave that run out.")
    seconds = _seconds(records)
    told = [_tell(record, seconds) for record in records]
    killed = [record.killed_after is not None and not record.epochs for record in records]
    once, pace, slower = (np.array(column) for column in zip(*told, strict=True))
    return seconds, (once, np.array(killed)), (pace, slower.astype(bool))


def _seconds(records: Sequence[RunRecord]) -> Seconds:
    """How epochs differ within a run, over all runs."""
    steady = [np.array(record.epochs[1:], dtype=float) for record in records]
    ratios = [
        np.log(record.epochs[0] / later.mean()) for record, later in zip(records, steady, strict=True) if len(later)
    ]
    spare = sum(len(later) - 1 for later in steady if len(later))
    squares = sum(float(np.sum((np.log(later) - np.log(later).mean()) ** 2)) for later in steady if len(later))
    measured = squares / (spare + 1)
    between = measured + USUAL_EPOCHS**2 / (spare + 1)
    first = float(np.mean(ratios)) if ratios else 0.0
    first_doubt = (float(np.sum((np.array(ratios) - first) ** 2)) + USUAL_FIRST**2) / max(len(ratios), 1)
    counts = [max(len(record.epochs) - 1, 1) for record in records if record.epochs]
    averaged = measured * sum(1 / count for count in counts) / len(counts)
    return Seconds(float(np.exp(first)), max(first_doubt, between), between, averaged)


def _tell(record: RunRecord, seconds: Seconds) -> tuple[float, float, bool]:
    """Of one run: what happened once, its pace, and whether the pace is a lower limit."""
    if not record.epochs:
        return record.startup, (record.killed_after or 0.0) / seconds.first_takes, True
    later = record.epochs[1:] or [record.epochs[0] / seconds.first_takes]
    pace = float(np.mean(later))
    # What is less than an epoch's own wavering cannot be told from nothing, and its logarithm would be anything.
    least = max(LEAST_ONCE, float(np.sqrt(seconds.between_epochs))) * pace
    once = max(record.startup + record.epochs[0] - pace, least)
    if (record.killed_after or 0.0) > pace:
        return once, float(np.mean([*later, record.killed_after or 0.0])), True
    return once, pace, False
