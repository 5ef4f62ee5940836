"""Blocks: groups of runs made under the same conditions, say on the same day, one group after the other.

Where the number of blocks divides the replications, each block holds whole replicates, and nothing is lost. Otherwise a
regular two-level design is split by the signs of a few effects; these effects, and their products, can then not be told
from differences between the blocks. The effects are chosen so that the shortest of them is as long as possible, and
that as few as possible are that short.

Effects that are aliased share their column and so their fate: the search runs over the classes of aliased effects. A
class is a product of basic factors, again as bits, and a set of p independent classes with all their products is a
p-dimensional space. What is looked for is such a space without short effects: a linear code of large distance.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coxswain.core.designs.words import Fraction, Word
from coxswain.core.errors import InputError

_PATIENCE = 3_000
"""How many partial choices are looked at for each length, before a shorter one is tried."""


@dataclass(frozen=True)
class Blocking:
    """The effects whose signs split the rows, and all that are confounded with blocks by it."""

    splitting: tuple[Word, ...]
    confounded: tuple[Word, ...]

    def block_of(self, signs: Sequence[float]) -> int:
        """The block of a row, whose coded values are -1 and +1."""
        bits = (np.prod([signs[index] for index in word.members]) > 0 for word in self.splitting)
        return sum(int(bit) << place for place, bit in enumerate(bits))


def choose_blocking(fraction: Fraction, blocks: int) -> Blocking:
    """The best way found to split a regular design into blocks.

    Raises:
        InputError: if the blocks are no power of two, or so many that a main effect would be lost.
    """
    dimension = blocks.bit_length() - 1
    if blocks != 1 << dimension:
        raise InputError(
            f"blocks is {blocks}; give a power of two (2, 4, 8, …), or replications that are a multiple of it."
        )
    shortest = _shortest_effects(fraction)
    lengths = np.array([effect.mask.bit_count() for effect in shortest])
    for least in range(int(lengths.max()), 1, -1):
        tried = itertools.islice(_spaces(lengths, dimension, least), _PATIENCE)
        spaces = [space for space in tried if space is not None]
        if spaces:
            best = min(spaces, key=lambda space: _pattern(lengths, space))
            return Blocking(
                splitting=tuple(shortest[best[1 << place]] for place in range(dimension)),
                confounded=tuple(sorted((shortest[index] for index in best[1:]), key=lambda word: word.sort_key)),
            )
    raise InputError(f"blocks is {blocks}; with so many a main effect could not be told from blocks, so give fewer.")


def _shortest_effects(fraction: Fraction) -> list[Word]:
    """Of each class of aliased effects the shortest; class 0 is the identity."""
    place = {index: 1 << position for position, index in enumerate(fraction.basic)}
    for word in fraction.words:
        *others, last = word.members
        place[last] = sum(place[index] for index in others)
    found: dict[int, Word] = {0: Word(0)}
    for size in range(1, fraction.count + 1):
        for members in itertools.combinations(range(fraction.count), size):
            alias_class = 0
            for index in members:
                alias_class ^= place[index]
            found.setdefault(alias_class, Word(sum(1 << index for index in members)))
        if len(found) == 1 << len(fraction.basic):
            break
    return [found[alias_class] for alias_class in range(len(found))]


def _spaces(lengths: NDArray[np.int64], dimension: int, least: int) -> Iterator[NDArray[np.int64] | None]:
    """Spaces of classes without effects shorter than `least`, depth first; None for each partial choice on the way."""

    def grow(space: NDArray[np.int64], candidates: NDArray[np.int64]) -> Iterator[NDArray[np.int64] | None]:
        if len(space) == 1 << dimension:
            yield space
            return
        yield None
        for position, candidate in enumerate(candidates):
            larger = np.concatenate([space, space ^ candidate])
            rest = candidates[position + 1 :]
            yield from grow(larger, rest[(lengths[larger[:, None] ^ rest] >= least).all(axis=0)])

    yield from grow(np.zeros(1, dtype=np.int64), np.flatnonzero(lengths >= least))


def _pattern(lengths: NDArray[np.int64], space: NDArray[np.int64]) -> tuple[int, ...]:
    """How many effects of each length a space confounds: the smaller, the better."""
    return tuple(np.bincount(lengths[space[1:]]).tolist())
