"""Plackett-Burman and definitive screening designs of every size."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coxswain.core.designs import DefinitiveScreening, PlackettBurman, build
from coxswain.core.designs.matrices import conference
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor
from tests.unit.designs.making import coded, factors

# Plackett and Burman 1946, p. 323: the generating columns of their cyclic designs.
PUBLISHED_COLUMNS = {
    12: "++-+++---+-",
    20: "++--++++-+-+----++-",
    24: "+++++-+-++--++--+-+----",
    44: "++--+-+--+++-+++++---+-+++-----+---++-+-++-",
    48: "+++++-++++--+-+-+++--+--++-++---+-+-++----+----",
}


@pytest.mark.parametrize("size", range(8, 49, 4))
def test_a_saturated_plackett_burman_design_is_balanced_and_orthogonal(size: int) -> None:
    signs = coded(build(factors(size - 1), PlackettBurman()))
    assert signs.shape == (size, size - 1)
    assert (np.abs(signs) == 1).all()
    np.testing.assert_array_equal(signs.sum(axis=0), 0)
    np.testing.assert_array_equal(signs.T @ signs, size * np.eye(size - 1))


@pytest.mark.parametrize(("size", "column"), PUBLISHED_COLUMNS.items())
def test_the_first_column_is_the_published_one(size: int, column: str) -> None:
    signs = coded(build(factors(size - 1), PlackettBurman()))
    assert "".join("+" if sign > 0 else "-" for sign in signs[:-1, 0]) == column


@settings(max_examples=30)
@given(st.integers(3, 47), st.data())
def test_fewer_factors_use_the_smallest_size_or_the_one_asked_for(count: int, data: st.DataObject) -> None:
    smallest = max(8, count - count % 4 + 4)
    assert len(build(factors(count), PlackettBurman()).rows) == smallest
    size = data.draw(
        st.sampled_from([size for size in range(smallest, 49, 4) if size & (size - 1) or 2**count >= size])
    )
    signs = coded(build(factors(count), PlackettBurman(size=size)))
    np.testing.assert_array_equal(signs.T @ signs, size * np.eye(count))


@pytest.mark.parametrize(
    ("count", "size", "resolution"), [(4, 8, 4), (5, 8, 3), (7, 8, 3), (8, 16, 4), (9, 16, 3), (16, 32, 4)]
)
def test_with_a_power_of_two_rows_it_is_a_regular_fraction_of_the_best_resolution(
    count: int, size: int, resolution: int
) -> None:
    assert build(factors(count), PlackettBurman(size=size)).resolution == resolution


def main_effects_are_clear_of_interactions(signs: np.ndarray) -> bool:
    pairs = itertools.combinations(range(signs.shape[1]), 2)
    return all(not (signs.T @ (signs[:, a] * signs[:, b])).any() for a, b in pairs)


@pytest.mark.parametrize("count", [7, 11])
def test_folding_over_frees_main_effects_of_two_factor_interactions(count: int) -> None:
    plain = coded(build(factors(count), PlackettBurman()))
    folded = build(factors(count), PlackettBurman(fold_over="All"))
    assert not main_effects_are_clear_of_interactions(plain)
    assert len(folded.rows) == 2 * len(plain)
    assert main_effects_are_clear_of_interactions(coded(folded))


def test_folding_over_one_factor_frees_it_and_its_interactions() -> None:
    signs = coded(build(factors(11), PlackettBurman(fold_over="C")))
    others = [index for index in range(11) if index != 2]
    for a, b in itertools.combinations(others, 2):
        assert signs[:, 2] @ (signs[:, a] * signs[:, b]) == 0


@pytest.mark.parametrize("count", range(3, 31))
def test_a_definitive_screening_design_is_a_folded_conference_matrix_and_the_centre(count: int) -> None:
    design = build(factors(count), DefinitiveScreening())
    places = coded(design)
    *pairs, center = places.tolist()
    assert not any(center)
    assert design.rows[-1].is_center
    np.testing.assert_array_equal(pairs[::2], -np.array(pairs[1::2]))
    np.testing.assert_array_equal(np.diag(pairs[::2]), 0)
    np.testing.assert_array_equal((places == 0).sum(axis=0), 3)
    size = len(pairs) // 2
    assert size == len(conference(max(4, count)))
    np.testing.assert_array_equal(places.T @ places, 2 * (size - 1) * np.eye(count))
    for a, b in itertools.combinations_with_replacement(range(count), 2):
        assert not (places.T @ (places[:, a] * places[:, b])).any()


@pytest.mark.parametrize(("count", "rows"), [(4, 9), (6, 13), (7, 17), (8, 17), (10, 21), (15, 33), (16, 33), (18, 37)])
def test_an_odd_number_of_factors_takes_the_next_even_matrix(count: int, rows: int) -> None:
    assert len(build(factors(count), DefinitiveScreening()).rows) == rows


@pytest.mark.parametrize(
    ("options", "count", "sentence"),
    [
        (PlackettBurman(size=10), 5, "5 factors and runs 10; runs must be a multiple of 4"),
        (PlackettBurman(size=8), 8, "8 factors and runs 8; runs must be a multiple of 4, more than the factors"),
        (PlackettBurman(), 48, "48 factors and runs 52"),
        (PlackettBurman(size=16), 3, "3 factors have only 8 combinations, fewer than 16 rows; use FullFactorial"),
        (PlackettBurman(fold_over="AB"), 11, "foldOver is 'AB'; give All or one factor"),
        (PlackettBurman(size=16, fold_over="All"), 8, "foldOver All: the mirror image has the same rows"),
        (DefinitiveScreening(), 2, "DefinitiveScreening needs at least 3 factors, not 2"),
        (DefinitiveScreening(), 51, "DefinitiveScreening takes up to 50 factors, not 51"),
    ],
)
def test_what_cannot_be_built_is_refused(
    options: PlackettBurman | DefinitiveScreening, count: int, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        build(factors(count), options)


def test_three_levels_need_room_between_the_levels() -> None:
    given_factors = [*factors(3), Factor("workers", levels=(1, 2), whole=True)]
    with pytest.raises(
        InputError, match="factor workers: whole numbers between 1 and 2 leave no room for the 3 levels"
    ):
        build(given_factors, DefinitiveScreening())
    with pytest.raises(InputError, match="factor network has categories, but DefinitiveScreening needs values between"):
        build([*factors(3), Factor("network", categories=("a", "b"))], DefinitiveScreening())
    rounded = build([*factors(3), Factor("workers", levels=(1, 4), whole=True)], DefinitiveScreening())
    assert rounded.notes == ("workers takes whole numbers; its levels are rounded to 1, 3 and 4.",)
