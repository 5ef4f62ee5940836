"""Blocks of two-level designs: nothing shorter is confounded than must be, and what is confounded is told."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.core.designs import Design, FractionalFactorial, FullFactorial, Word, build
from coxswain.core.errors import InputError
from tests.unit.designs.making import coded, factors

# The longest that the shortest confounded effect of a full 2^k in 2^p blocks can be: the largest distance of a binary
# linear code of length k and dimension p (Brouwer's tables).
LARGEST_DISTANCE = {
    (3, 1): 3, (3, 2): 2,
    (4, 1): 4, (4, 2): 2, (4, 3): 2,
    (5, 1): 5, (5, 2): 3, (5, 3): 2, (5, 4): 2,
    (6, 1): 6, (6, 2): 4, (6, 3): 3, (6, 4): 2, (6, 5): 2,
    (7, 1): 7, (7, 2): 4, (7, 3): 4, (7, 4): 3, (7, 5): 2,
    (8, 1): 8, (8, 2): 5, (8, 3): 4, (8, 4): 4, (8, 5): 2,
}  # fmt: skip


def confounded_by_columns(design: Design) -> set[int]:
    """Effects that are constant in every block but not in the whole design, found by trying them all."""
    signs = coded(design)
    blocks = np.array([row.block for row in design.rows])
    found = set()
    for size in range(1, len(design.factors) + 1):
        for members in itertools.combinations(range(len(design.factors)), size):
            column = signs[:, list(members)].prod(axis=1)
            by_block = {block: set(column[blocks == block]) for block in set(blocks)}
            if all(len(values) == 1 for values in by_block.values()) and len(set(column)) > 1:
                found.add(sum(1 << index for index in members))
    return found


@pytest.mark.parametrize(("count", "dimension"), LARGEST_DISTANCE)
def test_the_shortest_confounded_effect_is_as_long_as_it_can_be(count: int, dimension: int) -> None:
    design = build(factors(count), FullFactorial(blocks=2**dimension))
    shortest = min(word.mask.bit_count() for word in design.confounded)
    assert shortest == LARGEST_DISTANCE[count, dimension]


@given(st.integers(3, 6), st.integers(1, 3))
def test_blocks_are_equal_in_size_and_confounded_with_exactly_the_effects_told(count: int, dimension: int) -> None:
    blocks = 2 ** min(dimension, count - 1)
    design = build(factors(count), FullFactorial(blocks=blocks))
    sizes = np.bincount([row.block or 0 for row in design.rows])
    assert sizes.tolist() == [2**count // blocks] * blocks
    assert {word.mask for word in design.confounded} == confounded_by_columns(design)


def test_a_fraction_is_blocked_too_and_aliases_share_the_fate() -> None:
    design = build(factors(5), FractionalFactorial(generators=("E=ABCD",), blocks=2))
    assert design.fraction is not None
    confounded = confounded_by_columns(design)
    (word,) = design.confounded
    relation = [Word(0), *design.fraction.defining_relation]
    assert confounded == {(word * other).mask for other in relation}
    assert min(mask.bit_count() for mask in confounded) == 2  # of five factors in two blocks of eight, one pair is lost


def test_runs_go_block_by_block_and_centre_points_are_dealt_out() -> None:
    design = build(factors(3), FullFactorial(blocks=2, center_points=4, replications=3))
    blocks = [run.block for run in design.runs]
    assert blocks == sorted(blocks)
    assert np.bincount(blocks).tolist() == [18, 18]
    assert [row.block for row in design.rows if row.is_center] == [0, 1, 0, 1]
    assert [str(word) for word in design.confounded] == ["ABC"]


def test_impossible_blocks_are_refused() -> None:
    with pytest.raises(InputError, match="blocks is 3; give a power of two"):
        build(factors(3), FullFactorial(blocks=3))
    with pytest.raises(InputError, match="blocks is 8; with so many a main effect could not be told from blocks"):
        build(factors(3), FullFactorial(blocks=8))
    with pytest.raises(InputError, match="FullFactorial can only be blocked by its replicates"):
        build(factors(2, levels=(1, 2, 3)), FullFactorial(blocks=2))
