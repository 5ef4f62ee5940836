"""How well a model predicts units it was not fitted to: R² over folds, whole units at a time."""

import numpy as np

from coxswain.core.analysis.fit import Fit, independent_columns


def r2_folds(fit: Fit, folds: int, rng: np.random.Generator) -> float | None:
    """R² of every unit predicted from the other folds; None if some fold needs what it leaves out.

    Measurements of one unit stay together: predicting one replicate from another is no prediction of new settings.
    """
    sample = fit.sample
    units = np.unique(sample.units)
    if len(units) < 2 or sample.pure_error.df:
        return None
    fold_of_unit = rng.permutation(np.arange(len(units)) % min(folds, len(units)))
    fold = fold_of_unit[np.searchsorted(units, sample.units)]
    root = np.sqrt(sample.weights)
    squares = 0.0
    for left_out in range(fold.max() + 1):
        train, test = fold != left_out, fold == left_out
        weighted = fit.columns[train] * root[train, None]
        if train.sum() < len(fit.coefficients) or len(independent_columns(weighted)[0]) < len(fit.coefficients):
            return None
        coefficients, *_ = np.linalg.lstsq(weighted, sample.y[train] * root[train], rcond=None)
        errors = sample.y[test] - fit.columns[test] @ coefficients
        squares += float(sample.weights[test] @ errors**2)
    return 1 - squares / sample.total_sum_sq
