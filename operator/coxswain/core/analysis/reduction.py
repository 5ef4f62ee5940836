"""Leaving out what does not matter, from the top of the hierarchy down.

Backward elimination: of the terms that no other term contains, the least significant one goes, until all that may go
matter. Each step pools what it drops into the error. Without an error to begin with, Lenth's limit decides instead.
P-values after a selection look better than they are; the analysis says so. Blocks stay: so the runs were made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from coxswain.core.analysis.anova import term_test
from coxswain.core.analysis.coefficients import coded_coefficients
from coxswain.core.analysis.fit import Fit, fit_terms
from coxswain.core.analysis.pareto import pareto
from coxswain.core.analysis.terms import Term, removable


@dataclass(frozen=True)
class Removal:
    """A term left out, and its p when it was; None where Lenth's limit decided."""

    term: str
    p: float | None


def reduce_terms(fit: Fit, alpha: float) -> tuple[Fit, tuple[Removal, ...]]:
    """The model without what does not matter, and what was left out, in order."""
    removals: list[Removal] = []
    if fit.exact:
        terms = _beyond_lenth(fit, alpha)
        removals = [Removal(term.name, None) for term in reversed(fit.matrix.terms) if term not in terms]
        return _refit(fit, terms), tuple(removals)
    while True:
        tests = ((term_test(fit, term)[1], term) for term in removable(fit.matrix.terms) if term != fit.block)
        useless = [(p, term) for p, term in tests if p > alpha]
        if not useless:
            # From the values again, since each step carried its rounding on.
            return _refit(fit, fit.matrix.terms), tuple(removals)
        p, worst = max(useless, key=lambda test: test[0])
        removals.append(Removal(worst.name, p))
        fit = fit.leaving_out(worst)


def _beyond_lenth(fit: Fit, alpha: float) -> list[Term]:
    active = {bar.term for bar in pareto(fit, coded_coefficients(fit, alpha), alpha).bars if bar.active}
    needed = {column.term for column in fit.matrix.columns if column.name in active and column.term is not None}
    needed |= set[Term]().union(*(term.parts for term in needed))
    needed |= {fit.block} if fit.block else set()
    return [term for term in fit.matrix.terms if term in needed]


def _refit(fit: Fit, terms: Sequence[Term]) -> Fit:
    """A smaller model of the same values; what was aliased before stays said."""
    return replace(fit_terms(fit.sample, fit.matrix.factors, terms), aliases=fit.aliases)
