"""Ordinary and ridge regression on products of coded columns: the seeds' ANOVA model, polynomials, ridge.

Least squares on row means in coded units. The variance of a prediction follows from the design: it grows with the
leverage of the setting, and with it the bound far from the rows that were run.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coxswain.core.models.encoding import Encoding, interaction_terms, polynomial_terms, products
from coxswain.core.models.families.base import Setting, Spread, Value, Variances
from coxswain.core.models.observations import Rows
from coxswain.core.models.scales import Scale, usable_scales
from coxswain.core.models.types import Floats

Terms = list[tuple[int, ...]]
TermsOf = Callable[[Encoding, int], Terms]

# A model may have a term for every so many rows; with more it explains each row by itself.
ROWS_A_TERM = 1.5


@dataclass(frozen=True)
class LinearFamily:
    """Least squares on the terms that `terms_of` gives for each of `degrees`, with each of `penalties`."""

    name: str
    terms_of: TermsOf
    degrees: tuple[int, ...]
    penalties: tuple[float, ...] = (0.0,)
    any_scale: bool = True
    """Whether scales other than the response's own are tried."""

    def axes(self, rows: Rows) -> Mapping[str, Sequence[Value]]:
        """Degrees that the rows can carry, and scales."""
        encoding = Encoding(rows.factors, log=False)
        degrees = [
            degree
            for degree in self.degrees
            if self.penalties[0] > 0 or ROWS_A_TERM * len(self.terms_of(encoding, degree)) <= len(rows)
        ]
        if not degrees:
            return {}
        scales = scales_for(rows) if self.any_scale else [rows.scale]
        return {"scale": scales, "degree": degrees, "penalty": self.penalties}

    def fit(self, rows: Rows, setting: Setting, spread: Spread | None = None) -> "LinearRegressor":  # noqa: ARG002
        """Solve the (penalised) normal equations; the intercept is never penalised."""
        encoding = Encoding(rows.factors, log=False)
        terms = self.terms_of(encoding, int(setting["degree"]))
        matrix = products(encoding.columns(rows.settings), terms)
        penalty = np.full(len(terms), float(setting["penalty"]))
        penalty[0] = 0.0
        inverse = np.asarray(np.linalg.pinv(matrix.T @ matrix + np.diag(penalty), hermitian=True), dtype=float)
        coefficients = inverse @ matrix.T @ rows.mean
        effective = float(np.sum((matrix @ inverse) * matrix))
        dof = max(1.0, len(rows) - effective)
        noise = max(float(np.sum((rows.mean - matrix @ coefficients) ** 2)) / dof, rows.least_noise)
        return LinearRegressor(
            encoding=encoding,
            terms=terms,
            coefficients=coefficients,
            inverse=inverse,
            row_noise=noise,
            run_noise=noise + rows.extra_noise,
            dof=dof,
        )


def scales_for(rows: Rows) -> list[Scale]:
    """The scales to try; shares stay on their log-odds."""
    return [Scale.LOGIT] if rows.scale is Scale.LOGIT else list(usable_scales(rows.scale.inverse(rows.values)))


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixRegressor(ABC):
    """How sure the predictions of a model are that is linear in its coefficients, or nearly so where they are.

    `inverse` is that of the (penalised) normal equations.
    """

    inverse: Floats
    row_noise: float
    run_noise: float
    dof: float

    @abstractmethod
    def matrix(self, settings: Floats) -> Floats:
        """By how much the prediction at each setting changes with each coefficient."""

    def variances(self, settings: Floats) -> Variances:
        """Leverage times the noise of a row's mean, and the noise of a single run."""
        matrix = self.matrix(settings)
        leverage = np.sum((matrix @ self.inverse) * matrix, axis=1)
        return Variances(self.row_noise * leverage, np.full(len(settings), self.run_noise))

    def covariance(self, settings: Floats) -> Floats:
        """Covariance of the predictions' errors."""
        matrix = self.matrix(settings)
        return self.row_noise * (matrix @ self.inverse @ matrix.T)


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearRegressor(MatrixRegressor):
    """Coefficients of products of coded columns."""

    encoding: Encoding
    terms: Terms
    coefficients: Floats

    def mean(self, settings: Floats) -> Floats:
        """The predictions."""
        return self.matrix(settings) @ self.coefficients

    def matrix(self, settings: Floats) -> Floats:
        """The products themselves."""
        return products(self.encoding.columns(settings), self.terms)


def _interactions(encoding: Encoding, order: int) -> Terms:
    return interaction_terms(encoding.owner, order)


LINEAR = LinearFamily("linear", _interactions, degrees=(2, 1, 3), any_scale=False)
POLYNOMIAL = LinearFamily("polynomial", polynomial_terms, degrees=(2, 1, 3))
RIDGE = LinearFamily("ridge", polynomial_terms, degrees=(2, 1), penalties=(1.0, 0.1, 10.0))
