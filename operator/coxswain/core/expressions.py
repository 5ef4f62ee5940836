"""Arithmetic that users write, such as `duration / (100 * accuracy) ** 2`, without ever running what they wrote.

The text is parsed by Python's own grammar, so that precedence is as everyone knows it. Of the tree only these parts are
taken over: numbers, names that were announced, + - * / **, a sign, parentheses, and calls of the functions below. All
else is refused as it is read, not when it is evaluated.

Nothing can blow up. Length and nesting are bounded, and every number is a 64-bit float: a power of powers is at worst
out of range, never a number of a billion digits.

A value that does not exist (a division by zero, the logarithm of a negative number, a result out of range, or anything
computed from one of these) is nan, that is, missing. It is never infinite: `min(5, 1 / accuracy)` must not make a run
that learned nothing look cheap. Numbers, arrays and columns all behave the same.
"""

import ast
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, overload

import numpy as np
import pandas as pd

from coxswain.core.errors import InputError

LONGEST = 500
DEEPEST = 64

_OPERATORS: Mapping[type[ast.operator], np.ufunc] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
_SIGNS: Mapping[type[ast.unaryop], np.ufunc] = {ast.UAdd: np.positive, ast.USub: np.negative}
_OF_ONE: Mapping[str, np.ufunc] = {"abs": np.absolute, "exp": np.exp, "log": np.log, "sqrt": np.sqrt}
_OF_SEVERAL: Mapping[str, np.ufunc] = {"max": np.maximum, "min": np.minimum}

FUNCTIONS = tuple(sorted((*_OF_ONE, *_OF_SEVERAL)))

_Operands = Mapping[str, np.ndarray]
_Formula = Callable[[_Operands], np.ndarray]


@dataclass(frozen=True)
class Expression:
    """An expression that was understood; call it with a value for each of its names."""

    text: str
    names: frozenset[str]
    _formula: _Formula = field(compare=False, repr=False)

    @overload
    def __call__(self, values: Mapping[str, float]) -> float: ...
    @overload
    def __call__(self, values: Mapping[str, np.ndarray]) -> np.ndarray: ...
    @overload
    def __call__(self, values: pd.DataFrame) -> "pd.Series[float]": ...
    def __call__(self, values: Mapping[str, Any] | pd.DataFrame) -> Any:
        """The value for numbers by name, the array for arrays by name, or the column for a table's columns."""
        operands = {name: _floats(name, values) for name in sorted(self.names)}
        with np.errstate(all="ignore"):  # what goes wrong shows as nan
            result = self._formula(operands)
        if isinstance(values, pd.DataFrame):
            return pd.Series(np.broadcast_to(result, len(values)), index=values.index)
        return result if result.ndim else float(result)


def parse_expression(text: str, names: Iterable[str]) -> Expression:
    """Understand an expression over these names.

    Raises:
        InputError: in one sentence that says what in the text is not understood.
    """
    if len(text) > LONGEST:
        raise InputError(f"the expression has {len(text)} characters; use at most {LONGEST}.")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise InputError(
            f"{_quoted(text)} is not an arithmetic expression; write it like duration / accuracy."
        ) from None
    reader = _Reader(text, frozenset(names))
    formula = reader.read(tree)
    return Expression(text, frozenset(reader.used), formula)


class _Reader:
    """Turns Python's tree into a formula, part by part, and refuses what it does not know."""

    def __init__(self, text: str, known: frozenset[str]) -> None:
        self.text = text
        self.known = known
        self.used: set[str] = set()

    def read(self, node: ast.expr, depth: int = 1) -> _Formula:
        if depth > DEEPEST:
            raise InputError(f"the expression {_quoted(self.text)} is nested more than {DEEPEST} deep; simplify it.")
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return self._number(value)
            case ast.Name(id=name):
                return self._name(name)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                return _apply(_OPERATORS[type(operator)], [self.read(part, depth + 1) for part in (left, right)])
            case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _SIGNS:
                return _apply(_SIGNS[type(sign)], [self.read(operand, depth + 1)])
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return _apply(self._function(name, len(arguments)), [self.read(part, depth + 1) for part in arguments])
        part = ast.get_source_segment(self.text.strip(), node) or self.text
        raise InputError(
            f"{_quoted(part)} in the expression {_quoted(self.text)} is not understood; "
            f"use numbers, names, + - * / **, parentheses and {', '.join(FUNCTIONS)}."
        )

    def _number(self, value: float) -> _Formula:
        if value > sys.float_info.max:
            raise InputError(f"the expression {_quoted(self.text)} has a number that is too large; use a smaller one.")
        number = np.asarray(value, dtype=float)
        return lambda _: number

    def _name(self, name: str) -> _Formula:
        if name not in self.known:
            raise InputError(
                f"the expression {_quoted(self.text)} uses {name}, which is not known; "
                f"the names are {', '.join(sorted(self.known))}."
            )
        self.used.add(name)
        return lambda operands: operands[name]

    def _function(self, name: str, arguments: int) -> np.ufunc:
        if name in _OF_ONE and arguments == 1:
            return _OF_ONE[name]
        if name in _OF_SEVERAL and arguments >= 2:
            return _OF_SEVERAL[name]
        if name in _OF_ONE or name in _OF_SEVERAL:
            takes = "one value" if name in _OF_ONE else "two values or more"
            raise InputError(f"{name} in the expression {_quoted(self.text)} takes {takes}, not {arguments}.")
        raise InputError(
            f"the expression {_quoted(self.text)} calls {name}, which is not known; "
            f"the functions are {', '.join(FUNCTIONS)}."
        )


def _apply(function: np.ufunc, parts: list[_Formula]) -> _Formula:
    def formula(operands: _Operands) -> np.ndarray:
        values = [part(operands) for part in parts]
        result = np.asarray(reduce(function, values) if len(values) > 1 else function(values[0]))
        # Not left to the function: nan ** 0 is 1 in floating point, and 1 / inf is 0.
        exists = reduce(np.logical_and, (~np.isnan(value) for value in values), np.isfinite(result))
        return np.where(exists, result, np.nan)

    return formula


def _quoted(text: str) -> str:
    """The text within a sentence: on one line, and no longer than anyone reads."""
    line = " ".join(text.split())
    return repr(line if len(line) <= 60 else f"{line[:59]}…")


def _floats(name: str, values: Mapping[str, Any] | pd.DataFrame) -> np.ndarray:
    if name not in values:
        raise InputError(f"there is no value for {name}; give one.")
    try:
        numbers = np.asarray(values[name], dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers to compute with; correct what is not.") from None
    return np.where(np.isfinite(numbers), numbers, np.nan)
