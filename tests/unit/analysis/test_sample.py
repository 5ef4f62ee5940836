"""Jobs that ran together are one unit: their mean counts, or a split plot has two errors."""

import numpy as np
import pandas as pd
import pytest

from coxswain.core.analysis import Means, analyze, interactions, parse_formula
from coxswain.core.analysis.anova import SumsOfSquares, anova
from coxswain.core.analysis.fit import fit_terms
from coxswain.core.analysis.sample import rows_as_sample
from coxswain.core.dataset import make_dataset
from coxswain.core.errors import InputError
from tests.unit.analysis.tables import factorial

# Yates' oats (1935): in each block three plots, each a variety, are split into four with different manure.
OATS = {
    "victory": [
        (111, 130, 157, 174),
        (61, 91, 97, 100),
        (68, 64, 112, 86),
        (74, 89, 81, 122),
        (62, 90, 100, 116),
        (53, 74, 118, 113),
    ],
    "golden rain": [
        (117, 114, 161, 141),
        (70, 108, 126, 149),
        (60, 102, 89, 96),
        (64, 103, 132, 133),
        (80, 82, 94, 126),
        (89, 82, 86, 104),
    ],
    "marvellous": [
        (105, 140, 118, 156),
        (96, 124, 121, 144),
        (89, 129, 132, 124),
        (70, 89, 104, 117),
        (63, 70, 109, 99),
        (97, 99, 119, 121),
    ],
}


def oats() -> pd.DataFrame:
    return pd.DataFrame(
        [
            (f"block {block}", variety, f"{manure} cwt", f"{variety} {block}", value)
            for variety, blocks in OATS.items()
            for block, values in enumerate(blocks)
            for manure, value in zip((0.0, 0.2, 0.4, 0.6), values, strict=True)
        ],
        columns=["block", "variety", "manure", "plot", "crop"],
    )


def test_a_split_plot_has_the_published_two_errors() -> None:
    data = make_dataset(oats(), "crop", ["block", "variety", "manure"], group="plot")
    found = analyze(data, parse_formula("block + variety*manure", data.factors))
    rows = {row.term: row for row in found.anova}
    assert (rows["Units"].df, rows["Residual"].df) == (10, 45)
    assert rows["Units"].mean_sq == pytest.approx(601.3, abs=0.05)
    assert rows["Residual"].mean_sq == pytest.approx(177.1, abs=0.05)
    assert rows["variety"].f == pytest.approx(1.485, abs=5e-4)
    assert rows["variety"].p == pytest.approx(0.272, abs=5e-4)
    assert rows["manure"].f == pytest.approx(37.69, abs=5e-3)
    assert rows["variety:manure"].f == pytest.approx(0.303, abs=5e-4)
    assert "tested against the error between" in found.notes[0]


def test_a_split_plot_predicts_with_both_errors() -> None:
    data = make_dataset(oats(), "crop", ["block", "variety", "manure"], group="plot")
    found = analyze(data, parse_formula("block + variety*manure", data.factors))
    here = found.predict(oats().iloc[[0]])
    half = (here["new_high"] - here["mean"]).iloc[0]
    # Between plots (601.3 - 177.1) / 4, within 177.1, and what the mean itself is unsure of.
    assert half**2 > (106.05 + 177.1) * 2.228**2
    assert (here["low"] > here["new_low"]).all()


def grouped_jobs(seed: int = 0) -> pd.DataFrame:
    """A 2^4 design in which every row is three jobs that ran together and share a bad or a good moment."""
    rng = np.random.default_rng(seed)
    rows = factorial({"a": 2}, replicates=2).assign(run=range(32))
    rows["y"] += rng.normal(0, 1, 32)
    jobs = rows.loc[rows.index.repeat(3)].reset_index(drop=True)
    return jobs.assign(y=jobs["y"] + rng.normal(0, 0.1, len(jobs)))


def test_jobs_that_ran_together_count_once() -> None:
    jobs = grouped_jobs()
    data = make_dataset(jobs, "y", list("abcd"), group="run")
    found = analyze(data, interactions(data.factors, 2))
    means = make_dataset(jobs.groupby("run").mean().reset_index(), "y", list("abcd"))
    expected = analyze(means, interactions(means.factors, 2))
    assert [row.sum_sq for row in found.anova] == pytest.approx([row.sum_sq for row in expected.anova])
    assert [row.p for row in found.anova[:-2]] == pytest.approx([row.p for row in expected.anova[:-2]])
    assert found.notes == ("The 96 rows ran in 32 groups; each group's mean is one value.",)


def test_jobs_taken_for_replicates_find_effects_that_are_not_there() -> None:
    """Why a unit matters: of idle terms, 5 % should look significant, and far more do if jobs count one by one."""

    def share_of_idle_terms_found(group: str | None) -> float:
        found = []
        for seed in range(10):
            data = make_dataset(grouped_jobs(seed), "y", list("abcd"), group=group)
            fit = fit_terms(rows_as_sample(data), data.factors, interactions(data.factors, 2))
            found += [row.p < 0.05 for row in anova(fit, SumsOfSquares.III)[1:-2]]
        return float(np.mean(found))

    assert share_of_idle_terms_found("run") < 0.1
    assert share_of_idle_terms_found(None) > 0.2


def test_too_few_groups_for_an_error_are_said() -> None:
    table = pd.DataFrame({"node": ["x"] * 6 + ["y"] * 6, "cores": [1.0, 2, 4] * 4, "host": [0] * 6 + [1] * 6})
    table["time"] = np.random.default_rng(0).normal(size=12)
    data = make_dataset(table, "time", ["node", "cores"], group="host")
    found = analyze(data, parse_formula("node + cores", data.factors))
    node, cores = found.anova[:2]
    assert np.isnan(node.p)
    assert 0 < cores.p < 1
    assert any("too few groups" in note for note in found.notes)


def test_means_with_their_pure_error_are_the_same_as_the_replicates_themselves() -> None:
    table = factorial({"a": 2, "bc": 1}, replicates=3, noise=1)
    rows = make_dataset(table, "y", list("abcd"))
    cells = table.groupby(list("abcd"))["y"].mean().reset_index()
    means = make_dataset(cells, "y", list("abcd"))
    within = float(np.sum((table["y"] - table.groupby(list("abcd"))["y"].transform("mean")) ** 2))
    terms = interactions(rows.factors, 2)
    whole, summary = (
        analyze(rows, terms, kind=SumsOfSquares.II),
        analyze(means, terms, kind=SumsOfSquares.II, means=Means(replicates=3, pure_error=within)),
    )
    for one, other in zip(whole.anova, summary.anova, strict=True):
        assert one.term == other.term
        assert one.df == other.df
        assert one.sum_sq == pytest.approx(other.sum_sq)
        assert one.p == pytest.approx(other.p, nan_ok=True)
    for name in ("s", "r2", "r2_adjusted", "r2_predicted"):
        assert getattr(summary, name) == pytest.approx(getattr(whole, name))
    lack = {check.name: check for check in summary.checks}["lack_of_fit"]
    assert lack.p == pytest.approx({check.name: check for check in whole.checks}["lack_of_fit"].p)


def test_means_of_one_replicate_are_refused() -> None:
    with pytest.raises(InputError, match="means are of 2 replicates or more"):
        Means(replicates=1, pure_error=3.0)
