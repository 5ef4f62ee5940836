"""Where a fraction's words come from: what the user wrote, or the standard tables.

A generator is written D=AB with letters in factor order, or max_epoch=cores*batch_size with names; -AB is the other
half; I=ABCDEF says the whole word. The tables hold, for 3 to 11 factors, the fractions of minimum aberration: of the
highest resolution for their size, and of those with the fewest shortest words (Box, Hunter and Hunter; Chen, Sun and Wu
1993; NIST/SEMATECH e-Handbook, 5.3.3.4.7).
"""

from collections.abc import Sequence

from coxswain.core.designs.words import Fraction, Word
from coxswain.core.errors import InputError
from coxswain.core.factors import letters

# By number of factors, from the smallest fraction to the largest. The half fraction, whose last factor is the product
# of all others, needs no entry.
_MINIMUM_ABERRATION: dict[int, tuple[str, ...]] = {
    3: (),
    4: (),
    5: ("D=AB E=AC",),
    6: ("D=AB E=AC F=BC", "E=ABC F=BCD"),
    7: ("D=AB E=AC F=BC G=ABC", "E=ABC F=BCD G=ACD", "F=ABCD G=ABDE"),
    8: ("E=BCD F=ACD G=ABC H=ABD", "F=ABC G=ABD H=BCDE", "G=ABCD H=ABEF"),
    9: (
        "E=ABC F=BCD G=ACD H=ABD J=ABCD",
        "F=BCDE G=ACDE H=ABDE J=ABCE",
        "G=ABCD H=ACEF J=CDEF",
        "H=ACDFG J=BCEFG",
    ),
    10: (
        "E=ABC F=BCD G=ACD H=ABD J=ABCD K=AB",
        "F=ABCD G=ABCE H=ABDE J=ACDE K=BCDE",
        "G=BCDF H=ACDF J=ABDE K=ABCE",
        "H=ABCG J=BCDE K=ACDF",
        "J=ABCDEF K=CDEFGH",
    ),
    11: (
        "E=ABC F=BCD G=ACD H=ABD J=ABCD K=AB L=AC",
        "F=ABC G=BCD H=CDE J=ACD K=ADE L=BDE",
        "G=CDE H=ABCD J=ABF K=BDEF L=ADEF",
        "H=ABCG J=BCDE K=ACDF L=ABCDEFG",
        "J=ABCDE K=ABCFG L=ABDFH",
        "K=ABCDEF L=DEFGHJ",
    ),
}
LARGEST_TABLE = max(_MINIMUM_ABERRATION)
"""The most factors there are standard fractions for."""


def standard_fractions(count: int) -> tuple[Fraction, ...]:
    """The minimum-aberration fractions of so many factors, from the smallest to the full factorial.

    Raises:
        InputError: outside the tables.
    """
    if count not in _MINIMUM_ABERRATION:
        raise InputError(
            f"resolution: the standard tables are for 3 to {LARGEST_TABLE} factors, not {count}; give generators."
        )
    names = tuple(letters(count))
    half = f"{names[-1]}={''.join(names[:-1])}"
    return tuple(
        Fraction.of(count, (parse_generator(text, names) for text in texts.split()))
        for texts in (*_MINIMUM_ABERRATION[count], half, "")
    )


def smallest_fraction(count: int, resolution: int) -> Fraction:
    """The smallest standard fraction of at least this resolution; the full factorial if no fraction has it."""
    return next(
        fraction
        for fraction in standard_fractions(count)
        if fraction.resolution is None or fraction.resolution >= resolution
    )


def parse_generator(text: str, names: Sequence[str]) -> Word:
    """The word that a generator sets to +1 or -1: D=AB says I=ABD, and D=-AB says I=-ABD.

    Raises:
        InputError: if a part of it is no factor.
    """
    left, equals, right = (part.strip() for part in text.partition("="))
    sign = -1 if right.startswith("-") else 1
    if not equals or not left or not right.lstrip("+-"):
        raise InputError(f"generator {text!r}: write it as D=AB, or by names as d=a*b.")
    product = Word(0, sign)
    for side in (left, right.lstrip("+-")):
        product *= Word(parse_effect(side, names))
    return product


def parse_effect(text: str, names: Sequence[str]) -> int:
    """The factors of an effect such as AB or cores*batch_size, as bits; I alone is none. A name goes before a letter.

    Raises:
        InputError: if a part of it is no factor, or a factor occurs twice.
    """
    mask = 0
    for part in map(str.strip, text.split("*")):
        for index in _members(part, text, names):
            if mask >> index & 1:
                raise InputError(f"effect {text!r} names factor {names[index]} twice; name it once.")
            mask |= 1 << index
    return mask


def _members(part: str, whole: str, names: Sequence[str]) -> list[int]:
    if part in names:
        return [names.index(part)]
    if part == whole == "I":
        return []
    alphabet = letters(len(names))
    for letter in part:
        if letter not in alphabet:
            known = ", ".join(f"{letter} ({name})" for letter, name in zip(alphabet, names, strict=True))
            raise InputError(f"effect {whole!r}: {letter!r} is no factor; there are {known}.")
    if not part:
        raise InputError(f"effect {whole!r} has an empty part; write it as AB or a*b.")
    return [alphabet.index(letter) for letter in part]
