import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.core.errors import InputError
from coxswain.core.factors import Coding, Factor, letters

numbers = st.floats(min_value=1e-3, max_value=1e6)
codings = st.sampled_from(Coding)


@given(st.lists(numbers, min_size=2, max_size=6, unique=True), codings)
def test_levels_lie_between_minus_one_and_one_and_decode_to_themselves(levels: list[float], coding: Coding) -> None:
    factor = Factor("a", levels=tuple(levels), coding=coding)
    coded = [factor.code(level) for level in factor.levels]
    assert coded[0] == pytest.approx(-1)
    assert coded[-1] == pytest.approx(1)
    assert coded == sorted(coded)
    for level, place in zip(factor.levels, coded, strict=True):
        # Levels closer than the tolerance of decode are the same place.
        assert factor.code(factor.decode(place)) == pytest.approx(place, abs=1e-8)
        assert factor.decode(place) == pytest.approx(level, rel=1e-5, abs=1e-6 * (factor.levels[-1]))


def test_the_middle_of_a_log_coded_factor_is_its_geometric_mean() -> None:
    batch = Factor("batch", levels=(32, 512), coding=Coding.LOG)
    assert batch.code(128) == pytest.approx(0)
    assert batch.decode(0) == pytest.approx(128)
    assert Factor("batch", levels=(32, 512)).decode(0) == pytest.approx(272)


def test_beyond_the_levels_is_outside_one() -> None:
    assert Factor("cores", levels=(1, 3)).code(4) == pytest.approx(2)


def test_levels_are_sorted_and_categories_keep_their_order() -> None:
    assert Factor("cores", levels=(3, 1, 2)).extremes == (1.0, 3.0)
    assert Factor("network", categories=("small", "large")).extremes == ("small", "large")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "give either levels"),
        ({"levels": (1, 2), "categories": ("x", "y")}, "give either levels"),
        ({"levels": (1,)}, "at least two distinct values"),
        ({"categories": ("x", "x")}, "at least two distinct values"),
        ({"levels": (1, math.inf)}, "must be finite"),
        ({"levels": (0, 1), "coding": Coding.LOG}, "coding Log needs numeric levels above 0"),
        ({"categories": ("x", "y"), "coding": Coding.LOG}, "coding Log needs numeric levels above 0"),
    ],
)
def test_a_factor_that_makes_no_sense_is_refused(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=f"factor a: .*{sentence}"):
        Factor("a", **arguments)  # type: ignore[arg-type]


def test_zero_has_no_logarithm() -> None:
    with pytest.raises(InputError, match="factor batch: 0 cannot be coded by its logarithm"):
        Factor("batch", levels=(32, 512), coding=Coding.LOG).code(0)


def test_letters_leave_out_the_identity() -> None:
    assert "".join(letters(10)) == "ABCDEFGHJK"
    with pytest.raises(InputError, match="26 factors are more than the 25"):
        letters(26)
