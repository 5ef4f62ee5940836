"""Beyond straight lines: how each factor goes with the response, and whether powers of it would describe it better.

A correlation near zero says that a straight line (Pearson) or a steady rise or fall (Spearman) does not describe the
response, not that the factor does not matter. Squares and cubes may; they are compared by what they predict, since
what they fit always grows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from coxswain.core.analysis.fit import Fit, fit_terms
from coxswain.core.analysis.sample import Sample
from coxswain.core.analysis.terms import Term, main_effect, power_of
from coxswain.core.factors import Factor


@dataclass(frozen=True)
class Correlation:
    """How a factor goes with the response, over all measurements."""

    factor: str
    pearson: float
    pearson_p: float
    spearman: float
    spearman_p: float


@dataclass(frozen=True)
class Alternative:
    """The same model with some powers added."""

    added: tuple[str, ...]
    r2: float
    r2_adjusted: float
    r2_predicted: float


def correlations(sample: Sample, factors: Sequence[Factor]) -> tuple[Correlation, ...]:
    """Of each factor that has an order: numbers, or two categories (the second counts as more)."""
    found = []
    for factor in factors:
        values = sample.settings[factor.name].to_numpy()
        if factor.is_numeric:
            places = np.array([factor.code(value) for value in values])
        elif len(factor.categories) == 2:
            places = (values == factor.categories[1]).astype(float)
        else:
            continue
        if len(places) < 3:
            continue
        pearson, spearman = stats.pearsonr(places, sample.y), stats.spearmanr(places, sample.y)
        found.append(
            Correlation(
                factor.name,
                float(pearson.statistic),
                float(pearson.pvalue),
                float(spearman.statistic),
                float(spearman.pvalue),
            )
        )
    return tuple(found)


def polynomial_alternatives(fit: Fit) -> tuple[Alternative, ...]:
    """The model as it is, and with powers of factors that have three levels or more, alone and together."""
    terms = fit.matrix.terms
    alternatives = [_alternative(fit, ())]
    for added in _additions(fit.matrix.factors, terms):
        if len(fit.sample.y) <= len(fit.coefficients) + len(added):
            continue
        wider = fit_terms(fit.sample, fit.matrix.factors, (*terms, *added))
        if not any(alias.term in added for alias in wider.aliases):
            alternatives.append(_alternative(wider, added))
    return tuple(alternatives) if len(alternatives) > 1 else ()


def _additions(factors: Sequence[Factor], terms: Sequence[Term]) -> Iterator[tuple[Term, ...]]:
    def powers(factor: Factor, highest: int) -> tuple[Term, ...]:
        wanted = (power_of(factor.name, power) for power in range(2, min(highest, len(factor.levels) - 1) + 1))
        return tuple(term for term in wanted if term not in terms)

    curved = [factor for factor in factors if len(factor.levels) >= 3 and main_effect(factor.name) in terms]
    alone = [powers(factor, highest) for factor in curved for highest in (2, 3)]
    together = [tuple(term for factor in curved for term in powers(factor, highest)) for highest in (2, 3)]
    candidates = alone + together
    yield from dict.fromkeys(candidate for candidate in candidates if candidate)


def _alternative(fit: Fit, added: Sequence[Term]) -> Alternative:
    return Alternative(tuple(term.name for term in added), fit.r2, fit.r2_adjusted, fit.r2_predicted)
