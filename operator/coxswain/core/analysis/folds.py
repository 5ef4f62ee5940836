"""How well a model predicts units it was not fitted to: R² over folds, whole units at a time."""

import numpy as np
from scipy.linalg import solve_triangular

from coxswain.core.analysis.fit import Fit, independent_columns


def r2_folds(fit: Fit, folds: int, rng: np.random.Generator) -> float | None:
    """R² of every unit predicted from the other folds; None if some fold needs what it leaves out.

    Measurements of one unit stay together: predicting one replicate from another is no prediction of new settings.
    """
    sample = fit.sample
    units = np.unique(sample.units)
    if len(units) < 2 or sample.is_of_means:
        return None
    fold_of_unit = rng.permutation(np.arange(len(units)) % min(folds, len(units)))
    fold = fold_of_unit[np.searchsorted(units, sample.units)]
    squares = 0.0
    for left_out in range(fold.max() + 1):
        train, test = fit.columns[fold != left_out], fit.columns[fold == left_out]
        kept, basis, triangle = independent_columns(train, np.linalg.norm(train, axis=0))
        if len(kept) < len(fit.coefficients):
            return None
        coefficients = solve_triangular(triangle, basis.T @ sample.y[fold != left_out])
        squares += float(np.sum((sample.y[fold == left_out] - test @ coefficients) ** 2))
    return 1 - squares / sample.total_sum_sq
