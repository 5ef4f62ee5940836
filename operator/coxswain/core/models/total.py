"""The distribution of a duration: what happens once, and epochs to come, each with a distribution of its own.

Each part is a positive time whose logarithm is `median + spread * (score - median score)`, and the score is calibrated
on rows left out. The quantile of the sum at a level is the sum of the medians and the root of the squares of the
parts' own distances from them at that level. This is exact for normal distributions and wherever one part dominates,
it has no end in either direction, grows with the level and with the epochs, and costs no more than its parts.
"""

from dataclasses import dataclass
from typing import overload

import numpy as np
from scipy.special import ndtr

from coxswain.core.models.calibration import Basis, Calibration
from coxswain.core.models.types import Floats

# A chance is found by halving between levels this many standard deviations out; beyond them it is 0 or 1.
FARTHEST = 7.0
HALVINGS = 50
LARGEST_EXPONENT = 300.0  # beyond it the square is infinite
# Up to which level a bound has to rest on rows left out for the whole to be called conformal.
USUAL = 0.95


@dataclass(frozen=True, eq=False)
class Part:
    """A positive time by its logarithm; `spread` and `shared` are single values, or one for each candidate."""

    median: float
    spread: Floats
    shared: Floats
    """The share of the variance that all jobs of the setting have in common: how wrong the model is there."""
    scores: Calibration

    def quantile(self, levels: Floats) -> Floats:
        """The time that is not exceeded with a probability, levels broadcast against candidates."""
        away = self.scores.quantile(levels) - self.scores.quantile(np.array(0.5))
        return np.exp(np.minimum(self.median + self.spread * away, LARGEST_EXPONENT))


@dataclass(frozen=True, eq=False)
class Durations:
    """Distributions of the time that some numbers of epochs take at one setting; `left` are these numbers."""

    left: Floats
    pace: Part
    once: Part | None
    basis: Basis
    """What bounds up to 95 % rest on."""
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.left)

    def quantile(self, levels: Floats) -> Floats:
        """The seconds not exceeded with each of some probabilities: a row a level, a column a candidate."""
        return self._seconds(np.asarray(levels, dtype=float)[:, None])

    def cdf(self, seconds: Floats) -> Floats:
        """The chances to be done within some seconds, which are broadcast against the candidates."""
        wanted = np.broadcast_to(seconds, np.broadcast_shapes(np.shape(seconds), self.left.shape))
        low, high = (np.full(wanted.shape, sign * FARTHEST) for sign in (-1.0, 1.0))
        never, always = self._seconds(ndtr(low)) > wanted, self._seconds(ndtr(high)) <= wanted
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            within = self._seconds(ndtr(middle)) <= wanted
            low, high = np.where(within, middle, low), np.where(within, high, middle)
        return np.asarray(np.where(never, 0.0, np.where(always, 1.0, ndtr(low))), dtype=float)

    @property
    def point(self) -> Floats:
        """The medians."""
        return self._seconds(np.array(0.5))

    @property
    def shared_share(self) -> Floats:
        """The share of the variance of each logarithm that all jobs of the setting have in common."""
        parts = [(self.left * np.exp(self.pace.median), self.pace)]
        if self.once is not None:
            parts.append((np.exp(np.full(len(self), self.once.median)), self.once))
        sizes = [(seconds * part.spread) ** 2 for seconds, part in parts]
        shared = sum(size * part.shared for size, (_, part) in zip(sizes, parts, strict=True))
        total = np.asarray(sum(sizes), dtype=float)
        return np.asarray(shared / np.where(total > 0, total, 1.0), dtype=float)

    def _seconds(self, levels: Floats) -> Floats:
        middle = self.left * np.exp(self.pace.median)
        square = (self.left * self.pace.quantile(levels) - middle) ** 2
        if self.once is not None:
            usual = np.exp(self.once.median)
            middle = middle + usual
            square = square + (self.once.quantile(levels) - usual) ** 2
        return np.asarray(middle + np.sign(levels - 0.5) * np.sqrt(square), dtype=float)


@dataclass(frozen=True, eq=False)
class Duration:
    """The distribution of one duration: bounds at any confidence and chances to be done in time come from it."""

    one: Durations

    @overload
    def quantile(self, level: float) -> float: ...
    @overload
    def quantile(self, level: Floats) -> Floats: ...
    def quantile(self, level: float | Floats) -> float | Floats:
        """The seconds that are not exceeded with a probability, or with each of some."""
        found = self.one.quantile(np.atleast_1d(level))[:, 0]
        return found if isinstance(level, np.ndarray) else float(found[0])

    @overload
    def cdf(self, seconds: float) -> float: ...
    @overload
    def cdf(self, seconds: Floats) -> Floats: ...
    def cdf(self, seconds: float | Floats) -> float | Floats:
        """The chance to be done within so many seconds; the inverse of `quantile`."""
        found = self.one.cdf(np.atleast_1d(seconds))
        return found if isinstance(seconds, np.ndarray) else float(found[0])

    @property
    def point(self) -> float:
        """The median."""
        return self.quantile(0.5)

    @property
    def shared_share(self) -> float:
        """The share of the logarithm's variance that all jobs of the setting have in common; the rest is this run's."""
        return float(self.one.shared_share[0])

    @property
    def basis(self) -> Basis:
        """What bounds up to 95 % rest on."""
        return self.one.basis

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: few runs, or settings beyond what was measured."""
        return self.one.notes
