"""The published analysis of FLTK's training time, recomputed: what holds, what slipped (docs/papers.md)."""

import functools

import numpy as np
import pandas as pd
import pytest

from coxswain.core.analysis import Analysis, Means, analyze, interactions, parse_formula
from coxswain.core.dataset import make_dataset
from tests.golden.paper_tables import paper_table

FACTORS = ["cores", "parallelization", "batch_size", "learning_rate", "max_epoch"]
MEANS = Means(replicates=3, pure_error=51_241)  # Fig. 21

# Fig. 12, as printed.
EQUATION = {
    "Intercept": "136.9",
    "cores": "-38.8",
    "parallelization": "-49.9",
    "batch_size": "-0.499",
    "learning_rate": "-1335",
    "max_epoch": "115.60",
    "cores:parallelization": "21.18",
    "cores:batch_size": "0.1077",
    "cores:learning_rate": "222",
    "cores:max_epoch": "-24.01",
    "parallelization:batch_size": "0.1613",
    "parallelization:learning_rate": "502",
    "parallelization:max_epoch": "-15.912",
    "batch_size:learning_rate": "3.60",
    "batch_size:max_epoch": "-0.06528",
    "learning_rate:max_epoch": "-47.3",
    "cores:parallelization:batch_size": "-0.0550",
    "cores:parallelization:learning_rate": "-212.8",
    "cores:parallelization:max_epoch": "2.495",
    "cores:batch_size:max_epoch": "0.02080",
    "cores:learning_rate:max_epoch": "45.2",
    "batch_size:learning_rate:max_epoch": "-0.401",
}
TERMS = " + ".join(list(EQUATION)[1:])
POINTS = pd.DataFrame([[1, 1, 32, 0.01, 5], [3, 4, 256, 0.05, 20], [2, 2, 128, 0.02, 10]], columns=FACTORS)


@functools.cache
def analysed(response: str, model: str, *, means: bool = True, reduce: bool = False) -> Analysis:
    data = make_dataset(paper_table("fltk_2k5_cellmeans"), response, FACTORS)
    terms = interactions(data.factors, 5) if model == "full" else parse_formula(model, data.factors)
    return analyze(data, terms, means=MEANS if means else None, reduce=reduce)


def printed(name: str, value: float) -> str:
    """A number with as many decimals as the paper prints."""
    decimals = len(EQUATION[name].partition(".")[2])
    return f"{value:.{decimals}f}"


def test_the_equation_at_three_points() -> None:
    found = analysed("eq", TERMS, means=False).predict(POINTS)["mean"]
    assert found.round(3).tolist() == [436.176, 179.729, 440.908]


def test_the_equation_is_recovered_from_its_values() -> None:
    found = {each.term: each.coefficient for each in analysed("eq", TERMS, means=False).uncoded}
    assert found == pytest.approx({name: float(text) for name, text in EQUATION.items()}, rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "limit", "epochs"),
    [((2, 2, 128, 0.02), 300, 6), ((1, 1, 32, 0.01), 900, 11), ((3, 4, 256, 0.01), 150, 14)],
)
def test_the_most_epochs_within_a_limit(settings: tuple[float, ...], limit: float, epochs: int) -> None:
    candidates = pd.DataFrame([[*settings, epoch] for epoch in range(1, 41)], columns=FACTORS)
    times = analysed("eq", TERMS, means=False).predict(candidates)["mean"]
    assert candidates["max_epoch"][times <= limit].max() == epochs


def test_the_refit_of_the_cell_means_at_three_points() -> None:
    found = analysed("cellmean_from_fig20", TERMS).predict(POINTS)["mean"]
    assert found.round(2).tolist() == [436.10, 179.46, 440.77]


def test_the_refit_gives_the_printed_equation() -> None:
    """To the last digit but three, where the effects' own rounding shows."""
    found = analysed("cellmean_from_fig20", TERMS).uncoded
    differing = {each.term for each in found if printed(each.term, each.coefficient) != EQUATION[each.term]}
    assert differing == {"cores:parallelization", "batch_size:max_epoch", "cores:parallelization:max_epoch"}
    for each in found:
        last_digit = 10.0 ** -len(EQUATION[each.term].partition(".")[2])
        assert float(printed(each.term, each.coefficient)) == pytest.approx(
            float(EQUATION[each.term]), abs=1.01 * last_digit
        )


def test_the_model_summary() -> None:
    found = analysed("cellmean_from_fig20", TERMS)
    assert int(found.fit.residual.sum_sq) == 59_526
    assert found.fit.residual.df == 74
    assert round(found.s, 3) == 28.362
    assert round(100 * found.r2, 2) == 99.65
    assert round(100 * found.r2_adjusted, 2) == 99.55
    assert round(100 * found.r2_predicted, 2) == 99.42
    assert found.fit.leverage == pytest.approx(np.full(32, 22 / 96))


def test_leaving_out_what_does_not_matter_gives_the_papers_terms() -> None:
    found = analysed("cellmean_from_fig20", "full", reduce=True)
    assert {term.name for term in found.fit.matrix.terms} == set(EQUATION) - {"Intercept"}
    assert len(found.removals) == 10
    assert {removal.term.count(":") for removal in found.removals} == {2, 3, 4}


def test_figures_20_and_21() -> None:
    table = paper_table("fltk_2k5_anova").set_index("term")
    found = analysed("cellmean_from_fig20", "full")
    effects = {each.term: each.effect for each in found.coefficients[1:]}
    for row in found.anova:
        published = table.loc[row.term]
        assert row.df == published["df"]
        if row.term in effects:
            assert effects[row.term] == pytest.approx(published["effect"], abs=1e-9)
            # Effects are printed with two decimals: that is what the sums of squares can differ by.
            assert row.sum_sq == pytest.approx(published["sum_sq"], abs=2 * 24 * abs(published["effect"]) * 0.005 + 1)
            assert row.f == pytest.approx(published["f"], rel=2e-3, abs=6e-3)
            assert row.p == pytest.approx(published["p"], abs=1.1e-3)
        else:
            assert row.sum_sq == pytest.approx(published["sum_sq"], rel=1e-5)
    assert found.coefficients[0].coefficient == pytest.approx(467.80, abs=0.005)
    assert round(found.coefficients[1].se, 2) == 2.89


def test_interactions_of_four_and_five_factors_are_noise() -> None:
    rows = {row.term: row for row in analysed("cellmean_from_fig20", "full").anova}
    four = [row.sum_sq for term, row in rows.items() if term.count(":") == 3]
    assert sum(four) == pytest.approx(1123, abs=2)
    assert sum(four) / 5 / rows["Residual"].mean_sq == pytest.approx(0.28, abs=5e-3)


def test_the_learning_rate_varies_least_not_the_batch_size() -> None:
    rows = {row.term: row for row in analysed("cellmean_from_fig20", "full").anova if row.term in FACTORS}
    assert min(rows, key=lambda term: rows[term].sum_sq) == "learning_rate"
    assert round(rows["learning_rate"].percent, 2) == 0.03
    assert round(rows["batch_size"].percent, 2) == 1.71
    assert round(rows["max_epoch"].percent, 1) == 41.8


def test_the_screening_fraction_mistakes_an_interaction_for_the_learning_rate() -> None:
    """Generators D = AB and E = AC: eight of the 32 cells, with learning_rate = cores x parallelization."""
    cells = paper_table("fltk_2k5_cellmeans")
    coded = pd.DataFrame(np.where(cells[FACTORS] == cells[FACTORS].min(), -1, 1), columns=list("ABCDE"))
    fraction = cells[(coded["D"] == coded["A"] * coded["B"]) & (coded["E"] == coded["A"] * coded["C"])]
    data = make_dataset(pd.concat([fraction] * 3), "cellmean_from_fig20", FACTORS)
    found = analyze(data, interactions(data.factors, 2))
    effects = {each.term: each.effect for each in found.coefficients[1:]}
    # What the eight cells show as the learning rate's effect is mostly cores:parallelization (114 s).
    assert effects["learning_rate"] == pytest.approx(108.8, abs=0.05)
    true = paper_table("fltk_2k5_anova").set_index("term")["effect"]
    assert true["learning_rate"] == -14.60
    assert true["cores:parallelization"] == 114.19
    assert effects["batch_size"] == pytest.approx(-301.2, abs=0.05)
    assert true["batch_size"] == -110.56
    aliases = {alias.name: dict(alias.equals) for alias in found.aliases}
    assert aliases["cores:parallelization"] == {"learning_rate": pytest.approx(1)}
    assert aliases["cores:batch_size"] == {"max_epoch": pytest.approx(1)}
    assert aliases["cores:max_epoch"] == {"batch_size": pytest.approx(1)}
    # Published, from 24 runs of its own: an effect of 99 s, from its sum of squares.
    published = paper_table("fltk_2k5-2_anova").set_index("term")["sum_sq"]
    assert np.sqrt(published["learning_rate"] / 6) == pytest.approx(98.8, abs=0.05)


def test_figure_19_adds_up() -> None:
    table = paper_table("fltk_2k5-2_anova").set_index("term")
    terms = table.drop(index=["Residual", "Total"])
    assert terms["sum_sq"].sum() + table.loc["Residual", "sum_sq"] == pytest.approx(table.loc["Total", "sum_sq"], abs=2)
    assert terms["f"].to_numpy() == pytest.approx(terms["sum_sq"] / (1526 / 16), rel=1e-4)


def test_the_screening_of_the_batch_size() -> None:
    published = paper_table("fltk_2k5-2_anova").set_index("term")["sum_sq"]
    assert np.sqrt(published["batch_size"] / 6) == pytest.approx(213.5, abs=0.05)
