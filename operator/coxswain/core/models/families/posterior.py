"""Predictions of a kernel with one set of parameters: the posterior of a Gaussian prior over effects, given rows.

Written out rather than taken from scikit-learn because the row is the unit here: rows have different numbers of runs,
whole groups are left out in closed form, and the noise may depend on the level of the response.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from coxswain.core.models.families.base import Variances
from coxswain.core.models.families.kernel import Kernel, Similarities
from coxswain.core.models.families.level import Level
from coxswain.core.models.families.start import Start
from coxswain.core.models.types import Bools, Floats, Ints

JITTER = 1e-9
# Prior variances are computed for so many settings at a time, because all pairs of them are.
BLOCK = 64


@dataclass(frozen=True, eq=False)
class GaussianRegressor:
    """A kernel with its parameters and the rows it was fitted to.

    What follows from these is computed when first needed and never stored with the model.
    """

    kernel: Kernel
    parameters: Floats
    settings: Floats
    start: Start
    standard: Floats
    """What the rows' means have beyond the start, less `centre`, in units of `unit`."""
    centre: float
    unit: float
    level: Level
    within: float
    """Variance between runs of a row, in squared units."""
    count: Floats
    shares: Floats
    """What the rest has of each row's mean: the noise of the whole is so much larger beside it."""
    expected: Floats
    """A rough expectation of each row's response, on which its noise depends."""

    def __getstate__(self) -> dict[str, object]:
        fields = self.__dataclass_fields__
        return {name: value for name, value in self.__dict__.items() if name in fields}

    def take(self, which: Bools) -> "GaussianRegressor":
        """The same with some of the rows only."""
        return replace(
            self,
            settings=self.settings[which],
            standard=self.standard[which],
            count=self.count[which],
            shares=self.shares[which],
            expected=self.expected[which],
        )

    def mean(self, settings: Floats) -> Floats:
        """Posterior means."""
        return self.whole(self._cross(settings) @ self._weights)[0]

    def whole(self, standard: Floats) -> tuple[Floats, Floats]:
        """The responses where the rest is `standard`, and by how much they change with it."""
        response, share = self.start.whole(self.centre + self.unit * standard)
        return response, self.unit * share

    @property
    def stretch(self) -> float:
        """The logarithm of the density of responses over that of `standard`, which differs between starts."""
        return -float(np.sum(np.log(self.unit * self.shares)))

    def variances(self, settings: Floats) -> Variances:
        """Posterior variance of the expected response, and of the noise at its level."""
        cross = self._cross(settings)
        solved = linalg.solve_triangular(self._factor, cross.T, lower=True, check_finite=False)
        model = np.maximum(self.prior_variance(settings, self.parameters) - np.sum(solved**2, axis=0), 0.0)
        expected, slope = self.whole(cross @ self._weights)
        noise = self.noise_of_a_run(expected, self.parameters)
        return Variances(model * slope**2, noise * self.unit**2)

    def covariance(self, settings: Floats) -> Floats:
        """Posterior covariance of the expected responses."""
        cross = self._cross(settings)
        solved = linalg.solve_triangular(self._factor, cross.T, lower=True, check_finite=False)
        own = self.kernel.between(settings, settings).covariance(self.parameters)
        slope = self.whole(cross @ self._weights)[1]
        return np.asarray((own - solved.T @ solved) * np.outer(slope, slope), dtype=float)

    @property
    def dof(self) -> float:
        """Rows less the effective number of effects: the trace of the smoother."""
        noise = self._noise
        return max(1.0, float(np.sum(noise * np.diag(self._inverse))))

    def left_out(self, folds: Ints) -> tuple[Floats, Variances]:
        """Predictions of each row without its fold, in closed form, with the parameters as they are."""
        inverse = self._inverse
        weights = inverse @ self.standard
        residual = np.empty(len(folds))
        model = np.empty(len(folds))
        for fold in np.unique(folds):
            own = folds == fold
            block = np.linalg.inv(inverse[np.ix_(own, own)])
            residual[own] = block @ weights[own]
            model[own] = np.diag(block) - self._noise[own]
        mean, slope = self.whole(self.standard - residual)
        noise = self.noise_of_a_run(mean, self.parameters)
        return mean, Variances(np.maximum(model, 0.0) * slope**2, noise * self.unit**2)

    def noise(self, parameters: Floats) -> Floats:
        """Noise variance of what each row's mean has beyond the start, in squared units.

        By several parameter vectors, if need be, that share the slope.
        """
        factor = self.level.factor(self.level.place(self.expected), self.parameters[-1]) / self.shares**2
        return np.asarray(factor * (np.exp(parameters[..., -2, None]) + self.within / self.count), dtype=float)

    def noise_of_a_run(self, expected: Floats, parameters: Floats) -> Floats:
        """Noise variance of a single run, its start included, at expected responses, likewise."""
        factor = self.level.factor(self.level.place(expected), self.parameters[-1])
        return np.asarray(factor * (np.exp(parameters[..., -2, None]) + self.within), dtype=float)

    def prior_variance(self, settings: Floats, parameters: Floats) -> Floats:
        """Variance of the expected rest before any row was seen, likewise."""
        blocks = [
            np.diagonal(self.kernel.between(part, part).covariance(parameters), axis1=-2, axis2=-1)
            for part in np.array_split(settings, max(1, len(settings) // BLOCK))
        ]
        return np.concatenate(blocks, axis=-1)

    @cached_property
    def _similarities(self) -> Similarities:
        return self.kernel.between(self.settings, self.settings)

    @cached_property
    def _noise(self) -> Floats:
        return self.noise(self.parameters)

    @cached_property
    def _factor(self) -> Floats:
        covariance = self._similarities.covariance(self.parameters) + np.diag(self._noise + JITTER)
        return np.asarray(linalg.cholesky(covariance, lower=True, check_finite=False), dtype=float)

    @cached_property
    def _weights(self) -> Floats:
        return np.asarray(linalg.cho_solve((self._factor, True), self.standard, check_finite=False), dtype=float)

    @cached_property
    def _inverse(self) -> Floats:
        identity = np.eye(len(self.standard))
        return np.asarray(linalg.cho_solve((self._factor, True), identity, check_finite=False), dtype=float)

    def _cross(self, settings: Floats) -> Floats:
        return self.kernel.between(settings, self.settings).covariance(self.parameters)
