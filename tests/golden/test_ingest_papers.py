"""The two reports on distribution strategies: their tables against their words (docs/papers.md)."""

import numpy as np
import pandas as pd
import pytest

from coxswain.core.analysis import Analysis, analyze, interactions
from coxswain.core.dataset import make_dataset
from coxswain.core.factors import Coding
from tests.golden.paper_tables import paper_table


def log_log(table: pd.DataFrame, factors: list[str], order: int = 2) -> Analysis:
    """The logarithm of the time by strategy and the logarithm of the batch size."""
    table = table.assign(log_seconds=np.log(table["seconds"]))
    data = make_dataset(table, "log_seconds", factors, codings={"batch_size": Coding.LOG})
    return analyze(data, interactions(data.factors, order))


@pytest.mark.parametrize(
    ("strategy", "exponent", "low", "high"),
    [
        ("not distributed", -0.955, -0.974, -0.937),
        ("one device", -0.060, -0.173, 0.053),
        ("mirrored", -0.254, -0.420, -0.087),
        ("multi-worker mirrored", -0.726, -0.843, -0.610),
    ],
)
def test_training_gets_faster_with_the_batch_size(strategy: str, exponent: float, low: float, high: float) -> None:
    table = paper_table("strategies_60_epochs")
    found = log_log(table[table["strategy"] == strategy], ["batch_size"])
    slope = found.uncoded[1]
    assert slope.term == "log(batch_size)"
    assert (round(slope.coefficient, 3), round(slope.low, 3), round(slope.high, 3)) == (exponent, low, high)


def test_without_distribution_the_time_falls_from_734_to_100_seconds() -> None:
    table = paper_table("strategies_60_epochs")
    seconds = table[table["strategy"] == "not distributed"].set_index("batch_size")["seconds"]
    assert (round(seconds[32]), round(seconds[256])) == (734, 100)
    assert seconds.is_monotonic_decreasing


def test_strategy_and_batch_size_explain_the_time() -> None:
    found = log_log(paper_table("strategies_60_epochs"), ["strategy", "batch_size"])
    assert round(100 * found.r2, 1) == 99.7
    assert round(100 * found.r2_predicted, 1) == 98.6
    rows = {row.term: row for row in found.anova}
    assert round(rows["strategy:batch_size"].f) == 233


def test_the_best_result_was_at_batch_size_512() -> None:
    table = paper_table("strategies_60_epochs")
    best = table.loc[table["accuracy"].idxmax()]
    assert (best["strategy"], best["batch_size"]) == ("mirrored", 512)
    assert (round(best["accuracy"]), int(best["seconds"])) == (59, 151)
    fastest = table.loc[table["seconds"].idxmin()]
    assert (fastest["strategy"], fastest["batch_size"]) == ("multi-worker mirrored", 512)


def test_mobilenet_time_depends_on_the_strategy_not_on_the_batch_size() -> None:
    found = log_log(paper_table("strategies_mobilenet"), ["strategy", "batch_size"], order=1)
    p = {row.term: row.p for row in found.anova}
    assert round(p["strategy"], 3) == 0.027
    assert round(p["batch_size"], 2) == 0.33


def test_training_loss_neither_falls_nor_rises_steadily() -> None:
    table = paper_table("strategies_mobilenet").sort_values("batch_size")
    for strategy in ("one device", "mirrored"):
        loss = table[table["strategy"] == strategy]["training_loss"]
        assert not loss.is_monotonic_decreasing
        assert not loss.is_monotonic_increasing
        assert table[table["strategy"] == strategy]["validation_loss"].is_monotonic_increasing
