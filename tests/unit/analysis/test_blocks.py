import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from coxswain.core.analysis import Analysis, analyze, interactions, parse_formula
from coxswain.core.dataset import make_dataset
from coxswain.core.errors import InputError
from tests.unit.analysis.tables import factorial

SHIFTS = {"x": 0.0, "y": 20.0, "z": -5.0}


def blocked(noise: float = 1.0) -> pd.DataFrame:
    table = factorial({"a": 2, "bc": 1}, replicates=3, noise=noise)
    table["day"] = [day for day in SHIFTS for _ in range(16)]
    table["y"] += table["day"].map(SHIFTS)
    return table.drop(index=[1, 20, 21, 40])  # not balanced


def analysed(table: pd.DataFrame, *, order: int = 2, reduce: bool = False) -> Analysis:
    data = make_dataset(table, "y", list("abcd"), block="day")
    return analyze(data, interactions(data.factors, order), reduce=reduce)


def test_effects_and_errors_are_those_of_a_model_with_the_block() -> None:
    found = analysed(blocked())
    theirs = smf.ols("y ~ C(day, Sum) + (a + b + c + d)**2", blocked()).fit()
    for each in found.coefficients:
        if not each.term.startswith(("day", "Intercept")):
            assert each.coefficient == pytest.approx(theirs.params[each.term])
            assert each.se == pytest.approx(theirs.bse[each.term])
    assert found.anova[0].term == "day"
    assert not any(":" in name and "day" in name for name in found.fit.matrix.names)


def test_a_prediction_is_the_average_over_the_blocks() -> None:
    found = analysed(blocked())
    settings = pd.DataFrame({name: [1.0] for name in "abcd"})
    theirs = smf.ols("y ~ C(day, Sum) + (a + b + c + d)**2", blocked()).fit()
    days = [settings.assign(day=day) for day in SHIFTS]
    assert found.predict(settings)["mean"].iloc[0] == pytest.approx(np.mean([theirs.predict(day) for day in days]))


def test_blocks_are_never_left_out_and_never_stand_out() -> None:
    table = blocked()
    table["y"] -= table["day"].map(SHIFTS)  # blocks that do not differ
    found = analysed(table, reduce=True)
    assert [term.name for term in found.fit.matrix.terms] == ["day", "a", "b", "c", "b:c"]
    assert not [bar for bar in found.pareto.bars if "day" in bar.term]


def test_without_an_error_blocks_are_not_among_the_effects_that_noise_is_judged_by() -> None:
    signs = factorial({"a": 5, "b": 1}, noise=0.1)
    signs["day"] = np.where(signs[list("abcd")].prod(axis=1) > 0, "x", "y")
    signs["y"] += 100.0 * (signs["day"] == "x")
    data = make_dataset(signs, "y", list("abcd"), block="day")
    model = "a*b*c + d + a:d + b:d + c:d + a:b:d + a:c:d + b:c:d"
    found = analyze(data, parse_formula(model, data.factors), reduce=True)
    assert {term.name for term in found.fit.matrix.terms} == {"day", "a", "b"}


def test_replicates_in_other_blocks_belong_to_the_same_combination() -> None:
    found = analysed(blocked())
    assert not [note for note in found.notes if "not measured" in note]
    checks = {check.name: check for check in found.checks}
    assert "16 cells" in checks["equal_variances"].sentence


def test_a_block_cannot_be_named_in_a_formula() -> None:
    data = make_dataset(blocked(), "y", ["a"], block="day")
    with pytest.raises(InputError, match="there is no factor day"):
        parse_formula("a*day", data.factors)
