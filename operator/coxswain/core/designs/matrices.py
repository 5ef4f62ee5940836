"""Conference and Hadamard matrices: the squares of -1, 0 and +1 that screening designs are cut from.

A conference matrix C has 0 on the diagonal, -1 or +1 elsewhere, and orthogonal columns: C'C = (n-1) I. Paley builds one
of order q+1 for every odd prime power q from the squares of the field with q elements: entry (x, y) is the character of
x - y, which is +1 for squares, -1 for other elements and 0 for 0. It is skew where q leaves 3 when divided by 4, and
symmetric where it leaves 1; a skew one of order n doubles to one of order 2n.

A Hadamard matrix H has -1 or +1 everywhere and H'H = n I. A symmetric conference matrix of order n gives one of order
2n, and any of order n doubles to 2n.
"""

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.int64]

LARGEST_CONFERENCE = 50


def conference(least: int) -> Matrix:
    """The smallest conference matrix these constructions give of at least this order, zeros on the diagonal.

    Some even orders have none (22 and 34), so the order may be more than the next even number.
    """
    for order in range(least + least % 2, LARGEST_CONFERENCE + 1, 2):
        matrix = _conference_of_order(order)
        if matrix is not None:
            return matrix
    raise ValueError(f"no conference matrix of order {least} up to {LARGEST_CONFERENCE}")


def _conference_of_order(order: int) -> Matrix | None:
    field = _prime_power(order - 1)
    if field is not None:
        character = _quadratic_character(*field)
        core = np.array([[character[_minus(x, y, field[0])] for y in character] for x in character])
        skew = (order - 1) % 4 == 3
        top = np.ones((1, order - 1), dtype=np.int64)
        return np.block([[np.zeros((1, 1), dtype=np.int64), top], [-top.T if skew else top.T, core]])
    if order % 8 == 0:
        half = _conference_of_order(order // 2)
        if half is not None and (half == -half.T).all():
            one = np.eye(order // 2, dtype=np.int64)
            return np.block([[half, half + one], [half - one, -half]])
    return None


def legendre(prime: int) -> Matrix:
    """+1 at 0 and the squares modulo a prime, -1 elsewhere: Plackett and Burman's first column."""
    squares = {number * number % prime for number in range(prime)}
    return np.array([1 if number in squares else -1 for number in range(prime)])


def hadamard_from_conference(matrix: Matrix) -> Matrix:
    """A Hadamard matrix of twice the order of a symmetric conference matrix."""
    one = np.eye(len(matrix), dtype=np.int64)
    return np.kron(matrix, np.array([[1, 1], [1, -1]])) + np.kron(one, np.array([[1, -1], [-1, -1]]))


def doubled(hadamard: Matrix) -> Matrix:
    """A Hadamard matrix of twice the order."""
    return np.kron(np.array([[1, 1], [1, -1]]), hadamard)


# The field with p^n elements: polynomials of degree below n over the integers modulo p, coefficients lowest first.
_Element = tuple[int, ...]


def _prime_power(number: int) -> tuple[int, int] | None:
    """(p, n) with number = p^n and p an odd prime, if there are such."""
    prime = next((divisor for divisor in range(2, number + 1) if number % divisor == 0), 2)
    exponent = 0
    while number % prime == 0:
        number //= prime
        exponent += 1
    return (prime, exponent) if number == 1 and prime > 2 else None


def _minus(x: _Element, y: _Element, prime: int) -> _Element:
    return tuple((a - b) % prime for a, b in zip(x, y, strict=True))


def _quadratic_character(prime: int, degree: int) -> dict[_Element, int]:
    """Of each element of the field whether it is 0, a square (+1) or not (-1)."""
    modulus = _irreducible(prime, degree)
    elements = [element[::-1] for element in itertools.product(range(prime), repeat=degree)]
    squares = {_times(element, element, modulus, prime) for element in elements}
    return {element: 0 if not any(element) else 1 if element in squares else -1 for element in elements}


def _irreducible(prime: int, degree: int) -> Sequence[int]:
    """The lower coefficients of a monic polynomial that has no root; up to degree 3 it is then irreducible."""
    return next(
        lower
        for lower in itertools.product(range(prime), repeat=degree)
        if degree == 1
        or all(
            (x**degree + sum(coefficient * x**power for power, coefficient in enumerate(lower))) % prime
            for x in range(prime)
        )
    )


def _times(x: _Element, y: _Element, modulus: Sequence[int], prime: int) -> _Element:
    degree = len(x)
    product = [0] * (2 * degree - 1)
    for (i, a), (j, b) in itertools.product(enumerate(x), enumerate(y)):
        product[i + j] += a * b
    for power in range(len(product) - 1, degree - 1, -1):
        for lower, coefficient in enumerate(modulus):
            product[power - degree + lower] -= product[power] * coefficient
    return tuple(coefficient % prime for coefficient in product[:degree])
