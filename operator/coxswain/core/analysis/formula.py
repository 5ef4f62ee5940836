"""A small language for the terms of a model, as in R: `a*b + c`.

    a + b       both
    a:b         their interaction alone
    a*b         a + b + a:b
    (a + b)^2   everything in the brackets, and interactions up to order 2
    a^2         the square of a numeric factor (in R: I(a^2))

Names are those of the factors and nothing else; there is nothing to evaluate. Terms keep the order in which the
formula, read from left to right, first gives them, since sums of squares of type I depend on it: a*b*c gives
a, b, a:b, c, a:c, b:c, a:b:c.
"""

import re
from collections.abc import Iterable, Sequence

from coxswain.core.analysis.terms import Term, main_effect, power_of, product
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor

MAX_POWER = 9


def parse_formula(formula: str, factors: Sequence[Factor]) -> tuple[Term, ...]:
    """The terms that a formula means.

    Raises:
        InputError: in one sentence that quotes what cannot be understood.
    """
    if "~" in formula:
        raise InputError(f"formula '{formula}': give only what stands right of the ~; the response is named apart.")
    return tuple(_Parser(formula, factors).parse())


class _Parser:
    """Recursive descent, one method for each strength of binding, weakest first."""

    def __init__(self, formula: str, factors: Sequence[Factor]) -> None:
        self.formula = formula
        self.factors = {factor.name: factor for factor in factors}
        self.tokens = self._tokenise()

    def _tokenise(self) -> list[str]:
        # Known names first, the longest first, so that a name with a space or a dash in it is one token.
        names = "|".join(re.escape(name) for name in sorted(self.factors, key=len, reverse=True))
        return re.findall(rf"(?:{names})(?!\w)|\w+|\S", self.formula)

    def parse(self) -> list[Term]:
        terms = self._sum()
        if self.tokens:
            raise self._unexpected()
        return terms

    def _sum(self) -> list[Term]:
        terms = self._crossing()
        while self._accept("+"):
            terms = _unique(terms + self._crossing())
        return terms

    def _crossing(self) -> list[Term]:
        terms = self._interaction()
        while self._accept("*"):
            terms = self._cross(terms, self._interaction())
        return terms

    def _interaction(self) -> list[Term]:
        terms = self._power()
        while self._accept(":"):
            terms = self._products(terms, self._power())
        return terms

    def _power(self) -> list[Term]:
        if self._accept("("):
            terms = self._sum()
            if not self._accept(")"):
                raise self._unexpected()
            raised = terms
            for _ in range(self._exponent() - 1):
                raised = self._cross(raised, terms)
            return raised
        name = self._name()
        exponent = self._exponent()
        if exponent == 1:
            return [main_effect(name)]
        if not self.factors[name].is_numeric:
            raise InputError(f"formula '{self.formula}': {name} has categories, which have no powers; leave out ^.")
        return [power_of(name, exponent)]

    def _name(self) -> str:
        if self.tokens and self.tokens[0] in self.factors:
            return self.tokens.pop(0)
        if self.tokens and re.fullmatch(r"\w+", self.tokens[0]):
            known = ", ".join(self.factors)
            raise InputError(f"formula '{self.formula}': there is no factor {self.tokens[0]}; the factors are {known}.")
        raise self._unexpected()

    def _exponent(self) -> int:
        if not self._accept("^"):
            return 1
        if self.tokens and self.tokens[0].isdecimal() and 1 <= int(self.tokens[0]) <= MAX_POWER:
            return int(self.tokens.pop(0))
        raise InputError(f"formula '{self.formula}': write a whole number from 1 to {MAX_POWER} after ^.")

    def _cross(self, left: list[Term], right: list[Term]) -> list[Term]:
        return _unique(left + right + self._products(left, right))

    def _products(self, left: list[Term], right: list[Term]) -> list[Term]:
        factors = list(self.factors.values())
        return _unique(product((one, other), factors) for other in right for one in left)

    def _accept(self, token: str) -> bool:
        if self.tokens and self.tokens[0] == token:
            self.tokens.pop(0)
            return True
        return False

    def _unexpected(self) -> InputError:
        where = f"'{self.tokens[0]}' is not expected" if self.tokens else "something is missing at the end"
        return InputError(f"formula '{self.formula}': {where}; join factors by +, * or :, as in a*b + c.")


def _unique(terms: Iterable[Term]) -> list[Term]:
    return list(dict.fromkeys(terms))
