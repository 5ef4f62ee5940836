import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coxswain.core.analysis.box_cox import BoxCox, box_cox
from coxswain.core.analysis.fit import fit_terms
from coxswain.core.analysis.sample import rows_as_sample
from coxswain.core.dataset import make_dataset
from coxswain.core.expressions import parse_expression
from tests.unit.analysis.tables import factorial, fitted_table


def suggested(power: float, response: str = "y") -> BoxCox:
    """For a response whose given power is normal (0: the logarithm)."""
    table = factorial({"a": 0.5, "b": 0.25}, replicates=8, noise=0.3)
    exact = np.exp(table["y"] - 10) if power == 0 else (table["y"] - 8) ** (1 / power)
    found = box_cox(fitted_table(table.assign(y=exact), "y", "a + b"), response, 0.05)
    assert found is not None
    return found


def test_the_power_that_made_the_data_is_found() -> None:
    assert suggested(0).suggestion == "log(y)"
    assert suggested(0).low < 0 < suggested(0).high
    assert suggested(1).suggestion == "y"
    assert suggested(1).sentence.startswith("No transformation is needed")
    assert suggested(-1).low < -1 < suggested(-1).high


def test_a_mean_alone_agrees_with_scipy() -> None:
    y = np.random.default_rng(0).gamma(2.0, 3.0, 80)
    data = make_dataset(pd.DataFrame({"x": [1.0, 2.0] * 40, "y": y}), "y", ["x"])
    found = box_cox(fit_terms(rows_as_sample(data), data.factors, []), "y", 0.05)
    _, power, interval = stats.boxcox(y, alpha=0.05)
    assert found is not None
    assert found.power == pytest.approx(power, abs=1e-4)
    assert (found.low, found.high) == pytest.approx(interval, abs=1e-3)


@pytest.mark.parametrize(("power", "expected"), [(0, "log(time / jobs)"), (-1, "1/(time / jobs)")])
def test_a_suggestion_for_an_expression_is_an_expression(power: float, expected: str) -> None:
    found = suggested(power, response="time / jobs")
    assert found.suggestion == expected
    assert parse_expression(expected, ["time", "jobs"]).names == {"time", "jobs"}


def test_a_response_that_hardly_varies_does_not_tell() -> None:
    table = factorial({"a": 0.5}, noise=0.1)
    found = box_cox(fitted_table(table.assign(y=table["y"] + 1e6), "y", "a"), "y", 0.05)
    assert found is not None
    assert found.suggestion == "y"
    assert found.sentence.startswith("y varies too little to tell its powers apart")


@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_a_response_that_is_not_above_zero_or_has_no_error_has_no_suggestion(shift: float) -> None:
    table = factorial({"a": 1}, noise=1)
    model = "a" if shift else "a*b*c*d"
    assert box_cox(fitted_table(table.assign(y=table["y"] - shift), "y", model), "y", 0.05) is None
