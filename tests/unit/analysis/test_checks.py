import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.diagnostic import het_breuschpagan

from coxswain.core.analysis import checks
from coxswain.core.analysis.fit import Fit
from tests.unit.analysis.tables import factorial, fitted_table, unbalanced


def with_noise(noise: np.ndarray) -> Fit:
    table = factorial({"a": 2}, replicates=len(noise) // 16)
    return fitted_table(table.assign(y=table["y"] + noise), "y", "a + b")


def draws(kind: str, count: int = 96, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=count) if kind == "normal" else rng.exponential(size=count) ** 2


def test_a_small_p_means_not_normal() -> None:
    skewed = checks.normality(with_noise(draws("skewed")), 0.05)
    assert skewed.p is not None
    assert skewed.p < 0.05
    assert skewed.ok is False
    assert skewed.sentence.startswith("The residuals are not normal (p < 0.001)")


def test_a_large_p_means_nothing_speaks_against_normal() -> None:
    fit = with_noise(draws("normal"))
    found = checks.normality(fit, 0.05)
    assert found.p == pytest.approx(stats.shapiro(fit.residuals).pvalue)
    assert found.ok is True
    assert found.sentence.startswith("Nothing speaks against normal residuals")


def test_many_residuals_are_tested_by_a_test_made_for_many() -> None:
    found = checks.normality(with_noise(draws("normal", 16 * 320)), 0.05)
    assert found.test == "D'Agostino–Pearson"
    assert found.ok is True


def test_bartlett_is_used_when_normal_and_levene_when_not() -> None:
    for kind, expected in (("normal", "Bartlett"), ("skewed", "Levene")):
        fit = with_noise(draws(kind))
        found = {check.name: check for check in checks.residual_checks(fit, 0.05)}["equal_variances"]
        cells = [fit.sample.y[fit.sample.cells == cell] for cell in range(16)]
        theirs = stats.bartlett(*cells) if expected == "Bartlett" else stats.levene(*cells)
        assert found.test == expected
        assert found.p == pytest.approx(theirs.pvalue)


def test_unequal_variances_are_found() -> None:
    table = factorial({}, replicates=6)
    noise = draws("normal") * np.where(table["a"] > 0, 5, 1)
    found = checks.equal_variances(with_noise(noise), 0.05, normal=True)
    assert found.ok is False
    assert "vary more in some of the 16 cells" in found.sentence
    assert checks.constant_variance(with_noise(noise), 0.05).ok is False


@pytest.mark.parametrize(
    ("replicates", "noise", "reason"),
    [
        (1, lambda n: np.arange(n) % 3.0, "without replicates"),
        (2, lambda n: np.arange(n) % 3.0, "with two replicates"),
        (3, lambda n: np.arange(n) % 16.0, "All replicates are the same"),
    ],
)
def test_where_variances_cannot_be_compared_the_sentence_says_why(replicates: int, noise: object, reason: str) -> None:
    assert callable(noise)
    found = checks.equal_variances(with_noise(noise(16 * replicates)), 0.05, normal=False)
    assert found.ok is None
    assert reason in found.sentence


def test_a_cell_without_variance_is_left_to_levene() -> None:
    noise = draws("normal")
    noise[::16] = 0.0  # the first cell
    assert checks.equal_variances(with_noise(noise), 0.05, normal=True).test == "Levene"


def test_breusch_pagan_agrees_with_statsmodels() -> None:
    table = unbalanced()
    found = checks.constant_variance(fitted_table(table, "time", "cores*net + batch"), 0.05)
    theirs = smf.ols("time ~ cores*C(net, Sum) + batch", table).fit()
    statistic, p, _, _ = het_breuschpagan(theirs.resid, theirs.model.exog)
    assert found.statistic == pytest.approx(statistic)
    assert found.p == pytest.approx(p)


def test_studentised_residuals_agree_with_statsmodels() -> None:
    table = unbalanced()
    found = checks.studentised_residuals(fitted_table(table, "time", "cores + batch"))
    theirs = smf.ols("time ~ cores + batch", table).fit().get_influence().resid_studentized_external
    assert found is not None
    np.testing.assert_allclose(found, theirs)


def test_an_outlier_is_named_by_its_row() -> None:
    noise = draws("normal")
    noise[40] += 9
    found = checks.outliers(with_noise(noise), 0.05)
    assert found.ok is False
    assert found.rows == ("row 41",)
    assert "1 outlier: row 41" in found.sentence


def test_a_clean_table_has_no_outliers() -> None:
    found = checks.outliers(with_noise(draws("normal")), 0.05)
    assert found.ok is True
    assert found.rows == ()


def test_a_lonely_setting_has_high_leverage() -> None:
    table = pd.DataFrame({"x": [1.0] * 10 + [2.0] * 10 + [20.0], "y": np.random.default_rng(0).normal(size=21)})
    found = checks.leverage(fitted_table(table, "y", "x"))
    assert found.rows == ("row 21",)
    assert found.ok is False


def test_a_value_that_is_fitted_exactly_is_no_outlier() -> None:
    table = pd.DataFrame({"x": [0.0] * 10 + [1.0], "y": [*np.random.default_rng(0).normal(size=10), 50.0]})
    found = checks.outliers(fitted_table(table, "y", "x"), 0.05)
    assert found.ok is True


def test_overlapping_terms_are_named() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=40)
    table = pd.DataFrame({"x": x, "almost_x": x + rng.normal(0, 0.01, 40), "y": rng.normal(size=40)})
    found = checks.multicollinearity(fitted_table(table, "y", "x + almost_x"))
    assert found.ok is False
    assert "overlaps with other terms" in found.sentence
    assert checks.multicollinearity(with_noise(draws("normal"))).statistic == pytest.approx(1)


def test_without_residuals_checks_say_so() -> None:
    saturated = fitted_table(factorial({"a": 1}, noise=1), "y", "a*b*c*d")
    found = {check.name: check for check in checks.residual_checks(saturated, 0.05)}
    for name in ("normality", "constant_variance", "outliers"):
        assert found[name].ok is None
        assert found[name].sentence == "The model leaves no residuals to check."
