"""Least squares with what an analysis of variance needs: which columns can be estimated, and against which error.

Columns are taken in order; one that the columns before it already determine is aliased with them, and is left out and
named. The rest has one solution. Everything an analysis asks next (sums of squares, variances, leverages, smaller
models) follows from the coefficients and the inverse of the normal equations, so these are computed once, here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular

from coxswain.core.analysis.matrix import Array, ModelMatrix, model_matrix
from coxswain.core.analysis.sample import Sample
from coxswain.core.analysis.terms import Term, main_effect
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor

# A column whose part outside the span of those before it is smaller than this share of it is aliased with them.
ALIASED = 1e-8
# Residuals below this share of the response's variation are rounding: the model fits exactly.
EXACT = 1e-20


@dataclass(frozen=True)
class ErrorTerm:
    """What effects are compared with: a sum of squares nobody explains, and its degrees of freedom."""

    name: str
    sum_sq: float
    df: int

    @property
    def mean_sq(self) -> float:
        """The variance it estimates; not a number where nothing is left to estimate it from."""
        return self.sum_sq / self.df if self.df else float("nan")


@dataclass(frozen=True)
class Alias:
    """A column that the design cannot tell from others: it equals their sum, each times its number."""

    name: str
    term: Term
    equals: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model; `columns` has the matrix' values, row by row."""

    sample: Sample
    matrix: ModelMatrix
    aliases: tuple[Alias, ...]
    columns: Array
    coefficients: Array
    inverse: Array  # of X'X times the weight: the coefficients' covariance is the error's variance times this

    @cached_property
    def residuals(self) -> Array:
        """What the model leaves of each value."""
        residuals = self.sample.y - self.columns @ self.coefficients
        if self.saturated or self.sample.weight * residuals @ residuals <= EXACT * self.sample.total_sum_sq:
            return np.zeros_like(residuals)
        return residuals

    @property
    def saturated(self) -> bool:
        """Whether every value is needed for a coefficient, so that none is left for an error."""
        return len(self.sample.y) == len(self.coefficients) and not self.sample.is_of_means

    @property
    def exact(self) -> bool:
        """Whether nothing is left to estimate an error from: no degrees of freedom, or no residuals but rounding."""
        return not self.residual.sum_sq > 0

    @cached_property
    def residual(self) -> ErrorTerm:
        """Everything the model leaves, pure error included."""
        known = self.sample.pure_error
        left = self.sample.weight * float(self.residuals @ self.residuals)
        return ErrorTerm("Residual", left + known.sum_sq, len(self.residuals) - len(self.coefficients) + known.df)

    @cached_property
    def strata(self) -> tuple[ErrorTerm, ...]:
        """The errors apart: within units, then, in a split plot, between units."""
        if not self.sample.split_plot:
            return (self.residual,)
        members = (self.sample.units[:, None] == np.unique(self.sample.units)).astype(float)
        beyond = self.unexplained(members)
        kept, basis, _ = independent_columns(beyond, np.linalg.norm(members, axis=0))
        units = ErrorTerm("Units", float(np.sum((basis.T @ self.residuals) ** 2)), len(kept))
        within = ErrorTerm("Residual", max(self.residual.sum_sq - units.sum_sq, 0.0), self.residual.df - units.df)
        return within, units

    @cached_property
    def errors(self) -> tuple[ErrorTerm, ...]:
        """The error each column is compared with: between units if it is the same throughout each of them."""
        if not self.sample.split_plot:
            return (self.residual,) * len(self.coefficients)
        within, units = self.strata
        ranges = pd.DataFrame(self.columns).groupby(self.sample.units).agg(np.ptp).max()
        return tuple(units if spread < ALIASED else within for spread in ranges)

    @cached_property
    def leverage(self) -> Array:
        """How far one single measurement pulls the fit at its settings towards itself, from 0 to 1."""
        leverage: Array = np.sum(self.columns @ self.inverse * self.columns, axis=1)
        return leverage

    @property
    def s(self) -> float:
        """The standard deviation of a single measurement."""
        return float(np.sqrt(self.strata[0].mean_sq))

    @property
    def r2(self) -> float:
        """The share of the variation that the model explains."""
        return 1 - self.residual.sum_sq / self.sample.total_sum_sq

    @property
    def r2_adjusted(self) -> float:
        """The same by variances rather than sums of squares, so that a useless term does not raise it."""
        total_df = self.residual.df + len(self.coefficients) - 1
        return 1 - self.residual.mean_sq / (self.sample.total_sum_sq / total_df)

    @property
    def r2_predicted(self) -> float:
        """The share explained of measurements left out of the fit one by one (PRESS)."""
        if self.saturated or (self.leverage > 1 - 1e-9).any():
            return float("nan")
        known = self.sample.pure_error
        squares = self.sample.weight * self.residuals**2 + known.sum_sq / len(self.residuals)
        return float(1 - np.sum(squares / (1 - self.leverage) ** 2) / self.sample.total_sum_sq)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The factors, without the blocks."""
        return tuple(factor for factor in self.matrix.factors if factor.name != self.sample.block)

    @property
    def block(self) -> Term | None:
        """The term of the blocks, where there are any."""
        return main_effect(self.sample.block) if self.sample.block else None

    @property
    def effects(self) -> list[int]:
        """The places of the columns that are effects: neither the intercept nor differences between blocks."""
        return [place for place, column in enumerate(self.matrix.columns) if column.term not in {None, self.block}]

    @property
    def unblocked(self) -> Array:
        """The values without what their blocks differ by."""
        places = self.matrix.of(self.block) if self.block else []
        values: Array = self.sample.y - self.columns[:, places] @ self.coefficients[places]
        return values

    def columns_at(self, settings: pd.DataFrame) -> Array:
        """The columns' values at settings of the factors, in the average block."""
        if self.block is None:
            return self.matrix.at(settings)
        any_block = self.sample.settings[self.sample.block].iloc[0]
        columns = self.matrix.at(settings.assign(**{str(self.sample.block): any_block}))
        columns[:, self.matrix.of(self.block)] = 0.0  # contrasts add up to zero over the blocks
        return columns

    def unexplained(self, values: Array) -> Array:
        """What the model's columns leave of one or several other columns."""
        rest: Array = values - self.columns @ (self.inverse @ (self.columns.T @ values)) * self.sample.weight
        return rest

    def cost_of_leaving_out(self, places: Sequence[int]) -> float:
        """How much the residual sum of squares would grow without some of the columns."""
        if not places:
            return 0.0
        chosen = self.coefficients[places]
        return float(chosen @ np.linalg.solve(self.inverse[np.ix_(places, places)], chosen))

    def leaving_out(self, term: Term) -> "Fit":
        """The same model without a term, from this one's solution alone."""
        gone = self.matrix.of(term)
        kept = [place for place in range(len(self.coefficients)) if place not in set(gone)]
        shares = np.linalg.solve(self.inverse[np.ix_(gone, gone)], self.inverse[np.ix_(gone, kept)]).T
        return replace(
            self,
            matrix=self.matrix.keep(kept),
            columns=self.columns[:, kept],
            coefficients=self.coefficients[kept] - shares @ self.coefficients[gone],
            inverse=self.inverse[np.ix_(kept, kept)] - shares @ self.inverse[np.ix_(gone, kept)],
        )


def fit_terms(sample: Sample, factors: Sequence[Factor], terms: Sequence[Term]) -> Fit:
    """Fit a model with an intercept and the given terms.

    Raises:
        InputError: if there are fewer values than coefficients, naming the first term that cannot be estimated.
    """
    matrix = model_matrix(factors, terms)
    columns = matrix.at(sample.settings)
    kept, basis, triangle = independent_columns(columns, np.linalg.norm(columns, axis=0))
    dropped = [place for place in range(len(matrix.columns)) if place not in set(kept)]
    if len(sample.y) < len(matrix.columns):
        raise InputError(
            f"{len(sample.y)} {sample.noun} cannot estimate the {len(matrix.columns)} coefficients of this model: "
            f"{matrix.names[dropped[0]]} is the first that cannot be estimated; use fewer interactions or add "
            "measurements."
        )
    shares = solve_triangular(triangle, basis.T @ columns)  # each column as a sum of those kept
    inverse_triangle = solve_triangular(triangle, np.eye(len(kept)))
    return Fit(
        sample,
        matrix.keep(kept),
        tuple(_alias(matrix, place, kept, shares[:, place]) for place in dropped),
        columns[:, kept],
        coefficients=inverse_triangle @ (basis.T @ sample.y),
        inverse=inverse_triangle @ inverse_triangle.T / sample.weight,
    )


def independent_columns(columns: Array, sizes: Array) -> tuple[list[int], Array, Array]:
    """The places of the columns that those before them do not determine, with their factorisation QR.

    A column counts if what is new in it is not negligible beside its size.
    """
    basis, triangle = np.linalg.qr(columns)
    if len(columns) >= len(sizes) and (np.abs(np.diag(triangle)) > ALIASED * sizes).all():
        return list(range(len(sizes))), basis, triangle
    # Some column is aliased. After it, the factorisation above is noise: go column by column.
    kept: list[int] = []
    basis = np.empty((len(columns), 0))
    for place, column in enumerate(columns.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)  # twice is enough to be orthogonal to rounding
        length = float(np.linalg.norm(rest))
        if length > ALIASED * sizes[place]:
            kept.append(place)
            basis = np.column_stack([basis, rest / length])
    return kept, basis, np.triu(basis.T @ columns[:, kept])


def _alias(matrix: ModelMatrix, place: int, kept: list[int], shares: Array) -> Alias:
    term = matrix.columns[place].term
    if term is None:
        raise AssertionError("the intercept comes first: nothing before it can determine it")
    names = (matrix.names[other] for other in kept)
    equals = tuple((name, float(share)) for name, share in zip(names, shares, strict=True) if abs(share) > 1e-6)
    return Alias(matrix.names[place], term, equals)
