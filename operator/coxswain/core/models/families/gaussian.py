"""Log-log regression with interactions and Gaussian processes: one engine, two kernels.

Both are a Gaussian prior over effects whose variances are learned from the data by their marginal likelihood, with
weak priors (maximum a posteriori). With main effects and interactions only this is mixed-model regression: effects are
shrunk as far as the noise asks for, so that more interactions than rows do no harm. Written out rather than taken
from scikit-learn because the row is the unit here: rows have different numbers of runs, whole groups are left out in
closed form, and the noise may depend on the level of the response.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg, optimize

from coxswain.core.models.families.base import Setting, Spread, Value, Variances
from coxswain.core.models.families.kernel import Kernel, Similarities
from coxswain.core.models.families.level import Level, level_of
from coxswain.core.models.observations import Rows
from coxswain.core.models.scales import Scale, usable_scales
from coxswain.core.models.types import Bools, Floats, Ints

# Parameters are learned from at most this many rows: they are few, and the work grows with the cube of the rows.
LEARN_FROM = 200
# Predictions use at most this many rows.
PREDICT_FROM = 800
JITTER = 1e-9
# With fewer rows noise is taken as the same at all levels. A slope is known to 1.4 / sqrt(rows), over the standard
# deviation of the level: a dozen errors would make up one where there is none.
FEWEST_FOR_SLOPE = 16


@dataclass(frozen=True)
class KernelFamily:
    """Models that differ in their kernel only; `orders` and `scales` are what may be tried."""

    name: str
    smooth: bool
    orders: tuple[int, ...]
    scales: tuple[Scale, ...]

    def axes(self, rows: Rows) -> Mapping[str, Sequence[Value]]:
        """Scales and orders of interaction."""
        scales = [scale for scale in self.scales if scale in usable_scales(rows.scale.inverse(rows.values))]
        if rows.scale is Scale.LOGIT:
            scales = [Scale.LOGIT]
        if not scales:
            return {}
        orders = [order for order in self.orders if order <= len(rows.factors)] or [1]
        return {"scale": scales, "order": orders}

    def fit(self, rows: Rows, setting: Setting, spread: Spread | None = None) -> "GaussianRegressor":  # noqa: ARG002
        """Learn the parameters from the rows."""
        kernel = Kernel(rows.factors, int(setting["order"]), self.smooth, log=True)
        return learn(kernel, rows)

    def left_out(self, regressor: "GaussianRegressor", rows: Rows, folds: Ints) -> tuple[Floats, Variances]:
        """Predictions of each row without its fold, by a fit to all rows: its parameters are kept."""
        kept = _sample(len(rows), PREDICT_FROM)
        mean, variances = regressor.mean(rows.settings), regressor.variances(rows.settings)
        mean[kept], own = regressor.left_out(folds[kept])
        variances.model[kept], variances.noise[kept] = own.model, own.noise
        return mean, variances


@dataclass(frozen=True, eq=False)
class GaussianRegressor:
    """A kernel with its parameters and the rows it was fitted to.

    What follows from these is computed when first needed and never stored with the model.
    """

    kernel: Kernel
    parameters: Floats
    settings: Floats
    standard: Floats
    """The rows' means, less `centre`, in units of `unit`."""
    centre: float
    unit: float
    level: Level
    within: float
    """Variance between runs of a row, in squared units."""
    count: Floats
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
            expected=self.expected[which],
        )

    def mean(self, settings: Floats) -> Floats:
        """Posterior means."""
        cross = self._cross(settings)
        return self.centre + self.unit * (cross @ self._weights)

    def variances(self, settings: Floats) -> Variances:
        """Posterior variance of the expected response, and of the noise at its level."""
        cross = self._cross(settings)
        solved = linalg.solve_triangular(self._factor, cross.T, lower=True, check_finite=False)
        model = np.maximum(self._prior_variance(settings) - np.sum(solved**2, axis=0), 0.0)
        expected = self.centre + self.unit * (cross @ self._weights)
        noise = self._noise_of_a_run(expected)
        return Variances(model * self.unit**2, noise * self.unit**2)

    def covariance(self, settings: Floats) -> Floats:
        """Posterior covariance of the expected responses."""
        solved = linalg.solve_triangular(self._factor, self._cross(settings).T, lower=True, check_finite=False)
        own = self.kernel.between(settings, settings).covariance(self.parameters)
        return np.asarray((own - solved.T @ solved) * self.unit**2, dtype=float)

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
        mean = self.centre + self.unit * (self.standard - residual)
        return mean, Variances(np.maximum(model, 0.0) * self.unit**2, self._noise_of_a_run(mean) * self.unit**2)

    @cached_property
    def _similarities(self) -> Similarities:
        return self.kernel.between(self.settings, self.settings)

    @cached_property
    def _noise(self) -> Floats:
        factor = self.level.factor(self.level.place(self.expected), self.parameters[-1])
        return np.asarray(factor * (np.exp(self.parameters[-2]) + self.within / self.count), dtype=float)

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

    def _noise_of_a_run(self, expected: Floats) -> Floats:
        factor = self.level.factor(self.level.place(expected), self.parameters[-1])
        return np.asarray(factor * (np.exp(self.parameters[-2]) + self.within), dtype=float)

    def _cross(self, settings: Floats) -> Floats:
        return self.kernel.between(settings, self.settings).covariance(self.parameters)

    def _prior_variance(self, settings: Floats) -> Floats:
        blocks = [
            np.diag(self.kernel.between(part, part).covariance(self.parameters))
            for part in np.array_split(settings, max(1, len(settings) // 256))
        ]
        return np.concatenate(blocks)


def learn(kernel: Kernel, rows: Rows) -> GaussianRegressor:
    """The parameters that the rows make most plausible.

    Noise may depend on the level of the response, and the level is not known before the fit: main effects alone give
    a first idea of it that no single row can bend.
    """
    kept = _sample(len(rows), PREDICT_FROM)
    unit = float(np.std(rows.mean[kept])) or 1.0
    centre = float(np.mean(rows.mean[kept]))
    regressor = GaussianRegressor(
        kernel,
        kernel.prior()[0],
        rows.settings[kept],
        (rows.mean[kept] - centre) / unit,
        centre,
        unit,
        level_of(rows),
        rows.within / unit**2,
        rows.count[kept],
        expected=np.full(int(kept.sum()), centre),
    )
    few = _sample(len(regressor.standard), LEARN_FROM)
    sloping = regressor.level.varies and len(rows) >= FEWEST_FOR_SLOPE
    if sloping:
        plain = replace(kernel, order=1, smooth=False)
        rough = replace(regressor.take(few), kernel=plain, parameters=plain.prior()[0])
        rough = replace(rough, parameters=_most_plausible(rough, fixed_slope=True))
        regressor = replace(regressor, expected=rough.mean(regressor.settings))
    parameters = _most_plausible(regressor.take(few), fixed_slope=not sloping)
    return replace(regressor, parameters=parameters)


def _sample(size: int, most: int) -> Bools:
    """Which of `size` rows to keep; always the same ones, so that a fit depends on its rows alone."""
    kept = np.ones(size, dtype=bool)
    if size > most:
        kept[np.random.default_rng(size).permutation(size)[most:]] = False
    return kept


def _most_plausible(learner: GaussianRegressor, *, fixed_slope: bool) -> Floats:
    kernel = learner.kernel
    similarities = kernel.between(learner.settings, learner.settings)
    place = learner.level.place(learner.expected)
    within = learner.within / learner.count
    prior_mean, prior_spread = kernel.prior()
    bounds = [*kernel.bounds(), (0.0, 0.0) if fixed_slope else learner.level.slopes]

    def implausibility(parameters: Floats) -> tuple[float, Floats]:
        factors = learner.level.factor(place, parameters[-1])
        common = np.exp(parameters[-2])
        noise = factors * (common + within)
        covariance = similarities.covariance(parameters) + np.diag(noise + JITTER)
        factor = linalg.cholesky(covariance, lower=True, check_finite=False)
        inverse = linalg.cho_solve((factor, True), np.eye(len(noise)), check_finite=False)
        weights = inverse @ learner.standard
        surplus = inverse - np.outer(weights, weights)
        own = np.diag(surplus)
        away = (parameters[:-1] - prior_mean[:-1]) / prior_spread[:-1]
        steep = parameters[-1] / prior_spread[-1]
        implausible = 0.5 * away @ away + np.log1p(steep**2)
        value = 0.5 * learner.standard @ weights + np.sum(np.log(np.diag(factor))) + implausible
        slope = 0.5 * np.concatenate(
            [
                similarities.gradient(parameters, surplus),
                [
                    np.sum(own * factors * common),
                    np.sum(own * learner.level.factor_by_slope(place, parameters[-1]) * (common + within)),
                ],
            ]
        )
        return float(value), slope + np.append(away, 2 * steep / (1 + steep**2)) / prior_spread

    found = optimize.minimize(
        implausibility, learner.parameters, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60}
    )
    return np.asarray(found.x, dtype=float)


LOG_LOG = KernelFamily("loglog", smooth=False, orders=(2, 3, 1), scales=(Scale.LOG,))
GAUSSIAN_PROCESS = KernelFamily("gaussian_process", smooth=True, orders=(1,), scales=(Scale.LOG, Scale.IDENTITY))
