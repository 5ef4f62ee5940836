"""Courier's published tables of variances: what they say about themselves (docs/papers.md)."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from coxswain.core.analysis import analyze, interactions
from coxswain.core.dataset import make_dataset
from tests.golden.paper_tables import paper_table

TABLES = paper_table("courier_anova")


def rows_of(table: int) -> dict[str, dict[str, float]]:
    rows = TABLES[TABLES["table"] == table].set_index("term").drop(columns="table")
    return {str(term): {str(name): float(value) for name, value in row.items()} for term, row in rows.iterrows()}


def implied_error_df(f: float, p: float) -> float:
    """The error's degrees of freedom that belong to an F and its p."""
    return float(optimize.brentq(lambda df: np.log(stats.f.sf(f, 1, df) / p), 2, 5000))


def t_from_interval(low: float, high: float, df: int) -> float:
    half = (high - low) / 2 / stats.t.isf(0.025, df)
    return float((high + low) / 2 / half)


def test_an_f_cannot_be_negative() -> None:
    assert rows_of(2)["njobs"]["f"] == -0.004


@pytest.mark.parametrize("term", ["cpu", "batch", "network"])
def test_table_2_has_forty_degrees_of_freedom_for_the_error(term: str) -> None:
    row = rows_of(2)[term]
    assert round(implied_error_df(row["f"], row["p_f"])) == 40
    assert t_from_interval(row["low"], row["high"], 40) == pytest.approx(row["t"], abs=2e-3)


def test_48_runs_and_15_terms_leave_32_which_table_12_has() -> None:
    # Only intervals printed with enough digits tell.
    for term in ("cpu", "njobs", "network", "cpu:njobs", "cpu:network", "njobs:network"):
        row = rows_of(12)[term]
        t = t_from_interval(row["low"], row["high"], 48 - 16)
        assert 2 * stats.t.sf(abs(t), 32) == pytest.approx(row["p_t"], abs=6e-4)


def test_tables_2_and_12_are_not_the_same_analysis() -> None:
    assert rows_of(2)["network"]["p_f"] == 5.35e-23
    assert rows_of(12)["network"]["p_f"] == 6.15e-02
    assert rows_of(2)["batch"]["p_f"] == 4.50e-03
    assert rows_of(12)["batch"]["p_f"] == 6.28e-14


@pytest.mark.parametrize("term", ["cpu", "batch", "njobs", "cpu:njobs"])
def test_table_3_comes_from_240_runs_not_288(term: str) -> None:
    row = rows_of(3)[term]
    assert round(implied_error_df(row["f"], row["p_f"])) == 224
    assert 224 + 16 == 240


def test_the_same_terms_are_beyond_doubt_by_f_and_nothing_by_t() -> None:
    """By F (order of terms) cpu and njobs matter, by t of uncoded products they do not: the paper believed the t."""
    for term in ("cpu", "njobs"):
        assert rows_of(3)[term]["p_f"] < 1e-4
        assert rows_of(3)[term]["p_t"] > 0.2


def test_three_intervals_of_table_13_are_misprints() -> None:
    table = rows_of(13)
    assert [term for term, row in table.items() if row["low"] > row["high"]] == ["batch"]
    assert table["batch"]["high"] == rows_of(3)["cpu"]["low"]
    assert table["network"]["low"] == rows_of(3)["network"]["f"]
    assert table["batch:njobs"]["low"] == -rows_of(3)["cpu"]["f"]
    assert table["batch:njobs"]["high"] == rows_of(3)["cpu"]["p_f"]


def test_uncoded_products_hide_a_main_effect() -> None:
    """Why: the slope of cpu in raw units is its effect at no jobs and batch size 0, far from any run."""
    rng = np.random.default_rng(0)
    grid = pd.MultiIndex.from_product([[1, 2, 4, 8], [64, 128, 256, 512], [1, 3, 5], range(3)]).to_frame(index=False)
    grid.columns = pd.Index(["cpu", "batch", "njobs", "replicate"])
    grid["time"] = 300 + 5 * grid["cpu"] * grid["njobs"] - 0.3 * grid["batch"] + rng.normal(0, 40, len(grid))
    data = make_dataset(grid, "time", ["cpu", "batch", "njobs"])
    found = analyze(data, interactions(data.factors, 3))
    coded = {each.term: each.p for each in found.coefficients}
    raw = {each.term: each.p for each in found.uncoded}
    assert coded["cpu"] < 1e-6
    assert raw["cpu"] > 0.2
