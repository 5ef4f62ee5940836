import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.core.analysis import interactions, parse_formula
from coxswain.core.analysis.terms import Term, missing_parts, removable
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor

FACTORS = (
    Factor("a", levels=(1, 2, 3)),
    Factor("b", levels=(1, 2)),
    Factor("c", levels=(1, 2)),
    Factor("batch size", levels=(32, 64)),
    Factor("net", categories=("deep", "shallow")),
)


def names(terms: tuple[Term, ...] | list[Term]) -> list[str]:
    return [term.name for term in terms]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("a", ["a"]),
        ("b + a", ["b", "a"]),
        ("a:b", ["a:b"]),
        ("b:a", ["a:b"]),
        ("a*b", ["a", "b", "a:b"]),
        ("a*b*c", ["a", "b", "a:b", "c", "a:c", "b:c", "a:b:c"]),
        ("(a + b)*c", ["a", "b", "c", "a:c", "b:c"]),
        ("(a + b + c)^2", ["a", "b", "c", "a:b", "a:c", "b:c"]),
        ("a^2", ["a^2"]),
        ("a + a^2 + a^2:b", ["a", "a^2", "a^2:b"]),
        ("a + a + a:a", ["a"]),
        ("batch size*net", ["batch size", "net", "batch size:net"]),
        ("(a)", ["a"]),
    ],
)
def test_formulas_mean_terms_in_the_order_they_give_them(formula: str, expected: list[str]) -> None:
    assert names(parse_formula(formula, FACTORS)) == expected


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("a + d", "there is no factor d; the factors are a, b, c, batch size, net"),
        ("ab", "there is no factor ab"),
        ("1 + a", "there is no factor 1"),
        ("", "something is missing at the end"),
        ("a +", "something is missing at the end"),
        ("a b", "'b' is not expected"),
        ("(a + b", "something is missing at the end"),
        ("a)", r"'\)' is not expected"),
        ("a - b", "'-' is not expected"),
        ("net^2", "net has categories, which have no powers"),
        ("a^b", "write a whole number from 1 to 9"),
        ("a^99", "write a whole number from 1 to 9"),
        ("y ~ a", "give only what stands right of the ~"),
        ("__import__('os')", "there is no factor __import__"),
    ],
)
def test_what_is_not_understood_is_quoted_in_one_sentence(formula: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        parse_formula(formula, FACTORS)
    assert str(caught.value).startswith(f"formula '{formula}': ")


@given(st.permutations(["a", "b", "c"]))
def test_crossing_gives_every_interaction_whatever_the_order(order: list[str]) -> None:
    assert set(parse_formula("*".join(order), FACTORS)) == set(interactions(FACTORS[:3], 3))


def test_interactions_go_up_to_the_order_and_no_further_than_the_factors() -> None:
    assert names(interactions(FACTORS[:3], 2)) == ["a", "b", "c", "a:b", "a:c", "b:c"]
    assert names(interactions(FACTORS[:2], 7)) == ["a", "b", "a:b"]
    with pytest.raises(InputError, match="interactions up to order 0 make no model"):
        interactions(FACTORS, 0)


def test_only_terms_that_no_other_contains_may_go() -> None:
    assert names(removable(parse_formula("a*b + c + a^2", FACTORS))) == ["a:b", "c", "a^2"]


def test_a_model_knows_what_it_lacks_to_be_hierarchical() -> None:
    assert names(missing_parts(parse_formula("b + a^2:b", FACTORS))) == ["a", "a^2", "a:b"]
    assert missing_parts(parse_formula("a*b", FACTORS)) == []
