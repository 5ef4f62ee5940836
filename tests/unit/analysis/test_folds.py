import numpy as np
import pytest
import statsmodels.formula.api as smf

from coxswain.core.analysis.folds import r2_folds
from tests.unit.analysis.tables import factorial, fitted_table


def test_every_unit_is_predicted_from_the_others() -> None:
    table = factorial({"a": 2, "b": 1}, replicates=3, noise=1)
    fit = fitted_table(table, "y", "a + b")
    squares = 0.0
    for cell in range(16):
        inside = fit.sample.cells == cell
        theirs = smf.ols("y ~ a + b", table[~inside]).fit()
        squares += float(np.sum((table["y"][inside] - theirs.predict(table[inside])) ** 2))
    # As many folds as units: nothing is left to chance.
    found = r2_folds(fit, 16, np.random.default_rng(0))
    assert found == pytest.approx(1 - squares / fit.sample.total_sum_sq)


def test_the_same_seed_gives_the_same_folds() -> None:
    fit = fitted_table(factorial({"a": 2}, replicates=2, noise=1), "y", "a + b + c")
    first, again, other = (r2_folds(fit, 5, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_folds_that_need_what_they_leave_out_say_nothing() -> None:
    fit = fitted_table(factorial({"a": 2}, replicates=2, noise=1), "y", "a*b*c*d")
    assert r2_folds(fit, 5, np.random.default_rng(0)) is None
