"""What a job takes as a sum of parts: a start, work that is shared, work that is not.

Each part is a product of powers of the settings, so its logarithm is linear in theirs, and the whole is the logarithm
of a sum of exponentials. Two or three parts say much that log-log regression needs many interactions for: that more
workers help until what they cannot share is all there is, and that no setting is faster than the start.

Coefficients are the most plausible ones under a weak prior, found by nonlinear least squares from several starts. How
sure they are follows from the matrix of slopes there, as in linear regression, and so does what is predicted of rows
left out: the fit is not made anew without them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from coxswain.core.models.encoding import Encoding
from coxswain.core.models.families.base import Setting, Spread, Value, Variances
from coxswain.core.models.families.least_squares import MatrixRegressor
from coxswain.core.models.observations import Rows
from coxswain.core.models.scales import Scale, usable_scales
from coxswain.core.models.types import Floats, Ints

# Of the prior: by how much the logarithm of a part changes over half of a factor's range, and how far its level lies
# from an equal share of what is usual.
SLOPE, LEVEL = 1.0, 2.0
# As many parts as the rows can tell apart: so many rows for each coefficient.
ROWS_A_COEFFICIENT = 2
STARTS = 4
# How far starts lie from a single product of powers, in units of the prior.
APART = 0.5
# Coefficients and noise depend on each other, and are found in turns.
ROUNDS = 3
EVALUATIONS, TOLERANCE = 40, 1e-5


@dataclass(frozen=True)
class PartsFamily:
    """Sums of two or three parts."""

    name: str = "parts"

    def axes(self, rows: Rows) -> Mapping[str, Sequence[Value]]:
        """How many parts; none for few rows, or for a response that is a share or not positive."""
        coefficients = 1 + len(Encoding(rows.factors, log=True).owner)
        parts = [parts for parts in (2, 3) if ROWS_A_COEFFICIENT * parts * coefficients <= len(rows)]
        positive = Scale.LOG in usable_scales(rows.scale.inverse(rows.values))
        if rows.scale is Scale.LOGIT or not positive or not parts:
            return {}
        return {"scale": [Scale.LOG], "parts": parts}

    def fit(self, rows: Rows, setting: Setting, spread: Spread | None = None) -> "PartsRegressor":  # noqa: ARG002
        """Find the most plausible parts."""
        encoding = Encoding(rows.factors, log=True)
        matrix = _with_level(encoding.columns(rows.settings))
        parts = int(setting["parts"])
        usual, spreads = np.zeros((parts, matrix.shape[1])), np.full((parts, matrix.shape[1]), SLOPE)
        usual[:, 0], spreads[:, 0] = float(rows.mean.mean()) - np.log(parts), LEVEL
        search = _Search(matrix, rows.mean, usual, spreads, rows.least_noise)
        found = max((search.find(start) for start in search.starts()), key=search.plausibility)
        return PartsRegressor(
            encoding=encoding,
            coefficients=found.coefficients,
            inverse=found.inverse,
            row_noise=found.noise,
            run_noise=found.noise + rows.extra_noise,
            dof=found.dof,
        )

    def left_out(self, regressor: "PartsRegressor", rows: Rows, folds: Ints) -> tuple[Floats, Variances]:
        """Predictions of each row without its fold, as of a linear model with the slopes of the fit to all rows."""
        mean, slopes = regressor.mean(rows.settings), regressor.matrix(rows.settings)
        precision = np.linalg.inv(regressor.inverse)
        error, leverage = rows.mean - mean, np.empty(len(rows))
        for fold in np.unique(folds):
            own = slopes[folds == fold]
            without = np.linalg.inv(precision - own.T @ own)
            mean[folds == fold] -= own @ (without @ (own.T @ error[folds == fold]))
            leverage[folds == fold] = np.sum((own @ without) * own, axis=1)
        model = regressor.row_noise * np.maximum(leverage, 0.0)
        return mean, Variances(model, np.full(len(rows), regressor.run_noise))


@dataclass(frozen=True, eq=False, kw_only=True)
class PartsRegressor(MatrixRegressor):
    """Coefficients of each part, a row a part, its level first; the matrix is that of the slopes by each of them."""

    encoding: Encoding
    coefficients: Floats

    def mean(self, settings: Floats) -> Floats:
        """The logarithm of the sum of all parts."""
        return _sum_of_parts(_with_level(self.encoding.columns(settings)), self.coefficients)[0]

    def matrix(self, settings: Floats) -> Floats:
        """By how much the prediction at each setting changes with each coefficient."""
        columns = _with_level(self.encoding.columns(settings))
        return _slopes(columns, _sum_of_parts(columns, self.coefficients)[1])


@dataclass(frozen=True, eq=False)
class _Found:
    """Coefficients, the inverse of their precision in units of the noise, and that noise with its freedom."""

    coefficients: Floats
    inverse: Floats
    noise: float
    dof: float
    errors: float
    """The sum of squares."""


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for coefficients that are plausible and explain the responses of rows."""

    columns: Floats
    response: Floats
    usual: Floats
    spreads: Floats
    least_noise: float

    def starts(self) -> list[Floats]:
        """A single product of powers, divided into equal parts that are then moved apart by chance."""
        rng = np.random.default_rng(0)
        precision = np.diag(self.spreads[0] ** -2.0)
        error = self.response - self.response.mean()
        single = np.linalg.solve(self.columns.T @ self.columns + precision, self.columns.T @ error)
        return [
            self.usual + single + APART * self.spreads * rng.standard_normal(self.usual.shape) for _ in range(STARTS)
        ]

    def find(self, start: Floats) -> _Found:
        """The coefficients and the noise that a start leads to."""
        coefficients, noise = start, max(0.05 * float(np.var(self.response)), self.least_noise)
        for _ in range(ROUNDS):
            coefficients = self._descend(coefficients, noise)
            sums, shares = _sum_of_parts(self.columns, coefficients)
            slopes = _slopes(self.columns, shares)
            dof = max(1.0, len(sums) - float(np.sum((slopes @ self._inverse(slopes, noise)) * slopes)))
            errors = float(np.sum((self.response - sums) ** 2))
            noise = max(errors / dof, self.least_noise)
        return _Found(coefficients, self._inverse(slopes, noise), noise, dof, errors)

    def plausibility(self, found: _Found) -> float:
        """The logarithm of how plausible the rows are around what was found (Laplace)."""
        away = (found.coefficients - self.usual) / self.spreads
        room = np.linalg.slogdet(found.noise * found.inverse).logabsdet
        missed = found.errors / found.noise + len(self.response) * np.log(found.noise)
        return float(room - missed - np.sum(away**2)) / 2

    def _inverse(self, slopes: Floats, noise: float) -> Floats:
        penalty = noise * np.diag(self.spreads.ravel() ** -2.0)
        return np.asarray(np.linalg.inv(slopes.T @ slopes + penalty), dtype=float)

    def _descend(self, start: Floats, noise: float) -> Floats:
        unit = np.sqrt(noise)
        prior = np.diag(1 / self.spreads.ravel())

        def distance(flat: Floats) -> Floats:
            coefficients = flat.reshape(self.usual.shape)
            error = _sum_of_parts(self.columns, coefficients)[0] - self.response
            return np.concatenate([error / unit, ((coefficients - self.usual) / self.spreads).ravel()])

        def slopes(flat: Floats) -> Floats:
            shares = _sum_of_parts(self.columns, flat.reshape(self.usual.shape))[1]
            return np.vstack([_slopes(self.columns, shares) / unit, prior])

        found = optimize.least_squares(
            distance, start.ravel(), slopes, method="lm", max_nfev=EVALUATIONS, ftol=TOLERANCE, xtol=TOLERANCE
        )
        return np.asarray(found.x, dtype=float).reshape(self.usual.shape)


def _with_level(columns: Floats) -> Floats:
    return np.column_stack([np.ones(len(columns)), columns])


def _sum_of_parts(columns: Floats, coefficients: Floats) -> tuple[Floats, Floats]:
    """The logarithm of the sum at each setting, and the share that each part has of it."""
    parts = columns @ coefficients.T
    total = np.asarray(np.logaddexp.reduce(parts, axis=1), dtype=float)
    return total, np.exp(parts - total[:, None])


def _slopes(columns: Floats, shares: Floats) -> Floats:
    return np.asarray((shares[:, :, None] * columns[:, None, :]).reshape(len(columns), -1), dtype=float)


PARTS = PartsFamily()
