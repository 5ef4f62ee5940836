import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.core.cost import DEFAULT_COST
from coxswain.core.errors import InputError
from coxswain.core.expressions import DEEPEST, FUNCTIONS, LONGEST, parse_expression

NAMES = ("duration", "accuracy", "cores")
VALUES = {"duration": 120.0, "accuracy": 0.8, "cores": 4.0}


def value_of(text: str) -> float:
    return parse_expression(text, NAMES)(VALUES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("duration / (100 * accuracy) ** 2", 120 / 6400),
        ("duration", 120),
        (" \n duration * cores ", 480),
        ("-2 ** 2", -4),
        ("2 ** 3 ** 2", 512),
        ("2 ** -1", 0.5),
        ("+duration - -cores", 124),
        ("10 - 4 - 3", 3),
        ("min(duration, cores, 50)", 4),
        ("max(duration, cores)", 120),
        ("abs(-3) + sqrt(16) + log(exp(2))", 9),
        ("1e3 + .5", 1000.5),
        ("7", 7),
    ],
)
def test_arithmetic_means_what_it_says(text: str, value: float) -> None:
    assert value_of(text) == pytest.approx(value, rel=1e-12)


def test_only_the_names_it_uses_are_asked_for() -> None:
    expression = parse_expression(DEFAULT_COST, NAMES)
    assert expression.names == {"duration", "accuracy"}
    assert expression({"duration": 10.0, "accuracy": 0.5}) == pytest.approx(0.004)
    with pytest.raises(InputError, match="there is no value for accuracy; give one"):
        expression({"duration": 10.0})


def test_arrays_and_columns_give_what_numbers_give() -> None:
    expression = parse_expression("max(duration / cores, 10) ** 0.5", NAMES)
    duration, cores = np.array([10.0, 400.0, 90.0]), np.array([1.0, 4.0, 0.0])
    one_by_one = [expression({"duration": d, "cores": c}) for d, c in zip(duration, cores, strict=True)]
    array = expression({"duration": duration, "cores": cores})
    assert array == pytest.approx(one_by_one, nan_ok=True)
    table = pd.DataFrame({"duration": duration, "cores": cores}, index=[7, 8, 9])
    column = expression(table)
    assert column.index.tolist() == [7, 8, 9]
    assert column.to_numpy() == pytest.approx(one_by_one, nan_ok=True)
    assert math.isnan(column[9])


def test_a_constant_fills_a_column() -> None:
    assert parse_expression("2 + 1", NAMES)(pd.DataFrame({"duration": [1.0, 2.0]})).tolist() == [3, 3]


@pytest.mark.parametrize(
    "text",
    [
        "1 / 0",
        "0 / 0",
        "-1 / 0",
        "log(0)",
        "log(-1)",
        "sqrt(-1)",
        "(-8) ** (1 / 3)",
        "0 ** -1",
        "exp(1000)",
        "1e308 * 10",
        "9 ** 9 ** 9 ** 9 ** 9",
        # and what is computed from such a value does not exist either
        "min(5, 1 / 0)",
        "max(5, log(0))",
        "1 / exp(1000)",
        "(1 / 0) ** 0",
        "1 ** log(-1)",
        "0 * exp(1000)",
    ],
)
def test_what_does_not_exist_is_missing_never_infinite(text: str) -> None:
    assert math.isnan(value_of(text))


def test_a_missing_or_infinite_response_makes_a_missing_cost() -> None:
    expression = parse_expression("min(duration, 5)", NAMES)
    assert math.isnan(expression({"duration": math.nan}))
    assert math.isnan(expression({"duration": math.inf}))
    assert math.isnan(parse_expression("duration", NAMES)({"duration": -math.inf}))
    assert expression(pd.DataFrame({"duration": [None, 3.0]})).isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("duration / acuracy", "uses acuracy, which is not known; the names are accuracy, cores, duration"),
        ("nan", "uses nan, which is not known"),
        ("max", "uses max, which is not known"),
        ("median(duration, 1)", "calls median, which is not known; the functions are abs, exp, log, max, min, sqrt"),
        ("__import__('os')", "calls __import__, which is not known"),
        ("log(1, 2)", "log in the expression .* takes one value, not 2"),
        ("max(1)", "max in the expression .* takes two values or more, not 1"),
        ("max()", "takes two values or more, not 0"),
        ("max(1, *duration)", "is not understood"),
        ("abs(x=1)", "is not understood"),
        ("duration.real", "'duration.real' in the expression 'duration.real' is not understood; use numbers"),
        ("().__class__.__bases__[0].__subclasses__()", "is not understood"),
        ("(lambda: 1)()", "is not understood"),
        ("duration[0]", "is not understood"),
        ("duration // 2", "is not understood"),
        ("duration % 2", "is not understood"),
        ("duration @ cores", "is not understood"),
        ("duration < 2", "is not understood"),
        ("1 if duration else 2", "is not understood"),
        ("duration and 2", "is not understood"),
        ("not duration", "is not understood"),
        ("~duration", "is not understood"),
        ("[duration]", "is not understood"),
        ("[x for x in cores]", "is not understood"),
        ("(duration := 3)", "is not understood"),
        ("f'{duration}'", "is not understood"),
        ("'text'", "is not understood"),
        ("True", "is not understood"),
        ("None", "is not understood"),
        ("1j", "is not understood"),
        ("...", "is not understood"),
        ("1e999", "has a number that is too large"),
        ("9" * 400, "has a number that is too large"),
        ("", "is not an arithmetic expression; write it like duration / accuracy"),
        ("duration +", "is not an arithmetic expression"),
        ("duration = 1", "is not an arithmetic expression"),
        ("import os", "is not an arithmetic expression"),
        ("duration; cores", "is not an arithmetic expression"),
        ("duration\0", "is not an arithmetic expression"),
        ("1or 2", "expression"),
        ("1 +" * 200 + "1", "the expression has 601 characters; use at most 500"),
        ("-" * 300 + "1", "is nested more than 64 deep; simplify it"),
        ("(" * 210 + "1" + ")" * 210, "is not an arithmetic expression"),
        ("+".join("1" * 100), "is nested more than 64 deep"),
    ],
)
def test_all_else_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as refusal:
        parse_expression(text, NAMES)
    assert "\n" not in str(refusal.value)
    assert "\0" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


def test_a_column_of_text_is_named() -> None:
    with pytest.raises(InputError, match="duration must be numbers to compute with"):
        parse_expression("duration * 2", NAMES)(pd.DataFrame({"duration": ["fast", "slow"]}))


def test_the_longest_and_deepest_allowed_can_be_computed() -> None:
    assert value_of("-" * (DEEPEST - 1) + "1") == -1
    assert value_of(f"{'1' * 200} * 0 + {' ' * (LONGEST - 208)}7") == 7


names = st.sampled_from(NAMES)
numbers = st.floats(0, 1e6).map(repr)
trees = st.recursive(
    names | numbers,
    lambda parts: st.one_of(
        st.tuples(parts, st.sampled_from(["+", "-", "*", "/", "**"]), parts).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["abs", "exp", "log", "sqrt"]), parts).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(st.sampled_from(["min", "max"]), parts, parts).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        parts.map(lambda part: f"(-{part})"),
    ),
    max_leaves=8,
)


@given(text=trees)
def test_whatever_is_understood_is_a_number_or_missing(text: str) -> None:
    try:
        value = value_of(text)
    except InputError:
        assert len(text) > LONGEST
    else:
        assert math.isfinite(value) or math.isnan(value)


@given(text=st.text(st.sampled_from("0123456789.e+-*/()[]{}, \n\t:=<>%@~!&|^'\"_#\\jxdurationmx"), max_size=40))
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        parse_expression(text, [*NAMES, "x"])
    except InputError as refusal:
        assert "\n" not in str(refusal)  # noqa: PT017 - most texts are refused, some are not; both are fine


def test_the_functions_are_those_documented() -> None:
    assert FUNCTIONS == ("abs", "exp", "log", "max", "min", "sqrt")
