import numpy as np
import pandas as pd
import pytest

from coxswain.core.analysis.alternatives import correlations, polynomial_alternatives
from coxswain.core.analysis.sample import rows_as_sample
from coxswain.core.dataset import make_dataset
from tests.unit.analysis.tables import factorial, fitted_table, unbalanced


def test_a_steady_fall_that_is_no_line_has_rank_correlation_minus_one() -> None:
    table = pd.DataFrame({"cores": [1.0, 2, 4, 8, 16], "time": [100.0, 50, 25, 12, 6]})
    data = make_dataset(table, "time", ["cores"])
    (found,) = correlations(rows_as_sample(data), data.factors)
    assert found.spearman == pytest.approx(-1)
    assert found.pearson == pytest.approx(np.corrcoef(table["cores"], table["time"])[0, 1])
    assert -1 < found.pearson < -0.7


def test_only_factors_with_an_order_correlate() -> None:
    data = make_dataset(unbalanced(), "time", ["cores", "batch", "net"])
    assert [each.factor for each in correlations(rows_as_sample(data), data.factors)] == ["cores", "batch"]


def test_two_categories_count_as_less_and_more() -> None:
    table = pd.DataFrame({"net": ["deep", "deep", "shallow", "shallow"], "time": [5.0, 6, 1, 2]})
    data = make_dataset(table, "time", ["net"])
    (found,) = correlations(rows_as_sample(data), data.factors)
    assert found.pearson < -0.9


def test_a_square_is_recognised_by_what_it_predicts() -> None:
    rng = np.random.default_rng(0)
    x = np.tile([1.0, 2, 3, 4, 5], 8)
    z = np.repeat([1.0, 2, 3, 4], 10)
    table = pd.DataFrame({"x": x, "z": z, "y": (x - 3) ** 2 + z + rng.normal(0, 0.3, 40)})
    found = {each.added: each for each in polynomial_alternatives(fitted_table(table, "y", "x + z"))}
    assert set(found) == {
        (),
        ("x^2",),
        ("x^2", "x^3"),
        ("z^2",),
        ("z^2", "z^3"),
        ("x^2", "z^2"),
        ("x^2", "x^3", "z^2", "z^3"),
    }
    assert found["x^2",].r2_predicted > 0.9 > found[()].r2_predicted
    assert found["x^2", "x^3"].r2_predicted < found["x^2",].r2_predicted
    assert found["z^2",].r2 >= found[()].r2


def test_two_levels_have_no_curve() -> None:
    assert polynomial_alternatives(fitted_table(factorial({"a": 1}, noise=1), "y", "a + b")) == ()


def test_squares_that_centre_points_cannot_tell_apart_are_offered_one_by_one() -> None:
    corners = factorial({"a": 1}, replicates=1, noise=0.1)
    centre = pd.DataFrame({"a": [0.0] * 4, "b": [0.0] * 4, "c": [0.0] * 4, "d": [0.0] * 4, "y": [12.0, 12.1, 11.9, 12]})
    found = polynomial_alternatives(fitted_table(pd.concat([corners, centre]), "y", "a + b + c + d"))
    assert [each.added for each in found] == [(), ("a^2",), ("b^2",), ("c^2",), ("d^2",)]
