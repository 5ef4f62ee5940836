"""The terms of a model: main effects, interactions, powers, and which of them belong together.

A term is a product of factors, each with a power: `cores`, `cores:batch_size`, `batch_size^2`. A term contains another
if it can be got from it by multiplying: `a:b` contains `a` and `b`, and `a^2` contains `a`. A model is hierarchical if
it has every term that its terms contain; only then does its meaning not depend on where the zero of a scale lies.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from itertools import product as cartesian

from coxswain.core.errors import InputError
from coxswain.core.factors import Factor


@dataclass(frozen=True)
class Term:
    """A product of factors, each with a power, in the order of the factors."""

    powers: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """As people write it: `a:b`, `a^2`."""
        return ":".join(factor if power == 1 else f"{factor}^{power}" for factor, power in self.powers)

    @property
    def order(self) -> int:
        """The number of factors that act together."""
        return len(self.powers)

    @cached_property
    def parts(self) -> "frozenset[Term]":
        """Every term that this one contains, itself left out."""
        choices = [[(factor, lower) for lower in range(power + 1)] for factor, power in self.powers]
        found = (Term(tuple(chosen for chosen in combination if chosen[1])) for combination in cartesian(*choices))
        return frozenset(found) - {self, Term(())}


def main_effect(factor: str) -> Term:
    """The term of one factor alone."""
    return Term(((factor, 1),))


def power_of(factor: str, power: int) -> Term:
    """A power of one numeric factor."""
    return Term(((factor, power),))


def product(terms: Iterable[Term], factors: Sequence[Factor]) -> Term:
    """The interaction of terms; a factor that occurs twice counts once, with its highest power."""
    powers: dict[str, int] = {}
    for term in terms:
        for factor, power in term.powers:
            powers[factor] = max(power, powers.get(factor, 0))
    return Term(tuple((factor.name, powers[factor.name]) for factor in factors if factor.name in powers))


def interactions(factors: Sequence[Factor], order: int) -> tuple[Term, ...]:
    """All main effects, then all interactions of two factors, and so on up to an order."""
    if order < 1:
        raise InputError(f"interactions up to order {order} make no model; give 1 for main effects alone, 2 or more.")
    return tuple(
        Term(tuple((factor.name, 1) for factor in chosen))
        for size in range(1, min(order, len(factors)) + 1)
        for chosen in combinations(factors, size)
    )


def removable(terms: Sequence[Term]) -> list[Term]:
    """The terms that may be left out of a model without breaking its hierarchy: those that no other contains."""
    contained = set[Term]().union(*(term.parts for term in terms))
    return [term for term in terms if term not in contained]


def missing_parts(terms: Sequence[Term]) -> list[Term]:
    """The terms that this model would need to be hierarchical but lacks."""
    contained = set[Term]().union(*(term.parts for term in terms))
    return sorted(contained - set(terms), key=lambda term: (term.order, term.name))
