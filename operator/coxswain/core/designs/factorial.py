"""Factorials: every combination of levels, or a well-chosen fraction of those of two levels.

A full factorial sees every interaction but grows fast. A regular fraction keeps one half, quarter, eighth, … of the 2^k
rows, and pays with aliases, which `words` computes. Where all factors have two levels a full factorial is the fraction
without words, so it can be blocked in the same way.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coxswain.core.designs.base import DesignOptions, Draft
from coxswain.core.designs.generators import parse_effect, parse_generator, smallest_fraction
from coxswain.core.designs.placing import at_extremes
from coxswain.core.designs.words import Fraction
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor

ALL = "All"
"""Fold over on all factors."""


@dataclass(frozen=True, kw_only=True)
class FullFactorial(DesignOptions):
    """Every combination of all levels and categories; the first factor changes fastest."""

    def draft(self, factors: Sequence[Factor]) -> Draft:
        """All combinations."""
        self.require_room(math.prod(len(factor.values) for factor in factors))
        reversed_rows = itertools.product(*(factor.values for factor in reversed(factors)))
        two_levels = all(len(factor.values) == 2 for factor in factors)
        return Draft(
            rows=tuple(row[::-1] for row in reversed_rows),
            fraction=Fraction(len(factors)) if two_levels else None,
        )


@dataclass(frozen=True, kw_only=True)
class FractionalFactorial(DesignOptions):
    """A two-level fraction, by its generators or by the resolution it must have at least."""

    generators: tuple[str, ...] = ()
    resolution: int | None = None
    fold_over: str | None = None
    """All, or one factor: adds the mirror image in it, which frees effects of aliases."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.generators) == (self.resolution is not None):
            raise InputError("FractionalFactorial: give either generators or a resolution.")
        if self.resolution is not None and self.resolution < 3:
            raise InputError(f"resolution is {self.resolution}; give 3 or more.")

    def draft(self, factors: Sequence[Factor]) -> Draft:
        """The rows of the fraction, then those of its mirror image if it is folded over."""
        names = [factor.name for factor in factors]
        if self.resolution is not None:
            fraction = smallest_fraction(len(factors), self.resolution)
        else:
            fraction = Fraction.of(len(factors), (parse_generator(text, names) for text in self.generators))
        draft = regular(self, factors, fraction, self.fold_over)
        if self.resolution is None or fraction.words:
            return draft
        note = f"No fraction of {len(factors)} factors has resolution {self.resolution}; this is the full factorial."
        return Draft(draft.rows, draft.fraction, notes=(*draft.notes, note))


def regular(options: DesignOptions, factors: Sequence[Factor], fraction: Fraction, fold_over: str | None) -> Draft:
    """The rows of a regular fraction at the extremes of its factors."""
    doubled = fold_over is not None
    options.require_room(1 << (len(fraction.basic) + doubled))
    signs = fraction.columns()
    if fold_over is not None:
        mask = fold_mask(fold_over, factors)
        before, fraction = fraction, fraction.folded(mask)
        if len(fraction.words) == len(before.words):
            raise InputError(f"foldOver {fold_over}: the mirror image has the same rows; fold over on another factor.")
        signs = np.vstack([signs, signs * mirror(mask, len(factors))])
    rows, notes = at_extremes(factors, signs)
    return Draft(rows, fraction, notes=notes)


def fold_mask(fold_over: str, factors: Sequence[Factor]) -> int:
    """The factors to mirror, as bits: all of them, or one by its name or letter."""
    if fold_over == ALL:
        return (1 << len(factors)) - 1
    mask = parse_effect(fold_over, [factor.name for factor in factors])
    if mask.bit_count() != 1:
        raise InputError(f"foldOver is {fold_over!r}; give {ALL} or one factor.")
    return mask


def mirror(mask: int, count: int) -> np.ndarray:
    """-1 for the factors of `mask`, +1 for the others."""
    return np.array([-1 if mask >> index & 1 else 1 for index in range(count)])
