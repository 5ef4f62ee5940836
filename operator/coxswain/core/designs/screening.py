"""Screening designs: many factors, few runs, to find the few factors that matter.

Plackett and Burman's designs (1946) estimate up to n-1 main effects in n runs, n a multiple of 4, and leave each main
effect partly aliased with every interaction that does not contain it. With 8, 16 or 32 runs they are regular fractions
and made as such. Jones and Nachtsheim's definitive screening designs (2011) have three levels: a conference matrix, its
mirror image and the centre. Their main effects are orthogonal, and clear of all two-factor interactions and squares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from coxswain.core.designs.base import DesignOptions, Draft
from coxswain.core.designs.factorial import fold_mask, mirror, regular
from coxswain.core.designs.matrices import (
    LARGEST_CONFERENCE,
    Matrix,
    conference,
    doubled,
    hadamard_from_conference,
    legendre,
)
from coxswain.core.designs.placing import at_extremes, at_places
from coxswain.core.designs.words import Fraction, Word
from coxswain.core.errors import InputError
from coxswain.core.factors import MOST_LETTERS, Factor

SMALLEST_PLACKETT_BURMAN = 8
LARGEST_PLACKETT_BURMAN = 48


@dataclass(frozen=True, kw_only=True)
class PlackettBurman(DesignOptions):
    """A two-level screening design for main effects in a multiple of 4 rows."""

    size: int | None = None
    """Rows, a multiple of 4 from 8 to 48; None is the smallest that holds the factors."""
    fold_over: str | None = None
    """All, or one factor: adds the mirror image in it; All frees main effects of two-factor interactions."""

    def draft(self, factors: Sequence[Factor]) -> Draft:
        """The first columns of the design of this size."""
        size = self._size(len(factors))
        if _is_power_of_two(size) and len(factors) <= MOST_LETTERS:
            return regular(self, factors, _regular_fraction(len(factors), size), self.fold_over)
        self.require_room(size * (2 if self.fold_over else 1))
        signs = plackett_burman(size)[:, : len(factors)]
        mask = fold_mask(self.fold_over, factors) if self.fold_over else 0
        if mask:
            signs = np.vstack([signs, signs * mirror(mask, len(factors))])
        rows, notes = at_extremes(factors, signs)
        note = (
            "Main effects are clear of two-factor interactions, which are partly aliased with each other."
            if mask.bit_count() == len(factors)
            else "Each main effect is partly aliased with the two-factor interactions of the other factors."
        )
        return Draft(rows, notes=(*notes, note))

    def _size(self, factors: int) -> int:
        smallest = max(SMALLEST_PLACKETT_BURMAN, factors + 4 - factors % 4)
        size = smallest if self.size is None else self.size
        if size % 4 or not smallest <= size <= LARGEST_PLACKETT_BURMAN:
            raise InputError(
                f"PlackettBurman: {factors} factors and runs {size}; runs must be a multiple of 4, "
                f"more than the factors, from {SMALLEST_PLACKETT_BURMAN} to {LARGEST_PLACKETT_BURMAN}."
            )
        if _is_power_of_two(size) and 1 << factors < size:
            raise InputError(
                f"PlackettBurman: {factors} factors have only {1 << factors} combinations, fewer than {size} rows; "
                "use FullFactorial with replications."
            )
        return size


@dataclass(frozen=True, kw_only=True)
class DefinitiveScreening(DesignOptions):
    """A three-level screening design of numeric factors: pairs of mirrored rows, and the centre.

    Squares are not in its model: with 2k + 1 rows they would leave no error, they are entangled with interactions, and
    main effects, which it is for, are clear of them. What each would add is told beside the analysis.
    """

    least_factors: ClassVar[int] = 3

    def draft(self, factors: Sequence[Factor]) -> Draft:
        """A conference matrix, each row followed by its mirror image."""
        self.require_numeric(factors)
        if len(factors) > LARGEST_CONFERENCE:
            raise InputError(f"DefinitiveScreening takes up to {LARGEST_CONFERENCE} factors, not {len(factors)}.")
        matrix = conference(max(4, len(factors)))[:, : len(factors)]
        self.require_room(2 * len(matrix))
        pairs = np.stack([matrix, -matrix], axis=1).reshape(-1, len(factors))
        rows, notes = at_places(factors, pairs.astype(float))
        return Draft(rows, center_points=1, notes=notes)


def plackett_burman(size: int) -> Matrix:
    """The rows of -1 and +1 with all size-1 columns, for every size but 16.

    Where size-1 is prime these are Plackett and Burman's own: a column, all its cyclic shifts, and a row of -1.
    """
    match size:
        case 28 | 36:
            square = hadamard_from_conference(conference(size // 2))
        case 40:
            square = doubled(_bordered(plackett_burman(20)))
        case _:
            first = legendre(size - 1)
            shifts = np.column_stack([np.roll(first, shift) for shift in range(size - 1)])
            return np.vstack([shifts, -np.ones(size - 1, dtype=np.int64)])
    # A Hadamard matrix keeps its orthogonality if rows change their signs: make the first column the constant.
    return (square * square[:, :1])[:, 1:]


def _bordered(design: Matrix) -> Matrix:
    return np.hstack([np.ones((len(design), 1), dtype=np.int64), design])


def _regular_fraction(factors: int, size: int) -> Fraction:
    """The fraction of `factors` columns among the size-1 products of log2(size) basic ones.

    Products of an odd number of basic factors go first: among those alone no three multiply to the identity, so that
    up to size/2 factors have resolution IV.
    """
    basic = size.bit_length() - 1
    products = sorted(
        (Word(mask) for mask in range(1, size) if mask.bit_count() > 1),
        key=lambda word: (word.mask.bit_count() % 2 == 0, word.sort_key),
    )
    last = range(basic, factors)
    return Fraction.of(factors, (Word(1 << index) * word for index, word in zip(last, products, strict=False)))


def _is_power_of_two(size: int) -> bool:
    return size.bit_count() == 1
