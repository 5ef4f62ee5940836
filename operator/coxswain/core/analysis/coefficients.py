"""The coefficients of a fitted model, in coded units to compare them and in natural units to use them.

In coded units a coefficient is half of what the response changes from a factor's lowest level to its highest; that
change is the effect. In natural units the same model is multiplied out: a coded column (x - middle) / half becomes a
polynomial in x, so every coefficient there is a weighted sum of coded ones, and its standard error follows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special

from coxswain.core.analysis.fit import Fit
from coxswain.core.analysis.matrix import INTERCEPT, Array, Column
from coxswain.core.factors import Coding, Factor

# What a coded column is made of in natural units: named quantities with their powers.
Monomial = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Coefficient:
    """An estimate with its precision; `effect` is the change from lowest to highest where there is one."""

    term: str
    coefficient: float
    se: float
    t: float
    p: float
    low: float
    high: float
    effect: float | None = None
    vif: float | None = None


def coded_coefficients(fit: Fit, alpha: float) -> tuple[Coefficient, ...]:
    """The model in coded units, the intercept first."""
    factors = {factor.name: factor for factor in fit.matrix.factors}
    inflation = variance_inflation(fit)
    made = []
    for place, column in enumerate(fit.matrix.columns):
        error = fit.errors[place]
        se = float(np.sqrt(error.mean_sq * fit.inverse[place, place]))
        estimate = float(fit.coefficients[place])
        effect = 2 * estimate if _has_effect(column, factors) else None
        vif = float(inflation[place]) if column.term else None
        made.append(_coefficient(column.name, estimate, se, error.df, alpha, effect=effect, vif=vif))
    return tuple(made)


def uncoded_coefficients(fit: Fit, alpha: float) -> tuple[Coefficient, ...]:
    """The same model in natural units: `a` for a factor, `log(a)` for one coded by its logarithm."""
    factors = {factor.name: factor for factor in fit.matrix.factors}
    expanded = [_expand(column, factors) for column in fit.matrix.columns]
    monomials = list(dict.fromkeys(monomial for polynomial in expanded for monomial in polynomial))
    monomials.sort(key=lambda monomial: (len(monomial), sum(power for _, power in monomial)))
    shares = np.array([[polynomial.get(monomial, 0.0) for polynomial in expanded] for monomial in monomials])
    spreads = np.sqrt([error.mean_sq for error in fit.errors])
    covariance = fit.inverse * np.outer(spreads, spreads)
    df = min(error.df for error in fit.errors)
    estimates = shares @ fit.coefficients
    ses = np.sqrt(np.maximum(np.sum(shares @ covariance * shares, axis=1), 0))
    return tuple(
        _coefficient(_monomial_name(monomial), float(estimate), float(se), df, alpha)
        for monomial, estimate, se in zip(monomials, estimates, ses, strict=True)
    )


def variance_inflation(fit: Fit) -> Array:
    """By how much the other columns inflate each coefficient's variance; 1 is not at all."""
    centred = fit.columns - fit.columns.mean(axis=0)
    inflation: Array = np.diag(fit.inverse) * fit.sample.weight * np.sum(centred**2, axis=0)
    return inflation


def _coefficient(
    name: str,
    estimate: float,
    se: float,
    df: int,
    alpha: float,
    *,
    effect: float | None = None,
    vif: float | None = None,
) -> Coefficient:
    if not se > 0:  # there is no error: what is left of one would be rounding
        nan = float("nan")
        return Coefficient(name, estimate, nan, nan, nan, nan, nan, effect, vif)
    t = estimate / se
    p = float(2 * special.stdtr(df, -abs(t)))
    half = float(special.stdtrit(df, 1 - alpha / 2)) * se
    return Coefficient(name, estimate, se, t, p, estimate - half, estimate + half, effect, vif)


def _has_effect(column: Column, factors: Mapping[str, Factor]) -> bool:
    """Whether going from lowest to highest is the only contrast: not for squares, nor for three or more categories."""
    return bool(column.parts) and all(
        part == 1 or (isinstance(part, str) and len(factors[name].categories) == 2) for name, part in column.parts
    )


def _expand(column: Column, factors: Mapping[str, Factor]) -> dict[Monomial, float]:
    polynomial: dict[Monomial, float] = {(): 1.0}
    for name, part in column.parts:
        if isinstance(part, str):
            polynomial = _times(polynomial, {((f"{name}[{part}]", 1),): 1.0})
        else:
            for _ in range(part):
                polynomial = _times(polynomial, _linear(factors[name]))
    return polynomial


def _linear(factor: Factor) -> dict[Monomial, float]:
    """The coded value as a polynomial of the natural one: slope times it, plus a constant."""
    low, high = factor.levels[0], factor.levels[-1]
    name = factor.name
    if factor.coding is Coding.LOG:
        name, low, high = f"log({name})", float(np.log(low)), float(np.log(high))
    return {((name, 1),): 2 / (high - low), (): -(high + low) / (high - low)}


def _times(left: dict[Monomial, float], right: dict[Monomial, float]) -> dict[Monomial, float]:
    result: dict[Monomial, float] = {}
    for one, a in left.items():
        for other, b in right.items():
            powers = dict(one)
            for name, power in other:
                powers[name] = powers.get(name, 0) + power
            key = tuple(powers.items())
            result[key] = result.get(key, 0.0) + a * b
    return result


def _monomial_name(monomial: Monomial) -> str:
    if not monomial:
        return INTERCEPT
    return ":".join(name if power == 1 else f"{name}^{power}" for name, power in monomial)
