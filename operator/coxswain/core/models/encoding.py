"""Settings as columns of numbers: coded units for numbers, sum-to-zero contrasts for categories.

Every number lies in [-1, 1] within the range that was measured, placed linearly or, where all its levels are above 0,
by its logarithm: doubling the workers then counts the same from 1 to 2 as from 4 to 8. `owner` tells which factor a
column belongs to, so that interactions multiply columns of different factors only and a length scale is one a factor.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement

import numpy as np

from coxswain.core.factors import Coding, Factor
from coxswain.core.models.types import Floats, Ints


@dataclass(frozen=True)
class Encoding:
    """How the settings of some factors become columns; `log` places numbers by their logarithm where it can."""

    factors: tuple[Factor, ...]
    log: bool

    @cached_property
    def owner(self) -> Ints:
        """The number of the factor that each column belongs to."""
        widths = [1 if factor.is_numeric else len(factor.categories) - 1 for factor in self.factors]
        return np.repeat(np.arange(len(widths)), widths)

    def columns(self, settings: Floats) -> Floats:
        """The columns of settings."""
        none = np.empty((len(settings), 0))  # nothing may have been varied
        return np.hstack([none, *(self._columns_of(index, settings[:, index]) for index in range(len(self.factors)))])

    def _columns_of(self, index: int, values: Floats) -> Floats:
        factor = self.factors[index]
        if factor.is_numeric:
            return coded(factor, values, log=self.log)[:, None]
        contrasts = np.vstack([np.eye(len(factor.categories) - 1), -np.ones(len(factor.categories) - 1)])
        return np.asarray(contrasts[values.astype(int)], dtype=float)


def coded(factor: Factor, values: Floats, *, log: bool) -> Floats:
    """Numeric values in coded units: -1 at the lowest level measured, +1 at the highest."""
    by_logarithm = factor.levels[0] > 0 and (log or factor.coding is Coding.LOG)
    place = np.log if by_logarithm else np.asarray
    low, high = place(factor.levels[0]), place(factor.levels[-1])
    return np.asarray((2 * place(values) - low - high) / (high - low), dtype=float)


def interaction_terms(owner: Ints, order: int) -> list[tuple[int, ...]]:
    """Products of columns of different factors up to an order, the intercept first."""
    columns = range(len(owner))
    return [
        term
        for size in range(order + 1)
        for term in combinations(columns, size)
        if len({owner[column] for column in term}) == size
    ]


def polynomial_terms(encoding: Encoding, degree: int) -> list[tuple[int, ...]]:
    """Products up to a degree, powers of numeric columns among them, the intercept first.

    A power beyond what the levels of a factor can tell apart is left out, and so is a product of two contrasts of
    one category.
    """
    limits = [
        min(degree, len(encoding.factors[factor].levels) - 1) if encoding.factors[factor].is_numeric else 1
        for factor in encoding.owner
    ]
    return [
        term
        for size in range(degree + 1)
        for term in combinations_with_replacement(range(len(limits)), size)
        if all(term.count(column) <= limits[column] for column in term)
        and len({encoding.owner[column] for column in term}) == len(set(term))
    ]


def products(columns: Floats, terms: Sequence[tuple[int, ...]]) -> Floats:
    """A matrix with a column for each term: the product of the columns it names."""
    return np.column_stack([np.prod(columns[:, list(term)], axis=1) for term in terms])
