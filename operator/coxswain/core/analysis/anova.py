"""The analysis of variance: how much of the variation each term explains, and whether that is more than chance.

What a term explains depends on what it is added to, unless the design is balanced:

    type I    to the terms before it, in the order given
    type II   to all terms that do not contain it
    type III  to all other terms

Every one is a difference between two models, and so is computed as what leaving out columns costs the full one.
"""

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import special

from coxswain.core.analysis.fit import ErrorTerm, Fit
from coxswain.core.analysis.terms import Term


class SumsOfSquares(StrEnum):
    """Which question a sum of squares answers."""

    I = "I"  # noqa: E741 - the number one in Roman
    II = "II"
    III = "III"


@dataclass(frozen=True)
class AnovaRow:
    """One line of the table; what an error term cannot have (an F) is not a number."""

    term: str
    df: int
    sum_sq: float
    mean_sq: float
    f: float
    p: float
    percent: float  # of the corrected total


def anova(fit: Fit, kind: SumsOfSquares) -> tuple[AnovaRow, ...]:
    """A row for each term, then for each error, then the total."""
    total = fit.sample.total_sum_sq
    explained = _explained(fit, kind)
    rows = []
    for term in fit.matrix.terms:
        places = fit.matrix.of(term)
        # A term's columns are constant within units all together or not at all: the first speaks for its error.
        f, p = f_test(explained[term], len(places), fit.errors[places[0]])
        mean_sq = explained[term] / len(places)
        rows.append(AnovaRow(term.name, len(places), explained[term], mean_sq, f, p, 100 * explained[term] / total))
    nan = float("nan")
    rows += [
        AnovaRow(error.name, error.df, error.sum_sq, error.mean_sq, nan, nan, 100 * error.sum_sq / total)
        for error in reversed(fit.strata)
    ]
    total_df = fit.residual.df + len(fit.coefficients) - 1
    return (*rows, AnovaRow("Total", total_df, total, nan, nan, nan, 100.0))


def term_test(fit: Fit, term: Term) -> tuple[float, float]:
    """F and p of one term, added to all others."""
    places = fit.matrix.of(term)
    return f_test(fit.cost_of_leaving_out(places), len(places), fit.errors[places[0]])


def f_test(sum_sq: float, df: int, error: ErrorTerm) -> tuple[float, float]:
    """F and its p against an error; not numbers where there is none to compare with."""
    if not error.mean_sq > 0:
        return float("nan"), float("nan")
    f = sum_sq / df / error.mean_sq
    return f, float(special.fdtrc(df, error.df, f))


def _explained(fit: Fit, kind: SumsOfSquares) -> dict[Term, float]:
    matrix = fit.matrix
    if kind is SumsOfSquares.I:
        # Cholesky's factor of the normal equations goes column by column: each row has what is new to those before.
        new = np.linalg.cholesky(np.linalg.inv(fit.inverse)).T @ fit.coefficients
        return {term: float(np.sum(new[matrix.of(term)] ** 2)) for term in matrix.terms}
    if kind is SumsOfSquares.III:
        return {term: fit.cost_of_leaving_out(matrix.of(term)) for term in matrix.terms}
    containers: dict[Term, list[Term]] = defaultdict(list)
    for term in matrix.terms:
        for part in term.parts:
            containers[part].append(term)
    return {
        term: fit.cost_of_leaving_out(matrix.of(term, *containers[term]))
        - fit.cost_of_leaving_out(matrix.of(*containers[term]))
        for term in matrix.terms
    }
