"""Effects of two-level factors as words, and what a fraction makes of them.

In a two-level design every factor's column is -1 or +1, and the column of an interaction is the product of its factors'
columns. Written as letters, an effect is a word: ABD is the interaction of A, B and D. A letter twice cancels, because
a column times itself is all +1, so words multiply by exclusive or of their letters, here the bits of an integer.

A fraction keeps only the rows in which certain words equal +1 or -1. Those words and all their products are its
defining relation; the shortest of them has as many letters as the resolution; and two effects are aliased, that is,
have the same column up to the sign, exactly when their product is in the relation.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from coxswain.core.errors import InputError
from coxswain.core.factors import letters

MOST_EFFECTS = 20_000
"""An alias table longer than this helps nobody."""


@dataclass(frozen=True)
class Word:
    """An effect, its factors as bits, with the sign its column has."""

    mask: int
    sign: int = 1

    def __mul__(self, other: Self) -> Self:
        """The product of two columns."""
        return type(self)(self.mask ^ other.mask, self.sign * other.sign)

    @property
    def members(self) -> tuple[int, ...]:
        """The indices of the factors in it."""
        return tuple(index for index in range(self.mask.bit_length()) if self.mask >> index & 1)

    @property
    def sort_key(self) -> tuple[int, tuple[int, ...]]:
        """Short before long, then as in a dictionary."""
        return self.mask.bit_count(), self.members

    def __str__(self) -> str:
        """The word in letters, such as ABD or -ABD; the empty one is I."""
        alphabet = letters(self.mask.bit_length())
        return ("-" if self.sign < 0 else "") + ("".join(alphabet[index] for index in self.members) or "I")


@dataclass(frozen=True)
class Fraction:
    """A 2^(k-p) fraction of k factors, kept as p independent words; p may be 0: the full factorial.

    The words are reduced: the last letter of each is in no other of them. That letter's column follows from the rest of
    its word, and the factors that are no word's last letter run through all their combinations.
    """

    count: int
    words: tuple[Word, ...] = ()

    @classmethod
    def of(cls, count: int, words: Iterable[Word]) -> Self:
        """The fraction in which all of these words hold.

        Raises:
            InputError: if the words repeat or contradict each other, or make two factors one.
        """
        reduced: list[Word] = []
        for given in words:
            word = _without_last_letters_of(reduced, given)
            if not word.mask:
                raise InputError(
                    f"generators: I={given} {'contradicts' if word.sign < 0 else 'follows from'} the others; change it."
                )
            reduced = [_without_last_letters_of([word], other) for other in reduced] + [word]
        if 1 << (count - len(reduced)) <= count:
            raise InputError(
                f"generators: with {len(reduced)} of them there are {1 << (count - len(reduced))} rows, "
                f"too few for {count} factors; give fewer."
            )
        fraction = cls(count, tuple(sorted(reduced, key=lambda word: word.mask.bit_length())))
        if fraction.resolution is not None and fraction.resolution < 3:
            raise InputError(
                f"generators: together they imply I={fraction.defining_relation[0]}; "
                "each product of them needs at least three letters."
            )
        return fraction

    @cached_property
    def _products(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Masks and signs of all products of the words, the empty product first."""
        masks, signs = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
        for word in self.words:
            masks = np.concatenate([masks, masks ^ word.mask])
            signs = np.concatenate([signs, signs * word.sign])
        return masks, signs

    def _words_up_to(self, length: int) -> list[Word]:
        masks, signs = self._products
        short = np.flatnonzero((np.bitwise_count(masks) <= length) & (masks != 0))
        found = [Word(int(masks[index]), int(signs[index])) for index in short]
        return sorted(found, key=lambda word: word.sort_key)

    @property
    def defining_relation(self) -> tuple[Word, ...]:
        """All words that are constant in the fraction, short ones first."""
        return tuple(self._words_up_to(self.count))

    @property
    def word_lengths(self) -> dict[int, int]:
        """How many words of each length the defining relation has."""
        masks, _ = self._products
        lengths, counts = np.unique(np.bitwise_count(masks[1:]), return_counts=True)
        return {int(length): int(number) for length, number in zip(lengths, counts, strict=True)}

    @property
    def resolution(self) -> int | None:
        """The length of the shortest word; None for a full factorial, where nothing is aliased."""
        return min(self.word_lengths, default=None)

    @property
    def generators(self) -> tuple[str, ...]:
        """Each dependent factor by those that run through all combinations, such as D=AB."""
        return tuple(f"{_last_letter(word)}={Word(word.mask ^ _last_bit(word), word.sign)}" for word in self.words)

    @property
    def basic(self) -> tuple[int, ...]:
        """The factors that run through all their combinations."""
        dependent = {word.mask.bit_length() - 1 for word in self.words}
        return tuple(index for index in range(self.count) if index not in dependent)

    def columns(self) -> NDArray[np.int64]:
        """The rows in standard order, as -1 and +1: the first factor changes fastest."""
        number = np.arange(1 << len(self.basic))
        signs = np.empty((len(number), self.count), dtype=np.int64)
        for place, index in enumerate(self.basic):
            signs[:, index] = 2 * (number >> place & 1) - 1
        for word in self.words:
            *others, last = word.members
            signs[:, last] = word.sign * signs[:, others].prod(axis=1)
        return signs

    def aliases(self, order: int) -> tuple[tuple[Word, ...], ...]:
        """Groups of effects of at most `order` factors that cannot be told apart, each with the shortest first.

        An effect alone in its group is clear of all others up to that order. Signs are relative to the first of the
        group. The group of I is there if a word is that short.
        """
        effects = sum(math.comb(self.count, size) for size in range(1, min(order, self.count) + 1))
        if effects > MOST_EFFECTS:
            raise InputError(f"aliases: order {order} has {effects} effects; ask for a lower order.")
        # Two effects of at most `order` letters multiply to a word of at most twice as many.
        relation = self._words_up_to(2 * order)
        groups: list[tuple[Word, ...]] = []
        seen: set[int] = set()
        for size in range(min(order, self.count) + 1):
            for members in itertools.combinations(range(self.count), size):
                effect = Word(sum(1 << index for index in members))
                if effect.mask in seen:
                    continue
                partners = (effect * word for word in relation)
                group = (effect, *sorted(_short(partners, order), key=lambda word: word.sort_key))
                seen.update(word.mask for word in group)
                if effect.mask or len(group) > 1:
                    groups.append(group)
        return tuple(groups)

    def folded(self, mask: int) -> Self:
        """This fraction together with its mirror image in the factors of `mask`.

        A word with an odd number of them is +1 in one half and -1 in the other: it no longer holds.
        """
        odd = [word for word in self.words if (word.mask & mask).bit_count() % 2]
        even = [word for word in self.words if word not in odd]
        return type(self).of(self.count, [*even, *(odd[0] * word for word in odd[1:])])


def _short(words: Iterable[Word], order: int) -> list[Word]:
    return [word for word in words if word.mask.bit_count() <= order]


def _last_bit(word: Word) -> int:
    return 1 << (word.mask.bit_length() - 1)


def _last_letter(word: Word) -> str:
    return str(Word(_last_bit(word)))


def _without_last_letters_of(basis: Sequence[Word], word: Word) -> Word:
    for other in basis:
        if word.mask & _last_bit(other):
            word *= other
    return word
