"""A factor: one thing an experiment varies, with the values it takes and how those are coded.

Every design and every analysis works in coded units: the lowest level is -1, the highest +1, and what lies between is
placed linearly or by its logarithm. In coded units effects are comparable and the columns of a balanced design are
orthogonal; in raw units neither holds. Categories have no order; an analysis codes them by sum-to-zero contrasts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from coxswain.core.errors import InputError

Level = float | str

_ALPHABET = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
MOST_LETTERS = len(_ALPHABET)


class Coding(StrEnum):
    """How numeric levels are placed between -1 and +1."""

    LINEAR = "Linear"
    LOG = "Log"


@dataclass(frozen=True)
class Factor:
    """A named factor with either numeric levels, in ascending order, or categories."""

    name: str
    levels: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()
    coding: Coding = Coding.LINEAR
    whole: bool = False
    """Whether only whole numbers make sense, as for workers, epochs or a batch size."""

    def __post_init__(self) -> None:
        if bool(self.levels) == bool(self.categories):
            raise InputError(
                f"factor {self.name}: give either levels (numbers) or categories (names), not both or none."
            )
        if len(set(self.values)) < len(self.values) or len(self.values) < 2:
            raise InputError(f"factor {self.name}: give at least two distinct values.")
        if any(not math.isfinite(level) for level in self.levels):
            raise InputError(f"factor {self.name}: levels must be finite numbers.")
        if self.coding is Coding.LOG and (self.categories or min(self.levels) <= 0):
            raise InputError(f"factor {self.name}: coding Log needs numeric levels above 0; use coding Linear.")
        if self.whole and any(not level.is_integer() for level in map(float, self.levels)):
            raise InputError(f"factor {self.name}: levels must be whole numbers.")
        object.__setattr__(self, "levels", tuple(sorted(float(level) for level in self.levels)))

    @property
    def values(self) -> tuple[Level, ...]:
        """All values the factor takes."""
        return self.levels or self.categories

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers, and so have an order and a distance."""
        return bool(self.levels)

    @property
    def extremes(self) -> tuple[Level, Level]:
        """The first and the last value: what a two-level design uses."""
        return self.values[0], self.values[-1]

    def code(self, value: float) -> float:
        """Coded units of a numeric value: -1 at the lowest level, +1 at the highest; beyond them outside [-1, 1]."""
        low, high = self._scale(self.levels[0]), self._scale(self.levels[-1])
        return (2 * self._scale(value) - low - high) / (high - low)

    def decode(self, coded: float) -> float:
        """The numeric value at a place in coded units, the nearest whole one if the factor is whole.

        It is exact at the levels, so that a row names a level as given.
        """
        for level in self.levels:
            if math.isclose(self.code(level), coded, abs_tol=1e-9):
                return level
        low, high = self._scale(self.levels[0]), self._scale(self.levels[-1])
        scaled = (low + high + coded * (high - low)) / 2
        value = math.exp(scaled) if self.coding is Coding.LOG else scaled
        return float(math.floor(value + 0.5)) if self.whole else value

    def _scale(self, value: float) -> float:
        if self.coding is Coding.LINEAR:
            return value
        if value <= 0:
            raise InputError(f"factor {self.name}: {value:g} cannot be coded by its logarithm; it must be above 0.")
        return math.log(value)


def letters(count: int) -> Sequence[str]:
    """The letters A, B, C, … that stand for factors in generators and aliases; I is the identity and left out."""
    if count > MOST_LETTERS:
        raise InputError(f"{count} factors are more than the {MOST_LETTERS} that letters can name.")
    return _ALPHABET[:count]
