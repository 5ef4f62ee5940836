import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from coxswain.core.analysis import analyze, document, equation, interactions, parse_formula
from coxswain.core.dataset import make_dataset
from coxswain.core.errors import InputError
from tests.unit.analysis.tables import factorial, unbalanced

NAMES = {
    "response", "rows", "terms", "type", "alpha", "anova", "coefficients", "uncoded", "equation", "s", "r2",
    "r2_adjusted", "r2_predicted", "r2_folds", "pareto", "checks", "box_cox", "correlations", "alternatives",
    "aliases", "removed", "notes",
}  # fmt: skip


def test_predictions_agree_with_statsmodels() -> None:
    table = unbalanced()
    data = make_dataset(table, "time", ["cores", "batch", "net"])
    found = analyze(data, parse_formula("cores*net + batch", data.factors), alpha=0.1)
    new = pd.DataFrame({"cores": [3.0, 16.0], "batch": [64.0, 32.0], "net": ["wide", "deep"]}, index=[7, 9])
    theirs = smf.ols("time ~ cores*C(net, Sum) + batch", table).fit().get_prediction(new).summary_frame(0.1)
    ours = found.predict(new)
    columns = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper"]
    np.testing.assert_allclose(ours, theirs[columns])
    assert list(ours.index) == [7, 9]


def test_the_equation_is_the_prediction_written_out() -> None:
    table = factorial({"a": 2, "ab": -0.5})
    data = make_dataset(table, "y", ["a", "b"])
    assert equation(analyze(data, interactions(data.factors, 2))).startswith("y = 10 + 2 a ")
    assert equation(analyze(data, interactions(data.factors, 2))).endswith("- 0.5 a*b")


@pytest.mark.parametrize("model", ["a", "a + b + c", "(a + b + c + d)^2", "a*b*c*d"])
@pytest.mark.parametrize("reduce", [False, True])
def test_a_document_has_its_names_and_is_plain_json(model: str, *, reduce: bool) -> None:
    data = make_dataset(factorial({"a": 2}, noise=1), "y", list("abcd"))
    found = document(analyze(data, parse_formula(model, data.factors), reduce=reduce))
    assert set(found) == NAMES
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert set(found["anova"][0]) == {"term", "df", "sum_sq", "mean_sq", "f", "p", "percent"}
    assert {"term", "effect", "coefficient", "se", "t", "p", "low", "high", "vif"} == set(found["coefficients"][0])
    assert {"name", "test", "ok", "sentence", "statistic", "p", "rows"} == set(found["checks"][0])


def test_every_name_of_the_document_is_documented() -> None:
    data = make_dataset(unbalanced(), "time", ["cores", "batch", "net"])
    found = document(analyze(data, interactions(data.factors, 1)))
    inner = {name for value in found.values() if isinstance(value, list) and value for name in _names(value[0])}
    inner |= set(found["box_cox"]) | set(found["pareto"])
    text = (Path(__file__).parents[3] / "docs" / "analysis.md").read_text(encoding="utf-8")
    for name in NAMES | inner:
        assert f"`{name}`" in text or f"`{name}[]`" in text, name


def _names(value: object) -> set[str]:
    return set(value) if isinstance(value, dict) else set()


def test_rows_without_a_response_are_said() -> None:
    table = factorial({"a": 2}, replicates=2, noise=1)
    table.loc[[3, 19], "y"] = np.nan
    data = make_dataset(table, "y", list("abcd"), drop_missing=True)
    notes = analyze(data, interactions(data.factors, 2)).notes
    assert notes[0] == "2 rows without a value of y left out."
    assert notes[1] == "1 combination of 16 not measured: a=-1 b=-1 c=1 d=1."
    assert "sums of squares depend on their type, here III" in notes[2]


def test_unequal_replicates_are_said() -> None:
    data = make_dataset(factorial({"a": 2}, replicates=2, noise=1).iloc[:-1], "y", list("abcd"))
    (note,) = analyze(data, interactions(data.factors, 2)).notes
    assert note.startswith("The design is not balanced (1 to 2 values a combination): sums of squares depend on")


def test_a_fraction_is_no_design_with_missing_runs() -> None:
    half = factorial({"a": 2}, replicates=2, noise=1).query("a * b * c * d == 1")
    data = make_dataset(half, "y", list("abcd"))
    (note,) = analyze(data, interactions(data.factors, 2)).notes
    assert note.startswith("This design cannot tell apart b:c (= a:d), b:d (= a:c), c:d (= a:b): ")


def test_aliases_with_a_minus_or_of_several_terms_are_written_out() -> None:
    table = factorial({"a": 2}, replicates=2, noise=1).assign(e=lambda t: -t["a"], f=lambda t: t["b"] + t["c"])
    data = make_dataset(table, "y", list("abcdef"))
    (note,) = analyze(data, interactions(data.factors, 1)).notes
    assert "e (= -a), f (= 0.5 b + 0.5 c)" in note


def test_a_model_that_is_not_hierarchical_is_said() -> None:
    data = make_dataset(factorial({"a": 2}, replicates=2, noise=1), "y", list("abcd"))
    (note,) = analyze(data, parse_formula("a + a:b", data.factors)).notes
    assert note == "The model is not hierarchical: it lacks b, so its p-values depend on the coding."


def test_a_missing_error_term_is_said() -> None:
    data = make_dataset(factorial({"a": 2}, noise=1), "y", list("abcd"))
    assert "no error left: Lenth's method" in analyze(data, interactions(data.factors, 4)).notes[0]
    exact = make_dataset(factorial({"a": 2}), "y", list("abcd"))
    assert "fits every value exactly" in analyze(exact, interactions(exact.factors, 1)).notes[0]


@pytest.mark.parametrize(
    ("changes", "options", "sentence"),
    [
        ({"y": [3.0] * 16}, {}, "column y is 3 in all rows: there is nothing to explain."),
        ({}, {"alpha": 1.5}, "alpha 1.5 is no probability"),
        ({}, {"folds": 1}, "1 folds leave nothing to predict from"),
    ],
)
def test_what_cannot_be_analysed_is_refused(
    changes: dict[str, list[float]], options: dict[str, float], sentence: str
) -> None:
    data = make_dataset(factorial({"a": 2}).assign(**changes), "y", list("abcd"))
    with pytest.raises(InputError, match=sentence):
        analyze(data, interactions(data.factors, 1), **options)  # type: ignore[arg-type]
