"""The linear model that a design is to be analysed with: which terms, and their columns for given settings.

Every column is a product of basic columns: the constant, a numeric factor in coded units, or one of the contrasts of a
factor's categories. Contrasts add up to zero over the categories, are orthogonal, and have mean square 1, so that in a
balanced design all columns are orthogonal and of the same length, like those of two levels.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coxswain.core.designs.base import Settings
from coxswain.core.factors import Factor


@dataclass(frozen=True)
class Term:
    """A main effect, an interaction or a square: the factors that are multiplied, by index."""

    factors: tuple[int, ...]
    columns: slice
    """Its columns in the model matrix."""


@dataclass(frozen=True)
class LinearModel:
    """The constant, all terms up to an order, and the squares of some numeric factors."""

    factors: tuple[Factor, ...]
    interactions: int = 1
    """The largest number of factors in a term; 1 is main effects only."""
    squared: tuple[int, ...] = ()
    """Which factors have a square, by index."""

    @cached_property
    def basic_columns(self) -> tuple[range, ...]:
        """Which basic columns each factor has; column 0 is the constant."""
        widths = [1 if factor.is_numeric else len(factor.categories) - 1 for factor in self.factors]
        ends = list(itertools.accumulate(widths, initial=1))
        return tuple(range(start, end) for start, end in itertools.pairwise(ends))

    @cached_property
    def _products(self) -> tuple[tuple[tuple[int, ...], list[tuple[int, ...]]], ...]:
        """Of each term its factors, and of each of its columns the basic columns that are multiplied."""
        count = len(self.factors)
        sizes = range(1, min(self.interactions, count) + 1)
        members = [*itertools.chain(*(itertools.combinations(range(count), size) for size in sizes))]
        members += [(index, index) for index in self.squared]
        return tuple((m, list(itertools.product(*(self.basic_columns[index] for index in m)))) for m in members)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """All terms but the constant, short ones first, squares last."""
        ends = itertools.accumulate((len(columns) for _, columns in self._products), initial=1)
        return tuple(
            Term(members, slice(start, end))
            for (members, _), (start, end) in zip(self._products, itertools.pairwise(ends), strict=True)
        )

    @cached_property
    def _multiplied(self) -> NDArray[np.int64]:
        """Basic columns by column of the model matrix; filled up with the constant."""
        products = [(), *(product for _, columns in self._products for product in columns)]
        depth = max(map(len, products))
        return np.array([product + (0,) * (depth - len(product)) for product in products])

    @property
    def size(self) -> int:
        """The number of coefficients, the constant's included."""
        return len(self._multiplied)

    def name(self, term: Term) -> str:
        """The term by its factors, such as cores:batch_size or cores^2."""
        names = [self.factors[index].name for index in term.factors]
        return f"{names[0]}^2" if len(names) == 2 and len(set(names)) == 1 else ":".join(names)

    def basis(self, rows: Sequence[Settings]) -> NDArray[np.float64]:
        """The basic columns of these settings."""
        columns = [np.ones((len(rows), 1))]
        for index, factor in enumerate(self.factors):
            if factor.is_numeric:
                columns.append(np.array([[factor.code(float(row[index]))] for row in rows]).reshape(-1, 1))
            else:
                places = [factor.categories.index(str(row[index])) for row in rows]
                columns.append(contrasts(len(factor.categories))[places])
        return np.hstack(columns)

    def matrix(self, basis: NDArray[np.float64]) -> NDArray[np.float64]:
        """The model matrix of rows given by their basic columns."""
        columns: NDArray[np.float64] = basis[:, self._multiplied].prod(axis=2)
        return columns


def contrasts(count: int) -> NDArray[np.float64]:
    """Helmert contrasts of categories, a row each, scaled to mean square 1."""
    matrix = np.zeros((count, count - 1))
    for column in range(count - 1):
        below = column + 1
        matrix[:below, column] = -1
        matrix[below, column] = below
        matrix[:, column] *= np.sqrt(count / (below * (below + 1)))
    return matrix
