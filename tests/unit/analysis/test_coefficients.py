import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from statsmodels.stats.outliers_influence import variance_inflation_factor

from coxswain.core.analysis.coefficients import coded_coefficients, uncoded_coefficients
from coxswain.core.dataset import make_dataset
from coxswain.core.factors import Coding, Factor
from tests.unit.analysis.tables import factorial, fitted, fitted_table, unbalanced


def test_an_effect_is_the_change_from_the_lowest_level_to_the_highest() -> None:
    table = factorial({"a": 2, "ab": -1}, noise=0.5)
    by_name = {each.term: each for each in coded_coefficients(fitted_table(table, "y", "a*b"), 0.05)}
    means = table.groupby("a")["y"].mean()
    assert by_name["a"].effect == pytest.approx(means[1] - means[-1])
    assert by_name["a"].effect == pytest.approx(2 * by_name["a"].coefficient)
    assert by_name["Intercept"].effect is None


def test_a_category_among_three_has_a_coefficient_but_no_effect() -> None:
    found = coded_coefficients(fitted_table(unbalanced(), "time", "net + batch + cores + cores^2"), 0.05)
    assert [each.term for each in found if each.effect is None] == ["Intercept", "net[shallow]", "net[wide]", "cores^2"]


def test_precision_agrees_with_statsmodels() -> None:
    table = unbalanced()
    coded = table.assign(cores=[Factor("cores", levels=(1, 8)).code(x) for x in table["cores"]])
    theirs = smf.ols("time ~ cores + I(cores**2) + C(net, Sum)", coded).fit()
    ours = coded_coefficients(fitted_table(table, "time", "cores + cores^2 + net"), 0.1)
    place = [theirs.params.index.get_loc(name) for name in ("Intercept", "cores", "I(cores ** 2)")]
    interval = theirs.conf_int(0.1).to_numpy()[place]
    for index, name in zip(place, ("Intercept", "cores", "cores^2"), strict=True):
        mine = next(each for each in ours if each.term == name)
        assert mine.coefficient == pytest.approx(theirs.params.iloc[index])
        assert mine.se == pytest.approx(theirs.bse.iloc[index])
        assert mine.t == pytest.approx(theirs.tvalues.iloc[index])
        assert mine.p == pytest.approx(theirs.pvalues.iloc[index])
        assert (mine.low, mine.high) == pytest.approx(tuple(interval[place.index(index)]))
        if name != "Intercept":
            assert mine.vif == pytest.approx(variance_inflation_factor(theirs.model.exog, index))


def test_natural_units_are_the_same_model_fitted_to_raw_numbers() -> None:
    table = unbalanced()
    theirs = smf.ols("time ~ cores*batch + I(cores**2)", table).fit()
    ours = uncoded_coefficients(fitted_table(table, "time", "cores*batch + cores^2"), 0.05)
    names = {"Intercept": "Intercept", "cores:batch": "cores:batch", "cores^2": "I(cores ** 2)"}
    for mine in ours:
        name = names.get(mine.term, mine.term)
        assert mine.coefficient == pytest.approx(theirs.params[name], rel=1e-7)
        assert mine.se == pytest.approx(theirs.bse[name], rel=1e-7)
        assert mine.p == pytest.approx(theirs.pvalues[name], rel=1e-6)
    assert len(ours) == len(theirs.params)


def test_natural_units_of_a_log_coded_factor_are_logarithms() -> None:
    batch = np.array([32.0, 64, 128, 256] * 2)
    cores = np.array([1.0] * 4 + [4.0] * 4)
    table = pd.DataFrame({"batch": batch, "cores": cores, "y": 5 + 2 * np.log(batch) - 0.5 * np.log(batch) * cores})
    data = make_dataset(table, "y", ["batch", "cores"], codings={"batch": Coding.LOG})
    found = {each.term: each.coefficient for each in uncoded_coefficients(fitted(data, "batch*cores"), 0.05)}
    expected = {"Intercept": 5, "log(batch)": 2, "cores": 0, "log(batch):cores": -0.5}
    assert found == pytest.approx(expected, abs=1e-9)


def test_without_an_error_coefficients_have_no_precision() -> None:
    found = coded_coefficients(fitted_table(factorial({"a": 1}, noise=1), "y", "a*b*c*d"), 0.05)
    assert all(np.isnan(each.se) and np.isnan(each.p) for each in found)
