"""Which effects stand out: the Pareto chart of standardised effects, and the limit beyond which one is no chance.

With an error term an effect is standardised by its standard error, and Student's t gives the limit. Without one (a
saturated model) Lenth's method takes the median of the effects for noise, since most of them are: its margin of error
ME is the limit for one effect, the simultaneous SME the one that any of all idle effects rarely crosses.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from coxswain.core.analysis.coefficients import Coefficient
from coxswain.core.analysis.fit import Fit
from coxswain.core.analysis.matrix import Array


@dataclass(frozen=True)
class Lenth:
    """Lenth's pseudo standard error of an effect and the two margins of error that follow."""

    pse: float
    me: float
    sme: float


@dataclass(frozen=True)
class Bar:
    """One bar of the chart."""

    term: str
    value: float
    active: bool


@dataclass(frozen=True)
class Pareto:
    """The bars, the longest first; `measure` says whether they are |t| or |effect|."""

    measure: str
    limit: float
    bars: tuple[Bar, ...]
    lenth: Lenth | None = None


def pareto(fit: Fit, coefficients: tuple[Coefficient, ...], alpha: float) -> Pareto:
    """The chart of all coefficients but the intercept and those of blocks."""
    places = fit.effects
    shown = [coefficients[place] for place in places]
    names = [coefficient.term for coefficient in shown]
    if not fit.exact or not names:
        values = np.abs([coefficient.t for coefficient in shown])
        df = min(error.df for error in fit.errors)
        limit = float(stats.t.isf(alpha / 2, df)) if df else float("nan")
        return Pareto("t", limit, _bars(names, values, [coefficient.p < alpha for coefficient in shown]))
    # In an orthogonal two-level design these are the effects; otherwise effects of columns scaled to be as precise.
    values = 2 * np.abs(fit.coefficients[places]) / np.sqrt(np.diag(fit.inverse)[places] * len(fit.sample.y))
    found = lenth(values, alpha)
    return Pareto("effect", found.me, _bars(names, values, list(values > found.me)), found)


def lenth(effects: Array, alpha: float) -> Lenth:
    """Lenth's method for independent, equally precise effects, most of which are noise."""
    size = np.abs(effects)
    first = 1.5 * np.median(size)
    trimmed = size[size <= 2.5 * first]
    pse = 1.5 * float(np.median(trimmed)) if len(trimmed) else 0.0
    df = len(size) / 3
    simultaneous = (1 - (1 - alpha) ** (1 / len(size))) / 2
    return Lenth(pse, pse * float(stats.t.isf(alpha / 2, df)), pse * float(stats.t.isf(simultaneous, df)))


def _bars(names: list[str], values: Array, active: list[bool]) -> tuple[Bar, ...]:
    order = np.argsort(-values, kind="stable")
    return tuple(Bar(names[place], float(values[place]), bool(active[place])) for place in order)
