"""The model matrix: what each term contributes to each measurement, always in coded units.

A numeric factor gives one column, -1 at its lowest level and +1 at its highest. A factor with k categories gives k - 1
columns with sum-to-zero contrasts: 1 for its own category, -1 for the first, so that with two categories, as with two
levels, a coefficient is half the difference between them. An interaction has the products of its factors' columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product as cartesian

import numpy as np
import numpy.typing as npt
import pandas as pd

from coxswain.core.analysis.terms import Term
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor

Array = npt.NDArray[np.float64]

INTERCEPT = "Intercept"


@dataclass(frozen=True)
class Column:
    """One column: the product of its parts, which are a factor's power or one of its categories."""

    term: Term | None  # None is the intercept
    parts: tuple[tuple[str, int | str], ...] = ()

    @property
    def name(self) -> str:
        """Like the term's name, with categories in brackets: `cores:network[deep]`."""
        if self.term is None:
            return INTERCEPT
        names = (
            f"{factor}[{part}]" if isinstance(part, str) else factor if part == 1 else f"{factor}^{part}"
            for factor, part in self.parts
        )
        return ":".join(names)


@dataclass(frozen=True)
class ModelMatrix:
    """The columns of a model, which can be evaluated at any settings."""

    factors: tuple[Factor, ...]
    columns: tuple[Column, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms that have at least one column, in order."""
        return tuple(term for term in self._places if term is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)

    def of(self, *terms: Term) -> list[int]:
        """The places of the columns that belong to any of the terms."""
        return [place for term in terms for place in self._places[term]]

    @cached_property
    def _places(self) -> dict[Term | None, list[int]]:
        places: dict[Term | None, list[int]] = {}
        for place, column in enumerate(self.columns):
            places.setdefault(column.term, []).append(place)
        return places

    def at(self, settings: pd.DataFrame) -> Array:
        """The columns' values at settings in natural units, one row for each row of the table."""
        pieces: dict[tuple[str, int | str], Array] = {}
        for factor in self.factors:
            if factor.name not in settings:
                raise InputError(f"the settings have no value for factor {factor.name}; give one for every factor.")
            pieces |= _pieces(factor, settings[factor.name])
        values = np.ones((len(settings), len(self.columns)))
        for place, column in enumerate(self.columns):
            for factor_name, part in column.parts:
                piece = pieces[factor_name, part] if isinstance(part, str) else pieces[factor_name, 1] ** part
                values[:, place] *= piece
        return values

    def keep(self, places: Sequence[int]) -> "ModelMatrix":
        """The matrix with only some of its columns."""
        return ModelMatrix(self.factors, tuple(self.columns[place] for place in places))


def model_matrix(factors: Sequence[Factor], terms: Sequence[Term]) -> ModelMatrix:
    """The intercept, then the columns of each term."""
    parts = {factor.name: factor.categories[1:] for factor in factors}
    columns = [Column(None)]
    for term in terms:
        choices = [[(name, part) for part in (parts[name] or (power,))] for name, power in term.powers]
        columns += [Column(term, chosen) for chosen in cartesian(*choices)]
    return ModelMatrix(tuple(factors), tuple(columns))


def _pieces(factor: Factor, values: pd.Series) -> dict[tuple[str, int | str], Array]:
    if factor.is_numeric:
        distinct, places = np.unique(values.to_numpy(dtype=float), return_inverse=True)
        return {(factor.name, 1): np.array([factor.code(value) for value in distinct])[places]}
    names = values.to_numpy(dtype=str)
    unknown = sorted(set(names) - set(factor.categories))
    if unknown:
        known = ", ".join(factor.categories)
        raise InputError(f"factor {factor.name} has no category {unknown[0]}; its categories are {known}.")
    first = names == factor.categories[0]
    return {(factor.name, category): (names == category).astype(float) - first for category in factor.categories[1:]}
