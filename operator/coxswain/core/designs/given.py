"""Settings that a user wrote: rows given one by one, runs already done, combinations that must not occur."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coxswain.core.designs.base import DesignOptions, Draft, Settings
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor, Level


@dataclass(frozen=True, kw_only=True)
class Rows(DesignOptions):
    """Rows given one by one, in their standard order."""

    rows: tuple[Mapping[str, Level], ...]

    def draft(self, factors: Sequence[Factor]) -> Draft:
        """The rows as given, checked."""
        if not self.rows:
            raise InputError("Rows: give at least one row.")
        self.require_room(len(self.rows))
        return Draft(
            rows=tuple(complete_settings(row, factors, f"rows[{index}]") for index, row in enumerate(self.rows))
        )


def complete_settings(row: Mapping[str, Level], factors: Sequence[Factor], where: str) -> Settings:
    """One value for each factor, in their order.

    Raises:
        InputError: if a factor is missing or unknown, or its value is not one it can take.
    """
    _require_known_names(row, factors, where)
    missing = [factor.name for factor in factors if factor.name not in row]
    if missing:
        raise InputError(f"{where}: factor {missing[0]} is missing; give each factor a value.")
    return tuple(_value(row[factor.name], factor, where) for factor in factors)


def partial_levels(row: Mapping[str, Level], factors: Sequence[Factor], where: str) -> tuple[int | None, ...]:
    """Of each factor the index of the level named, None where it is not.

    Raises:
        InputError: if a name is no factor, a value none of its levels, or nothing is named.
    """
    _require_known_names(row, factors, where)
    if not row:
        raise InputError(f"{where}: name at least one factor.")
    return tuple(_level_index(row[factor.name], factor, where) if factor.name in row else None for factor in factors)


def _require_known_names(row: Mapping[str, Level], factors: Sequence[Factor], where: str) -> None:
    names = [factor.name for factor in factors]
    unknown = [name for name in row if name not in names]
    if unknown:
        raise InputError(f"{where}: {unknown[0]} is no factor; the factors are {', '.join(names)}.")


def _value(value: Level, factor: Factor, where: str) -> Level:
    if not factor.is_numeric:
        if value in factor.categories:
            return value
        raise InputError(f"{where}: {factor.name} cannot be {value}; give one of {', '.join(factor.categories)}.")
    if isinstance(value, str) or not math.isfinite(value) or (factor.whole and not float(value).is_integer()):
        kind = "whole number" if factor.whole else "finite number"
        raise InputError(f"{where}: {factor.name} cannot be {value}; give a {kind}.")
    factor.code(value)  # raises if a logarithm has no such value
    return float(value)


def _level_index(value: Level, factor: Factor, where: str) -> int:
    if value not in factor.values:
        listed = ", ".join(level if isinstance(level, str) else f"{level:g}" for level in factor.values)
        raise InputError(f"{where}: {factor.name} has no level {value}; its levels are {listed}.")
    return factor.values.index(value)
