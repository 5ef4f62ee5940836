"""Power: how small an effect a design can find, given how much repeated runs differ.

An effect is what the response changes by when a factor goes from its lowest level to its highest, or from one category
to another; of an interaction, half the difference that the other factor makes to that. Its estimate divided by its
standard error has a t distribution, which an effect that is really there shifts: the noncentral t.

The error is estimated with the degrees of freedom that the assumed model leaves. Terms that the design cannot tell from
earlier terms or from blocks are not in that model.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from coxswain.core.designs.design import Design
from coxswain.core.designs.model import LinearModel, Term, contrasts
from coxswain.core.errors import InputError


@dataclass(frozen=True)
class TermPower:
    """What a design can say about one term."""

    term: str
    is_main: bool
    """Whether it is the main effect of a factor."""
    standard_error: float
    """Of its effect."""
    smallest_effect: float
    """What is found with the asked-for power; infinite without residual degrees of freedom."""


@dataclass(frozen=True)
class Power:
    """What a design can detect under a model of terms up to `interactions` factors."""

    noise: float
    alpha: float
    power: float
    interactions: int
    residual_df: int
    terms: tuple[TermPower, ...]
    inseparable: tuple[str, ...]
    """Terms of the model that the design cannot tell from earlier ones or from blocks."""

    def chance(self, term: TermPower, effect: float) -> float:
        """The chance that an effect of this size is found significant."""
        if not self.residual_df:
            return math.nan
        return _chance(effect / term.standard_error, self.residual_df, self.alpha)


def detectable(
    design: Design, *, noise: float = 1.0, interactions: int = 2, alpha: float = 0.05, power: float = 0.8
) -> Power:
    """The smallest effect of each term that the design finds with the given power.

    Args:
        design: its runs are all analysed, with those already done.
        noise: the standard deviation between runs of the same settings.
        interactions: the largest number of factors in a term of the assumed model; fewer, if such a model would leave
            no degrees of freedom for the error.
        alpha: the chance to find an effect that is not there.
        power: the chance to find one that is.
    """
    _check(noise=noise, alpha=alpha, power=power, interactions=interactions)
    found = _detectable(design, noise, interactions, alpha, power)
    if found.residual_df or interactions == 1:
        return found
    return detectable(design, noise=noise, interactions=interactions - 1, alpha=alpha, power=power)


def _detectable(design: Design, noise: float, interactions: int, alpha: float, power: float) -> Power:
    model = LinearModel(design.factors, interactions, design.options.squared(design.factors))
    matrix, blocks = _matrix(design, model)
    information = matrix.T @ matrix
    kept = _independent(information)
    residual_df = len(matrix) - len(kept)
    columns = {column - blocks: place for place, column in enumerate(kept)}
    spread = np.linalg.inv(information[np.ix_(kept, kept)])
    shift = _needed_shift(residual_df, alpha, power) if residual_df else math.inf
    terms, inseparable = [], []
    for term in model.terms:
        own = range(term.columns.start, term.columns.stop)
        if any(column not in columns for column in own):
            inseparable.append(model.name(term))
            continue
        places = [columns[column] for column in own]
        variance = spread[np.ix_(places, places)]
        error = noise * max(math.sqrt(contrast @ variance @ contrast) for contrast in _effects(model, term))
        terms.append(TermPower(model.name(term), len(term.factors) == 1, error, shift * error))
    return Power(noise, alpha, power, interactions, residual_df, tuple(terms), tuple(inseparable))


def _check(*, noise: float, alpha: float, power: float, interactions: int) -> None:
    if not (noise > 0 and math.isfinite(noise)):
        raise InputError(f"noise is {noise:g}; give a standard deviation above 0.")
    if not 0 < alpha < power < 1:
        raise InputError(f"alpha {alpha:g} and power {power:g} must be between 0 and 1, alpha the smaller.")
    if interactions < 1:
        raise InputError(f"interactions is {interactions}; give 1 for main effects only, or more.")


def _matrix(design: Design, model: LinearModel) -> tuple[NDArray[np.float64], int]:
    """Indicators of all blocks but the first, then the model's columns, for all runs and those already done.

    Also how many of them are blocks': these come first, so that a term that looks like them is the one left out.
    """
    settings = [tuple(design.rows[run.row].settings.values()) for run in design.runs]
    matrix = model.matrix(model.basis([*settings, *design.earlier]))
    block = np.array([run.block for run in design.runs] + [0] * len(design.earlier))
    indicators = block[:, None] == np.arange(1, design.options.blocks)
    return np.hstack([indicators.astype(float), matrix]), indicators.shape[1]


def _independent(information: NDArray[np.float64]) -> list[int]:
    """The columns of X that are no combination of those before them, from X'X."""
    left = information.copy()
    kept = []
    for column, total in enumerate(np.diag(information)):
        if left[column, column] > 1e-9 * total:
            kept.append(column)
            left -= np.outer(left[:, column], left[column]) / left[column, column]
    return kept


def _effects(model: LinearModel, term: Term) -> Iterator[NDArray[np.float64]]:
    """The contrasts of a term's coefficients that are effects: one, or one for each pair of categories."""
    if len(set(term.factors)) < len(term.factors):
        yield np.ones(1)  # a square: what the ends differ from the middle by
        return
    steps = []
    for index in term.factors:
        factor = model.factors[index]
        if factor.is_numeric:
            steps.append([np.array([2.0])])
        else:
            pairs = itertools.combinations(contrasts(len(factor.categories)), 2)
            steps.append([high - low for low, high in pairs])
    for combination in itertools.product(*steps):
        contrast = np.ones(1)
        for step in combination:
            contrast = np.kron(contrast, step)
        yield contrast / 2 ** (len(term.factors) - 1)


def _chance(shift: float, df: int, alpha: float) -> float:
    """The chance that a noncentral t is beyond the limits of a two-sided test.

    Its square is a noncentral F, which scipy computes where its noncentral t gives no number.
    """
    return float(stats.ncf.sf(stats.t.ppf(1 - alpha / 2, df) ** 2, 1, df, shift**2))


def _needed_shift(df: int, alpha: float, power: float) -> float:
    upper = 4.0
    while _chance(upper, df, alpha) < power:
        upper *= 2
    return float(optimize.brentq(lambda shift: _chance(shift, df, alpha) - power, 0, upper))
