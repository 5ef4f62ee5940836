import numpy as np
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from coxswain.core.analysis.anova import SumsOfSquares, anova
from coxswain.core.factors import Factor
from tests.unit.analysis.tables import factorial, fitted_table, unbalanced


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", SumsOfSquares)
def test_every_type_agrees_with_statsmodels_on_an_unbalanced_design(kind: SumsOfSquares, seed: int) -> None:
    table = unbalanced(seed)
    # Type III depends on where zero is: both are to use coded units.
    coded = table.assign(
        cores=[Factor("cores", levels=(1, 8)).code(x) for x in table["cores"]],
        batch=[Factor("batch", levels=(32, 256)).code(x) for x in table["batch"]],
    )
    formula = "time ~ cores + batch + C(net, Sum) + cores:C(net, Sum) + batch:C(net, Sum)"
    theirs = sm.stats.anova_lm(smf.ols(formula, coded).fit(), typ=str(kind))
    theirs.index = [str(name).replace("C(net, Sum)", "net").strip() for name in theirs.index]
    # Type I depends on the order, which statsmodels chooses itself.
    terms = [name for name in theirs.index if name not in {"Intercept", "Residual"}]
    rows = anova(fitted_table(table, "time", " + ".join(terms)), kind)
    for row in rows[:-2]:
        assert row.df == theirs.loc[row.term, "df"]
        assert row.sum_sq == pytest.approx(theirs.loc[row.term, "sum_sq"], rel=1e-8)
        assert row.f == pytest.approx(theirs.loc[row.term, "F"], rel=1e-8)
        assert row.p == pytest.approx(theirs.loc[row.term, "PR(>F)"], rel=1e-6)
    residual, total = rows[-2:]
    assert (residual.term, total.term) == ("Residual", "Total")
    assert residual.sum_sq == pytest.approx(theirs.loc["Residual", "sum_sq"])
    assert total.df == len(table) - 1


def test_all_types_agree_and_add_up_on_a_balanced_design() -> None:
    fit = fitted_table(factorial({"a": 2, "bc": 1}, replicates=3, noise=1), "y", "(a + b + c + d)^3")
    tables = [anova(fit, kind) for kind in SumsOfSquares]
    for rows in tables:
        np.testing.assert_allclose([row.sum_sq for row in rows], [row.sum_sq for row in tables[0]], rtol=1e-9)
        assert sum(row.percent for row in rows[:-1]) == pytest.approx(100)


def test_type_one_adds_up_also_when_nothing_is_balanced() -> None:
    rows = anova(fitted_table(unbalanced(), "time", "cores*batch*net"), SumsOfSquares.I)
    assert sum(row.sum_sq for row in rows[:-1]) == pytest.approx(rows[-1].sum_sq)


def test_without_an_error_there_is_no_f() -> None:
    rows = anova(fitted_table(factorial({"a": 1}, noise=1), "y", "a*b*c*d"), SumsOfSquares.III)
    assert all(np.isnan(row.f) and np.isnan(row.p) for row in rows)
    assert sum(row.percent for row in rows[:-1]) == pytest.approx(100)


def test_an_error_that_is_only_rounding_is_none() -> None:
    """Else the rounding of a term that does nothing, divided by the rounding of the error, would be an F."""
    rows = anova(fitted_table(factorial({"a": 1 / 3}), "y", "a + b"), SumsOfSquares.III)
    assert all(np.isnan(row.f) and np.isnan(row.p) for row in rows)
