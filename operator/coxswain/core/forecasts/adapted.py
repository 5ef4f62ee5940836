"""Durations read where a track says: the model's own distributions, with the levels moved to where runs have lain.

It is the same kind of model to whoever asks it, so that forecasts, plans and chances all follow. Of a run that has done
epochs only these tell: it is not read elsewhere, because what moved the levels has moved its epochs too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from coxswain.core.factors import Level
from coxswain.core.forecasts.fan import FARTHEST, SCORES, scores_at
from coxswain.core.forecasts.track import UNMOVED, Track
from coxswain.core.models import DurationModel
from coxswain.core.models.duration import DurationsAt
from coxswain.core.models.total import LARGEST_EXPONENT, Duration, Durations
from coxswain.core.models.types import Floats


@dataclass(frozen=True, eq=False)
class AdaptedDurations(Durations):
    """Distributions that are read where a track says."""

    track: Track

    def _seconds(self, levels: Floats) -> Floats:
        if not self.track.moved:
            return super()._seconds(levels)
        read = self.track.at(np.clip(scores_at(levels), -FARTHEST, FARTHEST))
        log = self._own_log(np.clip(read, SCORES[0], SCORES[-1]))
        # Beyond the ends of a fan the logarithm goes on as it does there, as when forecasts are scored.
        for end, inner, beyond in (
            (0, 1, np.minimum(read - SCORES[0], 0.0)),
            (-1, -2, np.maximum(read - SCORES[-1], 0.0)),
        ):
            rise = self._own_log(SCORES[[end]]) - self._own_log(SCORES[[inner]])
            log = log + beyond * rise / (SCORES[end] - SCORES[inner])
        return np.asarray(np.exp(np.minimum(log, LARGEST_EXPONENT)), dtype=float)

    def _own_log(self, scores: Floats) -> Floats:
        """The logarithm of the seconds by the model itself, at scores within a fan."""
        return np.log(super()._seconds(np.asarray(ndtr(scores), dtype=float)))


@dataclass(frozen=True, eq=False)
class AdaptedDurationsAt(DurationsAt):
    """What is known about durations at one setting, read where a track says."""

    track: Track

    def many(self, epochs: Sequence[int]) -> AdaptedDurations:
        """Durations of runs of each of some numbers of epochs."""
        return AdaptedDurations(**_values(super().many(epochs)), track=self.track)

    def one(self, epochs: int, done: Sequence[float] = ()) -> Duration:
        """Duration of a run, or what is left of it after the epochs `done` (their seconds)."""
        return (
            replace(self, track=UNMOVED).one(epochs, done) if done and self.track.moved else super().one(epochs, done)
        )


@dataclass(frozen=True, eq=False)
class AdaptedModel(DurationModel):
    """A model of durations whose distributions are read where a track says."""

    track: Track

    def at(self, settings: Mapping[str, Level]) -> AdaptedDurationsAt:
        """What is known about durations at a setting."""
        return AdaptedDurationsAt(**_values(super().at(settings)), track=self.track)


def adapt(model: DurationModel, track: Track) -> DurationModel:
    """A model read where a track says."""
    return AdaptedModel(**_values(model), track=track) if track.moved else model


def plain(duration: Duration) -> Duration:
    """What the model itself says of a duration."""
    one = duration.one
    return Duration(replace(one, track=UNMOVED)) if isinstance(one, AdaptedDurations) else duration


def read_at(duration: Duration) -> tuple[float, ...] | None:
    """The scores at which a duration is read in place of those of a fan; None if it is read as the model says."""
    one = duration.one
    return tuple(float(f"{score:.4f}") for score in one.track.scores) if isinstance(one, AdaptedDurations) else None


def _values(made: Any) -> dict[str, Any]:
    """The fields of a dataclass, as they are."""
    return {each.name: getattr(made, each.name) for each in fields(made)}
