"""Designs for curved responses: where is the best setting between the levels?

A central composite design (Box and Wilson 1951) is a two-level factorial, a pair of axial points for each factor at a
distance alpha from the centre, and the centre several times. A Box-Behnken design (1960) moves two or three factors at
a time and keeps the others in the middle; it never runs a corner, where all factors are extreme at once.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from coxswain.core.designs.base import DesignOptions, Draft
from coxswain.core.designs.generators import LARGEST_TABLE, smallest_fraction
from coxswain.core.designs.placing import at_places
from coxswain.core.designs.words import Fraction
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor


class Alpha(StrEnum):
    """How far from the centre the axial points are, in coded units where the corners are at -1 and +1."""

    FACE = "Face"
    """1: at the levels given, as are the corners; three levels."""
    ROTATABLE = "Rotatable"
    """So that the prediction is equally sure at equal distances from the centre; five levels."""
    ORTHOGONAL = "Orthogonal"
    """So that the coefficients of the squares are uncorrelated; five levels."""


@dataclass(frozen=True, kw_only=True)
class CentralComposite(DesignOptions):
    """A second-order design of numeric factors: a factorial, axial points and the centre.

    From five factors on the factorial is the smallest fraction of resolution V, which still estimates every
    second-order term.
    """

    least_factors: ClassVar[int] = 2

    alpha: Alpha = Alpha.FACE
    inscribed: bool = False
    """Whether the axial points are at the levels given and the corners drawn in, so that none lies beyond them."""

    def squared(self, factors: Sequence[Factor]) -> tuple[int, ...]:
        """All factors."""
        return tuple(range(len(factors)))

    def draft(self, factors: Sequence[Factor]) -> Draft:
        """The factorial, then the axial points, factor by factor."""
        self.require_numeric(factors)
        count = len(factors)
        if count > LARGEST_TABLE:
            raise InputError(f"CentralComposite takes 2 to {LARGEST_TABLE} factors, not {count}; use LatinHypercube.")
        core = Fraction(count) if count < 5 else smallest_fraction(count, resolution=5)
        corners = 1 << len(core.basic)
        centers = self.center_points or _uniform_precision(count, corners)
        self.require_room(corners + 2 * count + centers)
        alpha = self._distance(corners, corners + 2 * count + centers)
        axial = np.kron(np.eye(count), np.array([[-alpha], [alpha]]))
        places = np.vstack([core.columns().astype(float), axial])
        rows, notes = at_places(factors, places / alpha if self.inscribed else places)
        return Draft(rows, center_points=centers, notes=(*notes, *self._notes(core, alpha)))

    def _distance(self, corners: int, runs: int) -> float:
        match self.alpha:
            case Alpha.FACE:
                return 1.0
            case Alpha.ROTATABLE:
                return float(corners**0.25)
            case Alpha.ORTHOGONAL:
                return math.sqrt((math.sqrt(corners * runs) - corners) / 2)

    def _notes(self, core: Fraction, alpha: float) -> list[str]:
        notes = []
        if core.words:
            notes.append(f"Its factorial part is the fraction {', '.join(core.generators)}.")
        if alpha > 1 and not self.inscribed:
            notes.append(f"The axial points lie beyond the levels given, at {alpha:.4g} in coded units.")
        return notes


# Which factors move together while the others stay in the middle (Box and Behnken 1960), and the usual centre points.
_TOGETHER: dict[int, tuple[tuple[tuple[int, ...], ...], int]] = {
    3: (tuple(itertools.combinations(range(3), 2)), 3),
    4: (tuple(itertools.combinations(range(4), 2)), 3),
    5: (tuple(itertools.combinations(range(5), 2)), 6),
    6: (((0, 1, 3), (1, 2, 4), (2, 3, 5), (0, 3, 4), (1, 4, 5), (0, 2, 5)), 6),
    7: (((3, 4, 5), (0, 5, 6), (1, 4, 6), (0, 1, 3), (2, 3, 6), (0, 2, 4), (1, 2, 5)), 6),
}


@dataclass(frozen=True, kw_only=True)
class BoxBehnken(DesignOptions):
    """A second-order design of 3 to 7 numeric factors at three levels without corners."""

    least_factors: ClassVar[int] = 3

    def squared(self, factors: Sequence[Factor]) -> tuple[int, ...]:
        """All factors."""
        return tuple(range(len(factors)))

    def draft(self, factors: Sequence[Factor]) -> Draft:
        """All corners of each group of factors that move together."""
        self.require_numeric(factors)
        count = len(factors)
        if count not in _TOGETHER:
            raise InputError(f"BoxBehnken takes 3 to {max(_TOGETHER)} factors, not {count}; use CentralComposite.")
        groups, centers = _TOGETHER[count]
        rows, notes = at_places(factors, np.vstack([_corners(group, count) for group in groups]))
        self.require_room(len(rows))
        return Draft(rows, center_points=centers, notes=notes)


def _corners(group: Sequence[int], count: int) -> NDArray[np.float64]:
    places = np.zeros((1 << len(group), count))
    places[:, list(group)] = Fraction(len(group)).columns()
    return places


def _uniform_precision(count: int, corners: int) -> int:
    """The centre points that make a rotatable design about as sure at the centre as at distance 1 (Box and Hunter)."""
    fourth_moment = (count + 3 + math.sqrt(9 * count**2 + 14 * count - 7)) / (4 * (count + 2))
    return round(fourth_moment * (math.sqrt(corners) + 2) ** 2 - corners - 2 * count)
