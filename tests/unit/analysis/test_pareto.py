"""Lenth's method on a table every textbook of design of experiments has: the filtration rate of a chemical plant."""

import itertools

import pandas as pd
import pytest

from coxswain.core.analysis.coefficients import coded_coefficients
from coxswain.core.analysis.pareto import pareto
from tests.unit.analysis.tables import factorial, fitted_table

RATES = [45, 71, 48, 65, 68, 60, 80, 65, 43, 100, 45, 104, 75, 86, 70, 96]  # A changes fastest


def filtration() -> pd.DataFrame:
    signs = [row[::-1] for row in itertools.product([-1, 1], repeat=4)]
    return pd.DataFrame(signs, columns=list("ABCD")).assign(rate=RATES)


def test_lenths_limits_are_the_published_ones() -> None:
    fit = fitted_table(filtration(), "rate", "A*B*C*D")
    chart = pareto(fit, coded_coefficients(fit, 0.05), 0.05)
    assert chart.lenth is not None
    assert chart.lenth.pse == pytest.approx(2.625)
    assert chart.lenth.me == pytest.approx(6.748, abs=5e-4)
    assert chart.lenth.sme == pytest.approx(13.699, abs=5e-4)
    assert chart.measure == "effect"
    assert {bar.term: round(bar.value, 9) for bar in chart.bars if bar.active} == {
        "A": 21.625,
        "A:C": 18.125,
        "A:D": 16.625,
        "D": 14.625,
        "C": 9.875,
    }


def test_with_an_error_term_bars_are_t_and_the_limit_is_students() -> None:
    fit = fitted_table(factorial({"a": 2, "bc": 1}, replicates=2, noise=1), "y", "(a + b + c + d)^2")
    coefficients = coded_coefficients(fit, 0.05)
    chart = pareto(fit, coefficients, 0.05)
    assert chart.lenth is None
    assert chart.limit == pytest.approx(2.079614, abs=1e-6)  # 21 degrees of freedom
    values = [bar.value for bar in chart.bars]
    assert values == sorted(values, reverse=True)
    assert {bar.term for bar in chart.bars if bar.active} == {each.term for each in coefficients[1:] if each.p < 0.05}
    assert chart.bars[0].term == "a"
