import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from coxswain.core.analysis import analyze, parse_formula
from coxswain.core.analysis.lack_of_fit import curvature, lack_of_fit, pure_error
from coxswain.core.dataset import make_dataset
from coxswain.core.factors import Coding, Factor
from tests.unit.analysis.tables import factorial, fitted, fitted_table


def chemical_yield(centre: list[float]) -> pd.DataFrame:
    """A textbook's two-level design with centre points."""
    corners = [(30, 150, 39.3), (40, 150, 40.9), (30, 160, 40.0), (40, 160, 41.5)]
    rows = [*corners, *((35, 155, value) for value in centre)]
    return pd.DataFrame(rows, columns=["time", "temperature", "percent"]).astype(float)


def test_curvature_is_the_published_one() -> None:
    fit = fitted_table(chemical_yield([40.3, 40.5, 40.7, 40.2, 40.6]), "percent", "time*temperature")
    assert pure_error(fit).mean_sq == pytest.approx(0.0430)
    found = curvature(fit, 0.05)
    assert found is not None
    assert found.statistic == pytest.approx(0.0027 / 0.0430, abs=1e-3)
    assert found.p == pytest.approx(0.814, abs=1e-3)
    assert found.ok is True


def test_centre_points_off_the_plane_show_a_curve() -> None:
    found = curvature(fitted_table(chemical_yield([44.3, 44.5, 44.7]), "percent", "time*temperature"), 0.05)
    assert found is not None
    assert found.ok is False
    assert "some factor acts along a curve" in found.sentence


def test_one_centre_point_is_compared_with_the_residuals() -> None:
    fit = fitted_table(chemical_yield([44.3]), "percent", "time + temperature")
    found = curvature(fit, 0.05)
    assert found is not None
    # The same as a term of its own in the model.
    table = chemical_yield([44.3]).assign(centre=[0, 0, 0, 0, 1])
    theirs = smf.ols("percent ~ time + temperature + centre", table).fit()
    assert found.p == pytest.approx(theirs.pvalues["centre"])


def test_one_centre_point_and_no_residuals_is_not_enough() -> None:
    found = curvature(fitted_table(chemical_yield([44.3]), "percent", "time*temperature"), 0.05)
    assert found is not None
    assert found.ok is None
    assert found.sentence == "Curvature cannot be tested: repeat the centre point."


def test_a_model_with_a_square_already_follows_the_centre() -> None:
    found = curvature(fitted_table(chemical_yield([44.3, 44.5]), "percent", "time*temperature + time^2"), 0.05)
    assert found is not None
    assert found.ok is None


def test_without_centre_points_there_is_no_such_check() -> None:
    assert curvature(fitted_table(factorial({"a": 1}, noise=1), "y", "a + b"), 0.05) is None


def test_the_centre_of_whole_numbers_may_be_rounded() -> None:
    batch, workers = Factor("batch", levels=(16, 45, 128), coding=Coding.LOG), Factor("workers", levels=(1, 3, 4))
    corners = [(b, w) for b in (16, 128) for w in (1, 4)]
    table = pd.DataFrame([*corners, *[(45, 3)] * 3], columns=["batch", "workers"]).astype(float)
    assert abs(batch.code(45)) > 0.004
    assert abs(workers.code(3)) > 0.3
    straight = table.assign(y=[5, 6, 7, 8.1, 6.6, 6.7, 6.8])
    for y, ok in ((straight["y"], True), (straight["y"] + 2 * (table["batch"] == 45), False)):
        data = make_dataset(table.assign(y=y), "y", ["batch", "workers"], codings={"batch": Coding.LOG})
        found = curvature(fitted(data, "batch + workers"), 0.05)
        assert found is not None
        assert found.ok is ok


def test_inner_levels_of_a_factorial_are_no_centre() -> None:
    grid = pd.DataFrame([(a, b) for a in (1, 2, 3, 4) for b in (1, 2, 3, 4)], columns=["a", "b"]).astype(float)
    assert curvature(fitted_table(grid.assign(y=range(16)), "y", "a + b"), 0.05) is None


def test_corners_may_lie_within_the_axial_points() -> None:
    corners = [(a, b) for a in (-1, 1) for b in (-1, 1)]
    axial = [(-1.414, 0), (1.414, 0), (0, -1.414), (0, 1.414)]
    table = pd.DataFrame([*corners, *axial, *[(0, 0)] * 4], columns=["a", "b"]).astype(float)
    noise = [0.1, -0.1, 0.1, -0.1] * 3
    curved = curvature(fitted_table(table.assign(y=table["a"] ** 2 + noise), "y", "a + b"), 0.05)
    assert curved is not None
    assert curved.ok is False
    with_squares = curvature(fitted_table(table.assign(y=table["a"] ** 2 + noise), "y", "a + b + a^2 + b^2"), 0.05)
    assert with_squares is not None
    assert (with_squares.ok, with_squares.sentence[:21]) == (None, "The model has squares")


def test_replicates_in_several_blocks_are_compared_without_what_these_differ_by() -> None:
    table = factorial({"a": 2, "bc": 1}, replicates=3, noise=1)
    table["day"] = [day for day in "xyz" for _ in range(16)]
    table["y"] += table["day"].map({"x": 0.0, "y": 20.0, "z": -5.0})
    data = make_dataset(table, "y", list("abcd"), block="day")
    found = analyze(data, parse_formula("a + b + c + d", data.factors))
    [check] = [check for check in found.checks if check.name == "lack_of_fit"]
    small, large = (smf.ols(f"y ~ day + {model}", table).fit() for model in ("a + b + c + d", "a*b*c*d"))
    theirs = sm.stats.anova_lm(small, large)
    assert check.statistic == pytest.approx(theirs["F"].iloc[1])
    assert check.p == pytest.approx(theirs["Pr(>F)"].iloc[1])


def test_lack_of_fit_is_the_comparison_with_a_coefficient_for_every_cell() -> None:
    table = factorial({"a": 2, "bc": 1}, replicates=3, noise=1)
    found = lack_of_fit(fitted_table(table, "y", "a + b + c + d"), 0.05)
    small, large = (smf.ols(f"y ~ {model}", table).fit() for model in ("a + b + c + d", "a*b*c*d"))
    theirs = sm.stats.anova_lm(small, large)
    assert found.statistic == pytest.approx(theirs["F"].iloc[1])
    assert found.p == pytest.approx(theirs["Pr(>F)"].iloc[1])
    assert found.ok is False


def test_identical_replicates_are_no_error_to_compare_with() -> None:
    table = factorial({"a": 1, "bc": 1}, replicates=2)
    found = lack_of_fit(fitted_table(table, "y", "a"), 0.05)
    assert found.ok is None
    assert found.sentence == "All replicates are the same: there is no error to compare with."


def test_lack_of_fit_needs_replicates_and_something_to_miss() -> None:
    once, twice = factorial({"a": 1}, noise=1), factorial({"a": 1}, noise=1, replicates=2)
    assert "without replicates" in lack_of_fit(fitted_table(once, "y", "a"), 0.05).sentence
    assert "cannot lack fit" in lack_of_fit(fitted_table(twice, "y", "a*b*c*d"), 0.05).sentence
