"""The chance that a run fails.

With fewer than a handful of rows that failed (or that succeeded) nothing can be said about what failures depend on: the
chance is the same everywhere, by Jeffreys' prior, and its interval is that of a beta distribution. With more, a
logistic regression on coded settings is fitted, held back by a normal prior so that a factor that happens to separate
the failures does not promise certainty; its interval follows from the curvature at the mode (Laplace).

The row is the unit: runs of one row tend to fail together, and then count for as many runs as they are worth.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import expit

from coxswain.core.errors import InputError
from coxswain.core.factors import Factor
from coxswain.core.models.calibration import effective_number
from coxswain.core.models.encoding import Encoding
from coxswain.core.models.types import Bools, Floats

# With fewer rows that failed, or that succeeded, than this a regression has nothing to go by.
HANDFUL = 5
# Of the prior: a slope of 2.5 makes the odds twelve times as large from the middle of a factor's range to its end.
PRIOR_SLOPE = 2.5
PRIOR_INTERCEPT = 5.0
STEPS = 50


@dataclass(frozen=True, eq=False)
class Chance:
    """The chance of failure at some settings, with an interval for it."""

    point: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class ConstantChance:
    """The same chance everywhere: a beta distribution. Runs that fail together count for less than their number."""

    failures: float
    runs: float

    def predict(self, settings: Floats, confidence: float = 0.95) -> Chance:
        """The chance at settings, which play no part."""
        beta = stats.beta(self.failures + 0.5, self.runs - self.failures + 0.5)
        values = (beta.mean(), beta.ppf((1 - confidence) / 2), beta.ppf((1 + confidence) / 2))
        return Chance(*(np.full(len(settings), float(value)) for value in values))


@dataclass(frozen=True, eq=False)
class LogisticChance:
    """A chance that depends on the settings."""

    encoding: Encoding
    coefficients: Floats
    covariance: Floats

    def predict(self, settings: Floats, confidence: float = 0.95) -> Chance:
        """The chance at settings."""
        matrix = _matrix(self.encoding, settings)
        odds = matrix @ self.coefficients
        spread = np.sqrt(np.sum((matrix @ self.covariance) * matrix, axis=1))
        reach = float(stats.norm.ppf((1 + confidence) / 2)) * spread
        return Chance(expit(odds), expit(odds - reach), expit(odds + reach))


def fit_failures(factors: tuple[Factor, ...], settings: Floats, failed: Bools) -> ConstantChance | LogisticChance:
    """Learn the chance of failure from runs that failed and runs that did not.

    Raises:
        InputError: if there is no run.
    """
    if not len(failed):
        raise InputError("there are no runs to learn the chance of failure from; add some.")
    row_of = np.unique(settings, axis=0, return_inverse=True)[1].reshape(-1)
    rows = min(len(np.unique(row_of[which])) for which in (failed, ~failed))
    if rows < HANDFUL:
        # Whether runs of a row fail together can only be told where some fail and some do not.
        alone = rows == 0 or row_of.max() == 0
        runs = float(len(failed)) if alone else effective_number(failed.astype(float), row_of)
        return ConstantChance(runs * float(failed.mean()), runs)
    encoding = Encoding(factors, log=True)
    matrix = _matrix(encoding, settings)
    coefficients, _ = _most_plausible(matrix, failed, 1.0)
    # What settings explain is no reason to discount runs of a row; what is left over and alike among them is.
    worth = effective_number(failed - expit(matrix @ coefficients), row_of) / len(failed)
    return LogisticChance(encoding, *_most_plausible(matrix, failed, min(worth, 1.0)))


def _most_plausible(matrix: Floats, failed: Bools, worth: float) -> tuple[Floats, Floats]:
    """Coefficients and their covariance, each run counting for what it is worth."""
    precision = np.diag([PRIOR_INTERCEPT**-2] + [PRIOR_SLOPE**-2] * (matrix.shape[1] - 1))
    coefficients = np.zeros(matrix.shape[1])
    # Newton's method; the prior makes the problem strictly convex, so that it always arrives.
    for _ in range(STEPS):
        chance = expit(matrix @ coefficients)
        curvature = worth * matrix.T @ (matrix * (chance * (1 - chance))[:, None]) + precision
        step = np.linalg.solve(curvature, worth * matrix.T @ (failed - chance) - precision @ coefficients)
        coefficients = coefficients + step
        if np.max(np.abs(step)) < 1e-10:
            break
    return coefficients, np.asarray(np.linalg.inv(curvature), dtype=float)


def _matrix(encoding: Encoding, settings: Floats) -> Floats:
    return np.column_stack([np.ones(len(settings)), encoding.columns(settings)])
