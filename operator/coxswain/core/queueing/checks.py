"""The two checks that every number of a queue goes through, in the same words."""

import math

from coxswain.core.errors import InputError


def require_positive(what: str, value: float) -> None:
    """A rate, a mean time, a demand: finite and above 0."""
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{what} is {value:g}; give a number above 0.")


def require_not_negative(what: str, value: float) -> None:
    """A load, a variability, a time: finite and 0 or more."""
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"{what} is {value:g}; give a number of 0 or more.")
