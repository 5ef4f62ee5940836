"""Whether the form of the model is right, as far as replicates and centre points can tell.

Replicates show how much measurements vary at the same settings: the pure error. What the model misses beyond that is
lack of fit. Centre points lie in the middle of every numeric factor: if the response there is not the mean of the
corners, some factor acts along a curve, though centre points alone cannot tell which.
"""

import numpy as np

from coxswain.core.analysis.anova import f_test
from coxswain.core.analysis.fit import ALIASED, ErrorTerm, Fit
from coxswain.core.analysis.verdict import Check, p_text

# How near to -1, 0 or 1 a coded setting has to be to be a corner or a centre.
NEAR = 1e-6


def pure_error(fit: Fit) -> ErrorTerm:
    """The variation among measurements with the same settings."""
    known, y, cells = fit.sample.pure_error, fit.sample.y, fit.sample.cells
    sizes = np.bincount(cells)
    around = y - (np.bincount(cells, y) / sizes)[cells]
    within = fit.sample.weight * float(around @ around)
    return ErrorTerm("Pure error", known.sum_sq + within, known.df + len(y) - len(sizes))


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
    numeric = [factor for factor in fit.matrix.factors if factor.is_numeric]
    if not numeric:
        return None
    coded = np.array([[factor.code(value) for value in fit.sample.settings[factor.name]] for factor in numeric]).T
    centre = (np.abs(coded) < NEAR).all(axis=1)
    corner = (np.abs(np.abs(coded) - 1) < NEAR).all(axis=1)
    if not centre.any() or not corner.any() or fit.sample.split_plot:
        return None
    test = "centre against corners"
    indicator = centre.astype(float)
    rest = fit.unexplained(indicator)
    size = float(rest @ rest)
    if size < ALIASED * float(indicator @ indicator):
        return Check("curvature", test, None, "The model's squares already follow the centre points.")
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
