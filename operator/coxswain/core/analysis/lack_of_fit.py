"""Whether the form of the model is right, as far as replicates and centre points can tell.

Replicates show how much measurements vary at the same settings: the pure error. What the model misses beyond that is
lack of fit. Centre points lie in the middle of every numeric factor: if the response there is not the mean of the
corners, some factor acts along a curve, though centre points alone cannot tell which. A model with squares has the
curve in it; whether that is enough is a question of lack of fit.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from coxswain.core.analysis.anova import f_test
from coxswain.core.analysis.fit import ALIASED, ErrorTerm, Fit, independent_columns
from coxswain.core.analysis.matrix import Array
from coxswain.core.analysis.verdict import Check, p_text
from coxswain.core.factors import Factor

# How near to its place a coded setting has to be to be a corner or a centre.
NEAR = 1e-6


def pure_error(fit: Fit) -> ErrorTerm:
    """The variation among measurements with the same settings, without what the blocks differ by."""
    known, cells = fit.sample.pure_error, fit.sample.cells
    around = _around_cells(fit.sample.y, cells)
    blocks = 0
    if fit.block is not None:
        columns = fit.columns[:, fit.matrix.of(fit.block)]
        within = np.column_stack([_around_cells(column, cells) for column in columns.T])
        kept, basis, _ = independent_columns(within, np.linalg.norm(columns, axis=0))
        around, blocks = around - basis @ (basis.T @ around), len(kept)
    sum_sq = fit.sample.weight * float(around @ around)
    return ErrorTerm("Pure error", known.sum_sq + sum_sq, known.df + len(around) - len(np.unique(cells)) - blocks)


def _around_cells(values: Array, cells: npt.NDArray[np.int64]) -> Array:
    around: Array = values - (np.bincount(cells, values) / np.bincount(cells))[cells]
    return around


def lack_of_fit(fit: Fit, alpha: float) -> Check:
    """Whether the model misses more than replicates differ among themselves."""
    test = "F against pure error"
    if fit.sample.split_plot:
        return Check("lack_of_fit", test, None, "Lack of fit is not tested with errors within and between units.")
    pure = pure_error(fit)
    df = fit.residual.df - pure.df
    if pure.df == 0:
        return Check("lack_of_fit", test, None, "Lack of fit cannot be tested without replicates.")
    if df == 0:
        return Check("lack_of_fit", test, None, "The model has a coefficient for every cell: it cannot lack fit.")
    f, p = f_test(max(fit.residual.sum_sq - pure.sum_sq, 0.0), df, pure)
    if np.isnan(p):
        return Check("lack_of_fit", test, None, "All replicates are the same: there is no error to compare with.")
    if p < alpha:
        sentence = f"The model misses something (p {p_text(p)}): add interactions, squares or a transformation."
    else:
        sentence = f"The model misses no more than replicates differ among themselves (p {p_text(p)})."
    return Check("lack_of_fit", test, p >= alpha, sentence, f, p)


def curvature(fit: Fit, alpha: float) -> Check | None:
    """Whether centre points lie off the mean of the corners; None if the design has no centre points."""
    numeric = [factor for factor in fit.factors if factor.is_numeric]
    if not numeric or fit.sample.split_plot:
        return None
    coded = np.array([[factor.code(value) for value in fit.sample.settings[factor.name]] for factor in numeric]).T
    middle = np.abs(coded - [factor.code(_middle(factor)) for factor in numeric]) < NEAR
    centre, corner = middle.all(axis=1), _corners(coded, middle)
    if not centre.any() or not corner.any():
        return None
    test = "centre against corners"
    if any(power > 1 for term in fit.matrix.terms for _, power in term.powers):
        return Check("curvature", test, None, "The model has squares: see lack of fit for whether they are enough.")
    indicator = centre.astype(float)
    rest = fit.unexplained(indicator)
    size = float(rest @ rest)
    if size < ALIASED * float(indicator @ indicator):
        return Check("curvature", test, None, "The model cannot tell the centre points from its other terms.")
    sum_sq = fit.sample.weight * float(rest @ fit.sample.y) ** 2 / size
    error = pure_error(fit)
    if error.df == 0:
        error = ErrorTerm("Residual", max(fit.residual.sum_sq - sum_sq, 0.0), max(fit.residual.df - 1, 0))
    f, p = f_test(sum_sq, 1, error)
    if np.isnan(p):
        return Check("curvature", test, None, "Curvature cannot be tested: repeat the centre point.")
    if p < alpha:
        sentence = (
            f"The centre points lie off the plane of the corners (p {p_text(p)}): some factor acts along a curve."
        )
    else:
        sentence = f"The centre points lie where the corners predict them (p {p_text(p)})."
    return Check("curvature", test, p >= alpha, sentence, f, p)


def _middle(factor: Factor) -> float:
    """Where the centre points of a factor are: in the middle, or at the level in between that rounding put there.

    A batch size from 16 to 128 has its middle, by the logarithm, at 45.25 and its centre points at 45. Where axial
    points lie beyond the levels given, those are rounded as well, so that the middle itself is off by half a step.
    """
    low, *inner, high = factor.levels
    middle = factor.decode(0)
    if not all(level.is_integer() for level in factor.levels) or len(inner) % 2 == 0:
        return middle
    least, most = (replace(factor, levels=(low + half, high + half)).decode(0) + half for half in (-0.5, 0.5))
    between = inner[len(inner) // 2]
    return between if least <= between <= most else middle


def _corners(coded: Array, middle: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which rows are corners: those without a factor in the middle, if each factor has but two values there.

    The axial points of a central composite design may lie beyond them. With more values only the extremes are corners.
    """
    outside = np.asarray(~middle.any(axis=1))
    if all(len(np.unique(column.round(6))) <= 2 for column in coded[outside].T):
        return outside
    corners: npt.NDArray[np.bool_] = (np.abs(np.abs(coded) - 1) < NEAR).all(axis=1)
    return corners
