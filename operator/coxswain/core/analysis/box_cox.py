"""Which power of the response would make its errors most alike: Box and Cox's method.

The likelihood of the same model is compared over powers λ of the response (0 is the logarithm). The interval holds all
λ that the data do not speak against. If it holds 1, no transformation is needed; else a simple one near λ is suggested.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from coxswain.core.analysis.fit import Fit
from coxswain.core.analysis.matrix import Array

LOWEST, HIGHEST = -5.0, 5.0
# In the words of `core.expressions`; {0} is the response, {1} the same in brackets where it needs them.
SIMPLE = {1: "{0}", 0: "log({0})", 0.5: "sqrt({0})", -1: "1/{1}", -0.5: "1/sqrt({0})", 2: "{1}**2", -2: "1/{1}**2"}


@dataclass(frozen=True)
class BoxCox:
    """The best power and its interval; `suggestion` is what to analyse in place of the response, or the response."""

    power: float
    low: float
    high: float
    suggestion: str
    sentence: str


def box_cox(fit: Fit, response: str, alpha: float) -> BoxCox | None:
    """The suggestion for a fitted model; None where no error is left, or where a response is not above 0."""
    y = fit.sample.y
    if fit.exact or fit.sample.is_of_means or y.min() <= 0:
        return None
    scaled = y / np.exp(np.mean(np.log(y)))  # by its geometric mean, so that likelihoods compare
    powers = np.linspace(LOWEST, HIGHEST, 101)
    support = _log_likelihood(fit, scaled, powers)
    best = int(np.argmax(support))
    around = powers[max(best - 1, 0)], powers[min(best + 1, len(powers) - 1)]

    def support_at(power: float) -> float:
        return float(_log_likelihood(fit, scaled, np.array([power]))[0])

    power = float(optimize.minimize_scalar(lambda p: -support_at(p), bounds=around, method="bounded").x)
    least = support_at(power) - float(stats.chi2.isf(alpha, 1)) / 2
    low, high = (
        end if support_at(end) >= least else float(optimize.brentq(lambda p: support_at(p) - least, end, power))
        for end in (LOWEST, HIGHEST)
    )
    return _suggest(response, power, low, high)


def _log_likelihood(fit: Fit, scaled: Array, powers: Array) -> Array:
    logs = np.log(scaled)[:, None]
    near_zero = np.where(np.abs(powers) < 1e-9, 1.0, powers)
    transformed = np.where(np.abs(powers) < 1e-9, logs, np.expm1(logs * powers) / near_zero)
    support: Array = -len(scaled) / 2 * np.log(np.sum(fit.unexplained(transformed) ** 2, axis=0))
    return support


def _suggest(response: str, power: float, low: float, high: float) -> BoxCox:
    interval = f"λ {power:.2f}, from {low:.2f} to {high:.2f}"
    if low == LOWEST and high == HIGHEST:
        sentence = f"{response} varies too little to tell its powers apart: no transformation is needed."
        return BoxCox(power, low, high, response, sentence)
    if low <= 1 <= high:
        return BoxCox(power, low, high, response, f"No transformation is needed ({interval}).")
    # None of the simple ones may lie inside; the nearest still describes the data better than the response itself.
    simple = SIMPLE[min(SIMPLE, key=lambda each: (not low <= each <= high, abs(each - power)))]
    suggestion = simple.format(response, response if response.isidentifier() else f"({response})")
    return BoxCox(power, low, high, suggestion, f"Analyse {suggestion} in place of {response} ({interval}).")
