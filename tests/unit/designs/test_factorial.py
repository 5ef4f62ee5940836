"""Two-level fractions as designs: by resolution, by generators, folded over."""

from collections.abc import Callable

import pytest

from coxswain.core.designs import FractionalFactorial, build
from coxswain.core.errors import InputError
from tests.unit.designs.making import coded, factors


@pytest.mark.parametrize(
    ("count", "resolution", "rows"), [(3, 3, 4), (5, 5, 16), (7, 3, 8), (8, 4, 16), (11, 4, 32), (11, 5, 128)]
)
def test_a_resolution_is_reached_with_the_fewest_rows(count: int, resolution: int, rows: int) -> None:
    design = build(factors(count), FractionalFactorial(resolution=resolution))
    assert len(design.rows) == rows
    assert (design.resolution or 0) >= resolution
    assert design.notes == ()


def test_where_no_fraction_has_the_resolution_it_is_the_full_factorial_and_says_so() -> None:
    design = build(factors(4), FractionalFactorial(resolution=5))
    assert len(design.rows) == 16
    assert design.resolution is None
    assert design.notes == ("No fraction of 4 factors has resolution 5; this is the full factorial.",)


def test_a_minus_gives_the_other_half() -> None:
    halves = [coded(build(factors(3), FractionalFactorial(generators=(text,)))) for text in ("C=AB", "C=-AB")]
    rows = {tuple(row) for half in halves for row in half.tolist()}
    assert len(rows) == 8


def test_generators_may_build_on_each_other() -> None:
    chained = build(factors(6), FractionalFactorial(generators=("D=AB", "F=DCE")))
    assert chained.fraction is not None
    assert chained.fraction.generators == ("D=AB", "F=ABCE")


def test_a_full_fold_over_turns_resolution_three_into_four() -> None:
    """The defining relation loses its odd words: of ABD, ACE and BCDE the last is left."""
    design = build(factors(5), FractionalFactorial(generators=("D=AB", "E=AC"), fold_over="All"))
    assert len({tuple(row.settings.values()) for row in design.rows}) == 16
    assert design.fraction is not None
    assert design.resolution == 4
    assert [str(word) for word in design.fraction.defining_relation] == ["BCDE"]


@pytest.mark.parametrize("factor", ["A", "f0"])
def test_a_fold_over_on_one_factor_frees_it_and_its_interactions(factor: str) -> None:
    design = build(factors(7), FractionalFactorial(resolution=3, fold_over=factor))
    assert design.fraction is not None
    groups = design.fraction.aliases(2)
    assert all(len(group) == 1 for group in groups if "A" in str(group[0]))
    assert any(len(group) > 1 for group in groups)


@pytest.mark.parametrize(
    ("count", "options", "sentence"),
    [
        (5, FractionalFactorial, "FractionalFactorial: give either generators or a resolution."),
        (
            5,
            lambda: FractionalFactorial(generators=("D=AB",), resolution=3),
            "FractionalFactorial: give either generators or a resolution.",
        ),
        (5, lambda: FractionalFactorial(resolution=2), "resolution is 2; give 3 or more."),
        (
            12,
            lambda: FractionalFactorial(resolution=4),
            "resolution: the standard tables are for 3 to 11 factors, not 12; give generators.",
        ),
        (
            4,
            lambda: FractionalFactorial(resolution=4, fold_over="All"),
            "foldOver All: the mirror image has the same rows; fold over on another factor.",
        ),
        (
            5,
            lambda: FractionalFactorial(resolution=3, fold_over="G"),
            "effect 'G': 'G' is no factor; there are A (f0), B (f1), C (f2), D (f3), E (f4).",
        ),
    ],
)
def test_what_cannot_be_built_is_refused(count: int, options: Callable[[], FractionalFactorial], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        build(factors(count), options())
    assert str(caught.value) == sentence
