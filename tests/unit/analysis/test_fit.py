import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from coxswain.core.analysis.matrix import model_matrix
from coxswain.core.analysis.terms import interactions
from coxswain.core.dataset import make_dataset
from coxswain.core.errors import InputError
from coxswain.core.factors import Coding, Factor
from tests.unit.analysis.tables import factorial, fitted, fitted_table, unbalanced

MODEL = "cores*net + batch"
# The same in statsmodels' words; column by column so that nothing depends on how a library codes categories.
RAW = "time ~ cores*C(net, Sum) + batch"


@pytest.mark.parametrize("seed", range(5))
def test_fits_agree_with_statsmodels(seed: int) -> None:
    table = unbalanced(seed)
    fit, theirs = fitted_table(table, "time", MODEL), smf.ols(RAW, table).fit()
    np.testing.assert_allclose(fit.residuals, theirs.resid, atol=1e-10)
    np.testing.assert_allclose(fit.leverage, theirs.get_influence().hat_matrix_diag, atol=1e-10)
    assert fit.residual.df == theirs.df_resid
    assert fit.s == pytest.approx(np.sqrt(theirs.mse_resid))
    assert fit.r2 == pytest.approx(theirs.rsquared)
    assert fit.r2_adjusted == pytest.approx(theirs.rsquared_adj)
    press = np.sum(theirs.get_influence().resid_press ** 2)
    assert fit.r2_predicted == pytest.approx(1 - press / theirs.centered_tss)


def test_categories_have_contrasts_that_sum_to_zero() -> None:
    net = Factor("net", categories=("deep", "shallow", "wide"))
    matrix = model_matrix([net], interactions([net], 1))
    values = matrix.at(pd.DataFrame({"net": ["deep", "shallow", "wide"]}))
    assert matrix.names == ("Intercept", "net[shallow]", "net[wide]")
    assert values.tolist() == [[1, -1, -1], [1, 1, 0], [1, 0, 1]]


def test_two_categories_are_coded_as_two_levels_are() -> None:
    factors = [Factor("net", categories=("deep", "shallow")), Factor("cores", levels=(1, 3))]
    values = model_matrix(factors, interactions(factors, 2)).at(
        pd.DataFrame({"net": ["deep", "shallow"], "cores": [3.0, 2.0]})
    )
    assert values.tolist() == [[1, -1, 1, -1], [1, 1, 0, 0]]


def test_an_unknown_category_is_named() -> None:
    fit = fitted_table(unbalanced(), "time", MODEL)
    with pytest.raises(InputError, match="factor net has no category tall; its categories are deep, shallow, wide"):
        fit.matrix.at(pd.DataFrame({"cores": [1.0], "batch": [32.0], "net": ["tall"]}))


def test_a_setting_that_is_missing_is_named() -> None:
    fit = fitted_table(unbalanced(), "time", MODEL)
    with pytest.raises(InputError, match="the settings have no value for factor batch; give one for every factor"):
        fit.matrix.at(pd.DataFrame({"cores": [1.0], "net": ["deep"]}))


def test_a_fraction_names_what_it_cannot_tell_apart() -> None:
    half = factorial({"a": 2, "b": 1}, replicates=2, noise=0.1).query("a * b * c * d == 1")
    fit = fitted_table(half, "y", "(a + b + c + d)^2")
    found = {alias.name: {name: round(share, 9) for name, share in alias.equals} for alias in fit.aliases}
    assert found == {"b:c": {"a:d": 1}, "b:d": {"a:c": 1}, "c:d": {"a:b": 1}}
    assert "b:c" not in [term.name for term in fit.matrix.terms]


def test_what_is_left_after_an_alias_is_estimated_as_if_it_had_never_been_named() -> None:
    table = unbalanced().assign(twice=lambda t: 2 * t["cores"] + 1)
    with_alias = fitted_table(table, "time", "cores + twice + batch + net")
    without = fitted_table(table.drop(columns="twice"), "time", "cores + batch + net")
    assert [alias.name for alias in with_alias.aliases] == ["twice"]
    np.testing.assert_allclose(with_alias.coefficients, without.coefficients)
    assert with_alias.residual.sum_sq == pytest.approx(without.residual.sum_sq)
    assert with_alias.residual.df == without.residual.df


def test_fewer_rows_than_coefficients_names_the_first_term_that_cannot_be_estimated() -> None:
    table = factorial({"a": 1}).iloc[:6]
    data = table.drop(columns="a")
    with pytest.raises(InputError, match="6 rows cannot estimate the 7 coefficients of this model: b:c is the first"):
        fitted_table(data, "y", "(b + c + d)^2")


def test_a_saturated_model_has_no_error_and_no_prediction() -> None:
    fit = fitted_table(factorial({"a": 1}, noise=1), "y", "a*b*c*d")
    assert fit.saturated
    assert fit.residual.df == 0
    assert np.isnan(fit.s)
    assert fit.r2 == 1
    assert np.isnan(fit.r2_adjusted)
    assert np.isnan(fit.r2_predicted)


def test_residuals_that_are_only_rounding_are_none() -> None:
    fit = fitted_table(factorial({"a": 1, "b": 1 / 3}), "y", "a + b")
    assert fit.exact
    assert not fit.saturated
    assert fit.residual.sum_sq == 0
    assert fit.residual.df == 13


def test_a_log_coded_factor_is_linear_in_its_logarithm() -> None:
    table = pd.DataFrame({"batch": [32.0, 64, 128, 256, 512], "y": [1.0, 2, 3, 4, 5]})
    data = make_dataset(table, "y", ["batch"], codings={"batch": Coding.LOG})
    assert fitted(data, "batch").exact
