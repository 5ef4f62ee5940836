"""Log-log regression with interactions and Gaussian processes: one engine, two kernels.

Both are a Gaussian prior over effects whose variances are learned from the data by their marginal likelihood, with
weak priors (maximum a posteriori). With main effects and interactions only this is mixed-model regression: effects are
shrunk as far as the noise asks for, so that more interactions than rows do no harm. Durations may have a start that no
setting makes shorter (`start.py`). Few rows leave open how long it is, and how large effects and noise are: then
predictions are averaged over what is plausible (`averaged.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, optimize

from coxswain.core.models.families.averaged import AveragedRegressor, average
from coxswain.core.models.families.base import Setting, Spread, Value, Variances
from coxswain.core.models.families.kernel import Kernel
from coxswain.core.models.families.level import level_of
from coxswain.core.models.families.posterior import JITTER, GaussianRegressor
from coxswain.core.models.families.start import Start, starts_of
from coxswain.core.models.observations import FEWEST_UNITS, Rows
from coxswain.core.models.scales import Scale, usable_scales
from coxswain.core.models.types import Bools, Floats, Ints

# Parameters are learned from at most this many rows: they are few, and the work grows with the cube of the rows.
LEARN_FROM = 200
# Predictions use at most this many rows.
PREDICT_FROM = 800
# With fewer rows noise is taken as the same at all levels. A slope is known to 1.4 / sqrt(rows), over the standard
# deviation of the level: a dozen errors would make up one where there is none.
FEWEST_FOR_SLOPE = 20
# With fewer rows the most plausible parameters are not taken for the truth; hardly any rows tell nothing about them.
FEW_ROWS = 24
# A start is not worth a thought if the logarithm of how plausible it is lies so far below the best.
IMPLAUSIBLE = 5.0

KernelRegressor = GaussianRegressor | AveragedRegressor


@dataclass(frozen=True)
class KernelFamily:
    """Models that differ in their kernel only; `orders` and `scales` are what may be tried.

    `averages` says whether predictions are averaged over plausible parameters, with nothing to choose; by default the
    number of rows does.
    """

    name: str
    smooth: bool
    orders: tuple[int, ...]
    scales: tuple[Scale, ...]
    averages: bool | None = None

    def of_table(self, rows: int) -> "KernelFamily":
        """The same for a table of so many rows: models of its parts tell what to expect of that of all its rows."""
        return replace(self, averages=rows < FEW_ROWS)

    def axes(self, rows: Rows) -> Mapping[str, Sequence[Value]]:
        """Scales and orders of interaction.

        Few rows cannot tell which is best, and whichever seems so was lucky: orders are averaged over, up to the
        highest, on the first scale that the response allows.
        """
        scales = [scale for scale in self.scales if scale in usable_scales(rows.scale.inverse(rows.values))]
        if rows.scale is Scale.LOGIT:
            scales = [Scale.LOGIT]
        if not scales:
            return {}
        orders = [order for order in self.orders if order <= len(rows.factors)] or [1]
        if self._averages(len(rows)):
            return {"scale": scales[:1], "order": [max(orders)]}
        return {"scale": scales, "order": orders}

    def fit(self, rows: Rows, setting: Setting, spread: Spread | None = None) -> KernelRegressor:  # noqa: ARG002
        """Learn the parameters from the rows, or what they may be."""
        kernel = Kernel(rows.factors, int(setting["order"]), self.smooth, log=True)
        learned = learn(kernel, rows)
        return average(learned) if self._averages(len(rows)) and len(rows) >= FEWEST_UNITS else learned[0]

    def left_out(self, regressor: KernelRegressor, rows: Rows, folds: Ints) -> tuple[Floats, Variances]:
        """Predictions of each row without its fold, by a fit to all rows: its parameters are kept."""
        kept = _sample(len(rows), PREDICT_FROM)
        if kept.all():
            return regressor.left_out(folds)
        mean, variances = regressor.mean(rows.settings), regressor.variances(rows.settings)
        mean[kept], own = regressor.left_out(folds[kept])
        variances.model[kept], variances.noise[kept] = own.model, own.noise
        return mean, variances

    def _averages(self, rows: int) -> bool:
        return rows < FEW_ROWS if self.averages is None else self.averages


def learn(kernel: Kernel, rows: Rows) -> list[GaussianRegressor]:
    """For each plausible start the parameters that the rows make most plausible; the most plausible first.

    Noise may depend on the level of the response, and the level is not known before the fit: main effects alone give
    a first idea of it that no single row can bend.
    """
    none, *others = (_unlearned(kernel, rows, start) for start in starts_of(rows))
    sloping = none.level.varies and len(rows) >= FEWEST_FOR_SLOPE
    expected = _roughly(none) if sloping else none.expected
    parameters = none.parameters
    found: list[tuple[float, GaussianRegressor]] = []
    for unlearned in (none, *others):
        regressor = replace(unlearned, parameters=parameters, expected=expected)
        learner = _learner(regressor)
        parameters, implausibility = _most_plausible(learner, fixed_slope=not sloping)  # the next ones begin with these
        plausibility = float(np.log(learner.start.likely)) + learner.stretch - implausibility
        found.append((plausibility, replace(regressor, parameters=parameters)))
        found.sort(key=lambda one: -one[0])
        if plausibility < found[0][0] - IMPLAUSIBLE:
            break  # longer ones are taken for even less plausible
    return [regressor for plausibility, regressor in found if plausibility > found[0][0] - IMPLAUSIBLE]


def _unlearned(kernel: Kernel, rows: Rows, start: Start) -> GaussianRegressor:
    """What is known of rows with a start before anything is learned from them."""
    kept = _sample(len(rows), PREDICT_FROM)
    rest = start.rest(rows.mean[kept])
    variance = float(np.var(rest))
    unit = float(np.sqrt(variance)) if variance > rows.least_noise else 1.0
    centre = float(np.mean(rest))
    return GaussianRegressor(
        kernel,
        kernel.prior()[0],
        rows.settings[kept],
        start,
        (rest - centre) / unit,
        centre,
        unit,
        level_of(rows),
        # Runs that agree to the last digit shared their seed, and tell nothing of noise.
        rows.within / unit**2 if rows.within > rows.least_noise else 0.0,
        rows.count[kept],
        shares=start.whole(rest)[1],
        expected=np.full(len(rest), float(np.mean(rows.mean[kept]))),
    )


def _roughly(regressor: GaussianRegressor) -> Floats:
    """The responses expected of the rows by main effects alone."""
    plain = replace(regressor.kernel, order=1, smooth=False)
    rough = replace(_learner(regressor), kernel=plain, parameters=plain.prior()[0])
    rough = replace(rough, parameters=_most_plausible(rough, fixed_slope=True)[0])
    return rough.mean(regressor.settings)


def _learner(regressor: GaussianRegressor) -> GaussianRegressor:
    """The same with the rows that parameters are learned from."""
    return regressor.take(_sample(len(regressor.standard), LEARN_FROM))


def _sample(size: int, most: int) -> Bools:
    """Which of `size` rows to keep; always the same ones, so that a fit depends on its rows alone."""
    kept = np.ones(size, dtype=bool)
    if size > most:
        kept[np.random.default_rng(size).permutation(size)[most:]] = False
    return kept


def _most_plausible(learner: GaussianRegressor, *, fixed_slope: bool) -> tuple[Floats, float]:
    """The parameters, and how implausible the rows are with them: the lower the better."""
    kernel = learner.kernel
    similarities = kernel.between(learner.settings, learner.settings)
    place = learner.level.place(learner.expected)
    within = learner.within / learner.count
    squares = learner.shares**2
    prior_mean, prior_spread = kernel.prior()
    bounds = [*kernel.bounds(), (0.0, 0.0) if fixed_slope else learner.level.slopes]

    def implausibility(parameters: Floats) -> tuple[float, Floats]:
        factors = learner.level.factor(place, parameters[-1]) / squares
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
                    np.sum(own * learner.level.factor_by_slope(place, parameters[-1]) / squares * (common + within)),
                ],
            ]
        )
        return float(value), slope + np.append(away, 2 * steep / (1 + steep**2)) / prior_spread

    found = optimize.minimize(
        implausibility, learner.parameters, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60}
    )
    return np.asarray(found.x, dtype=float), float(found.fun)


LOG_LOG = KernelFamily("loglog", smooth=False, orders=(2, 3, 1), scales=(Scale.LOG,))
GAUSSIAN_PROCESS = KernelFamily("gaussian_process", smooth=True, orders=(1,), scales=(Scale.LOG, Scale.IDENTITY))
