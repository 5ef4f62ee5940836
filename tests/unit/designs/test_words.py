"""Words, defining relations and aliases, held against the columns themselves."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from coxswain.core.designs import Fraction, Word
from coxswain.core.designs.generators import parse_generator, smallest_fraction, standard_fractions
from coxswain.core.errors import InputError

# Word lengths of minimum-aberration designs by (factors, generators), from Chen, Sun and Wu 1993; half fractions and
# the last three have the longest words that two or three generators over 10 or 11 letters can have.
MINIMUM_ABERRATION = {
    (5, 2): {3: 2, 4: 1},
    (6, 2): {4: 3},
    (6, 3): {3: 4, 4: 3},
    (7, 2): {4: 1, 5: 2},
    (7, 3): {4: 7},
    (7, 4): {3: 7, 4: 7, 7: 1},
    (8, 2): {5: 2, 6: 1},
    (8, 3): {4: 3, 5: 4},
    (8, 4): {4: 14, 8: 1},
    (9, 2): {6: 3},
    (9, 3): {4: 1, 5: 4, 6: 2},
    (9, 4): {4: 6, 5: 8, 8: 1},
    (9, 5): {3: 4, 4: 14, 5: 8, 7: 4, 8: 1},
    (10, 3): {5: 3, 6: 3, 7: 1},
    (10, 4): {4: 2, 5: 8, 6: 4, 8: 1},
    (10, 5): {4: 10, 5: 16, 8: 5},
    (10, 6): {3: 8, 4: 18, 5: 16, 6: 8, 7: 8, 8: 5},
    (11, 4): {5: 6, 6: 6, 7: 2, 8: 1},
    (11, 5): {4: 4, 5: 14, 6: 8, 8: 3, 9: 2},
    (11, 6): {4: 25, 6: 27, 8: 10, 10: 1},
    (11, 7): {3: 12, 4: 26, 5: 28, 6: 24, 7: 20, 8: 13, 9: 4},
    (10, 2): {6: 1, 7: 2},
    (11, 2): {7: 2, 8: 1},
    (11, 3): {6: 6, 8: 1},
}


@st.composite
def fractions(draw: st.DrawFn) -> Fraction:
    """Fractions whose generators are random products of the first factors, with random signs."""
    basic = draw(st.integers(2, 5))
    products = [mask for mask in range(1, 1 << basic) if mask.bit_count() > 1]
    chosen = draw(st.lists(st.sampled_from(products), unique=True, max_size=4))
    words = [Word(1 << (basic + place) | mask, draw(st.sampled_from((1, -1)))) for place, mask in enumerate(chosen)]
    return Fraction.of(basic + len(chosen), words)


def column(signs: NDArray[np.int64], word: Word) -> NDArray[np.int64]:
    product: NDArray[np.int64] = word.sign * signs[:, list(word.members)].prod(axis=1)
    return product


def effects(count: int, order: int) -> list[Word]:
    members = itertools.chain(*(itertools.combinations(range(count), size) for size in range(1, order + 1)))
    return [Word(sum(1 << index for index in group)) for group in members]


@given(fractions())
def test_a_fraction_is_balanced_and_orthogonal(fraction: Fraction) -> None:
    signs = fraction.columns()
    rows = 1 << (fraction.count - len(fraction.words))
    assert len({tuple(row) for row in signs.tolist()}) == len(signs) == rows
    np.testing.assert_array_equal(signs.sum(axis=0), 0)
    np.testing.assert_array_equal(signs.T @ signs, rows * np.eye(fraction.count))


@given(fractions())
def test_the_stated_resolution_is_the_shortest_word_and_the_shortest_constant_column(fraction: Fraction) -> None:
    signs = fraction.columns()
    constant = [
        word for word in effects(fraction.count, fraction.count) if abs(column(signs, word).sum()) == len(signs)
    ]
    assert fraction.resolution == min((word.mask.bit_count() for word in constant), default=None)
    assert {word.mask for word in fraction.defining_relation} == {word.mask for word in constant}
    assert sum(fraction.word_lengths.values()) == len(constant) == 2 ** len(fraction.words) - 1
    for word in fraction.defining_relation:
        np.testing.assert_array_equal(column(signs, word), 1)


@given(fractions(), st.integers(1, 4))
def test_aliased_effects_share_a_column_and_others_are_orthogonal(fraction: Fraction, order: int) -> None:
    signs = fraction.columns()
    groups = [group for group in fraction.aliases(order) if group[0].mask]
    for group in groups:
        for word in group:
            np.testing.assert_array_equal(column(signs, word), column(signs, group[0]))
    for one, other in itertools.combinations((group[0] for group in groups), 2):
        assert column(signs, one) @ column(signs, other) == 0
    constant = {word.mask for word in fraction.defining_relation}
    listed = sorted(word.mask for group in groups for word in group)
    assert listed == sorted(
        w.mask for w in effects(fraction.count, min(order, fraction.count)) if w.mask not in constant
    )


@given(fractions(), st.data())
def test_fold_over_keeps_exactly_the_words_that_hold_in_both_halves(fraction: Fraction, data: st.DataObject) -> None:
    mask = data.draw(st.integers(1, (1 << fraction.count) - 1))
    signs = fraction.columns()
    flipped = signs * [-1 if mask >> index & 1 else 1 for index in range(fraction.count)]
    both = np.vstack([signs, flipped])
    held = {word.mask for word in effects(fraction.count, fraction.count) if abs(column(both, word).sum()) == len(both)}
    assert {word.mask for word in fraction.folded(mask).defining_relation} == held


@pytest.mark.parametrize("count", range(3, 12))
def test_standard_fractions_have_minimum_aberration(count: int) -> None:
    found = {len(fraction.words): fraction for fraction in standard_fractions(count)}
    assert found[0].resolution is None
    assert found[1].word_lengths == {count: 1}
    for generators, fraction in found.items():
        if generators > 1:
            assert fraction.word_lengths == MINIMUM_ABERRATION[count, generators]
    # No size is missing, down to the smallest that can hold so many factors.
    assert set(found) == {generators for generators in range(count) if 1 << (count - generators) > count}


@given(st.integers(3, 11), st.integers(3, 12))
def test_by_resolution_the_smallest_fraction_is_chosen(count: int, resolution: int) -> None:
    chosen = smallest_fraction(count, resolution)
    assert chosen.resolution is None or chosen.resolution >= resolution
    smaller = [other for other in standard_fractions(count) if len(other.words) > len(chosen.words)]
    assert all(other.resolution is not None and other.resolution < resolution for other in smaller)


NAMES = ("cores", "workers", "batch_size", "learning_rate", "max_epoch")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("D=AB", "ABD"),
        ("D = -AB", "-ABD"),
        ("E=+ABCD", "ABCDE"),
        ("max_epoch=cores*batch_size", "ACE"),
        ("max_epoch=-cores * batch_size", "-ACE"),
        ("I=ABCDE", "ABCDE"),
        ("I=-ABD", "-ABD"),
    ],
)
def test_generators_are_read_by_letters_and_by_names(text: str, word: str) -> None:
    assert str(parse_generator(text, NAMES)) == word


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("D", "generator 'D': write it as D=AB, or by names as d=a*b."),
        ("D=", "generator 'D=': write it as D=AB, or by names as d=a*b."),
        ("D=AX", "effect 'AX': 'X' is no factor; there are A (cores), B (workers), C (batch_size)"),
        ("max_epoch=cores*epochs", "effect 'cores*epochs': 'e' is no factor"),
        ("D=AA", "effect 'AA' names factor cores twice; name it once."),
        ("max_epoch=cores*", "effect 'cores*' has an empty part"),
    ],
)
def test_a_generator_that_names_no_factor_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_generator(text, NAMES)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("generators", "sentence"),
    [
        (("D=AB", "D=AB"), "generators: I=ABD follows from the others; change it."),
        (("D=AB", "D=-AB"), "generators: I=-ABD contradicts the others; change it."),
        (("D=AB", "D=AC"), "generators: together they imply I=BC; each product of them needs at least three letters."),
        (
            ("B=A", "C=A", "D=A", "E=A"),
            "generators: with 4 of them there are 2 rows, too few for 5 factors; give fewer.",
        ),
    ],
)
def test_generators_that_make_no_design_are_refused(generators: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Fraction.of(5, [parse_generator(text, NAMES) for text in generators])
    assert str(caught.value) == sentence


def test_too_many_effects_to_list_are_refused() -> None:
    with pytest.raises(InputError, match="aliases: order 12 has 32646 effects; ask for a lower order"):
        Fraction(15).aliases(12)


def test_the_letter_i_stands_for_no_factor() -> None:
    assert str(Word(1 << 8)) == "J"
    assert str(Word(0)) == "I"
