"""Tables equal to published ones; tests/golden/designs/README.md says where each is from."""

import itertools

import numpy as np
import pytest

from coxswain.core.designs import (
    Alpha,
    BoxBehnken,
    CentralComposite,
    DefinitiveScreening,
    DesignOptions,
    FractionalFactorial,
    PlackettBurman,
    build,
)
from tests.unit.designs.making import coded, factors, published


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ("2_5-2.csv", FractionalFactorial(generators=("D=AB", "E=AC"))),
        ("2_5-2.csv", FractionalFactorial(resolution=3)),
        ("2_6-1.csv", FractionalFactorial(generators=("F=ABCDE",))),
        ("2_6-1.csv", FractionalFactorial(generators=("I=ABCDEF",))),
        ("2_6-1.csv", FractionalFactorial(resolution=5)),
        ("2_7-3.csv", FractionalFactorial(generators=("E=ABC", "F=BCD", "G=ACD"))),
        ("2_7-3.csv", FractionalFactorial(resolution=4)),
        ("plackett_burman_12.csv", PlackettBurman()),
        ("plackett_burman_20.csv", PlackettBurman()),
        ("central_composite_3.csv", CentralComposite(alpha=Alpha.ROTATABLE)),
        ("central_composite_4.csv", CentralComposite(alpha=Alpha.ROTATABLE)),
        ("box_behnken_3.csv", BoxBehnken()),
    ],
)
def test_rows_in_standard_order_are_the_published_ones(table: str, options: DesignOptions) -> None:
    expected = published(table)
    made = coded(build(factors(expected.shape[1]), options))
    np.testing.assert_allclose(made, expected, atol=5e-4)  # the tables print three decimals


def test_box_behnken_4_has_the_published_runs_in_another_order() -> None:
    """The source runs it in three blocks with a centre point each."""
    made = coded(build(factors(4), BoxBehnken()))
    assert sorted(made.tolist()) == sorted(published("box_behnken_4.csv").tolist())


def test_definitive_screening_6_is_the_published_one_up_to_the_naming_of_factors_and_levels() -> None:
    table = published("definitive_screening_6.csv")
    made = coded(build(factors(6), DefinitiveScreening()))
    assert made.shape == (13, 6)
    rows = {tuple(row) for row in made.tolist()}

    def same_after(order: tuple[int, ...]) -> bool:
        return any(
            {tuple(row) for row in (table[:, order] * signs).tolist()} == rows
            for signs in itertools.product((1, -1), repeat=6)
        )

    assert any(same_after(order) for order in itertools.permutations(range(6)))


def test_aliases_of_the_2_5_2_design_are_the_published_ones() -> None:
    fraction = build(factors(5), FractionalFactorial(generators=("D=AB", "E=AC"))).fraction
    assert fraction is not None
    assert fraction.resolution == 3
    assert fraction.generators == ("D=AB", "E=AC")
    assert [str(word) for word in fraction.defining_relation] == ["ABD", "ACE", "BCDE"]
    assert [[str(word) for word in group] for group in fraction.aliases(5)] == [
        ["I", "ABD", "ACE", "BCDE"],
        ["A", "BD", "CE", "ABCDE"],
        ["B", "AD", "CDE", "ABCE"],
        ["C", "AE", "BDE", "ABCD"],
        ["D", "AB", "BCE", "ACDE"],
        ["E", "AC", "BCD", "ABDE"],
        ["BC", "DE", "ABE", "ACD"],
        ["BE", "CD", "ABC", "ADE"],
    ]


def test_aliases_of_the_2_7_3_design_are_the_published_ones() -> None:
    fraction = build(factors(7), FractionalFactorial(resolution=4)).fraction
    assert fraction is not None
    assert {str(word) for word in fraction.defining_relation} == {
        *("ABCE", "BCDF", "ACDG", "ADEF", "BDEG", "ABFG", "CEFG"),
    }
    pairs = [{str(word) for word in group} for group in fraction.aliases(2) if len(group) > 1]
    assert pairs == [
        {"AB", "CE", "FG"},
        {"AC", "BE", "DG"},
        {"AD", "CG", "EF"},
        {"AE", "BC", "DF"},
        {"AF", "BG", "DE"},
        {"AG", "BF", "CD"},
        {"BD", "CF", "EG"},
    ]


def test_the_2_6_1_design_has_resolution_six_and_clear_two_factor_interactions() -> None:
    fraction = build(factors(6), FractionalFactorial(generators=("F=ABCDE",))).fraction
    assert fraction is not None
    assert fraction.resolution == 6
    assert all(len(group) == 1 for group in fraction.aliases(2))
    assert [str(word) for word in fraction.aliases(5)[0]] == ["A", "BCDEF"]
