"""The free parameters of a job (`extra`) as typed options.

Each part of the training declares the options it understands as a frozen dataclass; a job may set any of them by
their names in camel case, and a name that no part of this job knows is an error, not a silent nothing.
"""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from coxswain.core.errors import InputError


def whole(default: int, minimum: int = 1) -> Any:
    """An option that takes a whole number."""
    return _option(default, int, lambda value: value >= minimum, f"a whole number of at least {minimum}")


def real(default: float, low: float = 0.0, high: float = float("inf")) -> Any:
    """An option that takes a number between two bounds."""
    bounds = f"of at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
    return _option(default, float, lambda value: low <= value <= high, f"a number {bounds}")


def choice(default: str, *others: str) -> Any:
    """An option that takes one of a few names."""
    names = (default, *others)
    return _option(default, str, lambda value: value in names, f"one of {', '.join(names)}")


def read(declared: Sequence[type], extra: Mapping[str, str]) -> list[Any]:
    """One instance of every declared class, with what the job says in place of the defaults."""
    known = {camel(field.name): field for options in declared for field in dataclasses.fields(options)}
    unknown = [name for name in extra if name not in known]
    if unknown:
        raise InputError(f"extra parameter {unknown[0]} is not known here; use one of {', '.join(sorted(known))}.")
    values = {known[name].name: _parse(name, text, known[name]) for name, text in extra.items()}
    return [
        options(**{field.name: values[field.name] for field in dataclasses.fields(options) if field.name in values})
        for options in declared
    ]


def camel(name: str) -> str:
    """The name of an option as a job writes it."""
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def _option(default: Any, convert: Callable[[str], Any], fits: Callable[[Any], bool], wanted: str) -> Any:
    return dataclasses.field(default=default, metadata={"convert": convert, "fits": fits, "wanted": wanted})


def _parse(name: str, text: str, field: "dataclasses.Field[Any]") -> Any:
    try:
        value = field.metadata["convert"](text)
    except ValueError:
        value = None
    if value is None or not field.metadata["fits"](value):
        raise InputError(f"extra parameter {name} is {text!r}; it must be {field.metadata['wanted']}.")
    return value
