"""What a search may try: where it starts, the steps from a setting, and the settings that a model chooses among.

As in a space-filling design, two numeric levels are a range, and values between them are used; three or more are a
list, and only they are used, as are categories. The first level as written is where a climb starts. Nothing outside
the levels is ever tried, whole numbers stay whole, and cores are whole millicores, because that is what a job gets.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from coxswain.core.api.design import FactorSpec
from coxswain.core.api.fields import Kind, kind_of
from coxswain.core.designs.base import Settings
from coxswain.core.designs.space_filling import LatinHypercube
from coxswain.core.designs.streams import Stream
from coxswain.core.factors import Coding, Factor, Level

FIRST_STEP = 1 / 16
"""The first step of a climb in a linear range, as a share of it."""
GROWTH = 2.0
SMALL = 0.1
"""A small step, as a share of the value where its logarithm counts, else of the large step that went too far."""

GRID = 9
"""Into how many values a range is divided for a model to choose among."""
MOST_CANDIDATES = 1024


@dataclass(frozen=True)
class Axis:
    """One factor, with the value that a climb starts from."""

    factor: Factor
    start: Level
    cores: bool

    @property
    def is_range(self) -> bool:
        """Whether all values between the two levels may be tried."""
        return len(self.factor.levels) == 2

    def large_step(self, value: float, direction: int, before: int) -> float | None:
        """The value after a large step up or down, `before` such steps having been made; None at the end."""
        if not self.is_range:
            return self._listed(value, direction * 2**before)
        if self.factor.coding is Coding.LOG:
            return self._moved(value, value * GROWTH**direction, direction)
        return self._moved(value, value + direction * self._width * FIRST_STEP * GROWTH**before, direction)

    def small_step(self, value: float, direction: int, before: int) -> float | None:
        """The value after a small step; `before` is how many large steps were made before one went too far."""
        if not self.is_range:
            return self._listed(value, direction)
        if self.factor.coding is Coding.LOG:
            return self._moved(value, value * (1 + SMALL) ** direction, direction)
        return self._moved(value, value + direction * SMALL * self._width * FIRST_STEP * GROWTH**before, direction)

    def tidy(self, value: float) -> float:
        """The nearest value that can be tried, without digits that mean nothing."""
        low, high = self.factor.levels[0], self.factor.levels[-1]
        if self.factor.whole:
            value = math.floor(value + 0.5)
        elif self.cores:
            value = round(value, 3)
        else:
            value = float(f"{value:.6g}")
        return min(max(float(value), low), high)

    def grid(self) -> tuple[Level, ...]:
        """The values that a model chooses among."""
        if not self.is_range:
            return self.factor.values
        places = np.linspace(-1, 1, GRID)
        if self.factor.whole and self._width < GRID:
            return tuple(float(value) for value in np.arange(self.factor.levels[0], self.factor.levels[1] + 1))
        return tuple(dict.fromkeys(self.tidy(self.factor.decode(float(place))) for place in places))

    @property
    def _width(self) -> float:
        return self.factor.levels[-1] - self.factor.levels[0]

    def _moved(self, value: float, wanted: float, direction: int) -> float | None:
        moved = self.tidy(wanted)
        if moved == value and self.factor.whole:
            moved = self.tidy(value + direction)
        return moved if moved != value else None

    def _listed(self, value: float, places: int) -> float | None:
        levels = self.factor.levels
        place = min(max(levels.index(value) + places, 0), len(levels) - 1)
        return levels[place] if levels[place] != value else None


@dataclass(frozen=True)
class Space:
    """All settings that may be tried."""

    axes: tuple[Axis, ...]
    seed: int

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The factors."""
        return tuple(axis.factor for axis in self.axes)

    @property
    def start(self) -> Settings:
        """Every factor at its first value as written."""
        return tuple(axis.start for axis in self.axes)

    def spread(self, count: int) -> Iterable[Settings]:
        """Settings that lie far apart: a Latin hypercube of two or more, then all others in random order."""
        yield from dict.fromkeys(self._tidied(row) for row in _hypercube(self.factors, count, self.seed))
        others = self.candidates()
        for place in Stream(self.seed, "spread").permutation(len(others)).tolist():
            yield others[place]

    def candidates(self) -> Sequence[Settings]:
        """The settings that a model chooses among: the whole grid, or a random part of one that is too large."""
        grids = [axis.grid() for axis in self.axes]
        if math.prod(map(len, grids)) <= MOST_CANDIDATES:
            return list(itertools.product(*grids))
        draws = Stream(self.seed, "candidates").uniform(MOST_CANDIDATES * len(grids)).reshape(-1, len(grids))
        rows = [tuple(grid[int(share * len(grid))] for grid, share in zip(grids, row, strict=True)) for row in draws]
        return list(dict.fromkeys(rows))

    def told(self, settings: Settings) -> str:
        """Settings in words."""
        named = zip(self.factors, settings, strict=True)
        return ", ".join(f"{f.name} {value if isinstance(value, str) else f'{value:g}'}" for f, value in named)

    def _tidied(self, settings: Settings) -> Settings:
        return tuple(
            value if isinstance(value, str) or not axis.is_range else axis.tidy(value)
            for axis, value in zip(self.axes, settings, strict=True)
        )


@lru_cache(maxsize=64)
def _hypercube(factors: tuple[Factor, ...], size: int, seed: int) -> tuple[Settings, ...]:
    """Kept, because spreading it takes most of the time of a look at a search."""
    return LatinHypercube(size=size, seed=seed).draft(factors).rows


def space_of(factors: Sequence[FactorSpec], seed: int) -> Space:
    """The space of an experiment's factors."""
    return Space(
        tuple(
            Axis(
                spec.factor(),
                start=(spec.levels or spec.categories or ())[0],
                cores=kind_of(spec.field) is Kind.CORES,
            )
            for spec in factors
        ),
        seed,
    )
