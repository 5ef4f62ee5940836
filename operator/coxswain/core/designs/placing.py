"""From coded units to settings that a training job can have.

A row must be usable as it is: a number of workers is whole, a category is one of those given. Where that makes a row
differ from what the textbook's coded table says, a note tells so, and where it would make two levels one, the design is
refused. Settings are the truth; coded values are always computed back from them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coxswain.core.designs.base import Settings
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor, Level

MOVED = 1e-6
"""A setting further than this from its place in coded units was moved, and a note tells so."""


def coded_value(factor: Factor, value: Level) -> float | None:
    """A setting in coded units; of categories the first is -1, the last +1, and those between have no place."""
    if isinstance(value, str):
        return {factor.categories[-1]: 1.0, factor.categories[0]: -1.0}.get(value)
    return round(factor.code(value), 12) + 0.0  # never -0.0


def setting_at(factor: Factor, coded: float) -> float:
    """The setting of a numeric factor at a place in coded units, without the noise of the last binary digits."""
    return float(f"{factor.decode(coded):.10g}")


def at_extremes(factors: Sequence[Factor], signs: NDArray[np.int64]) -> tuple[tuple[Settings, ...], tuple[str, ...]]:
    """Rows of -1 and +1 as the first and last values of each factor, and a note for each that has more than two."""
    extremes = [factor.extremes for factor in factors]
    rows = tuple(tuple(pair[sign > 0] for pair, sign in zip(extremes, row, strict=True)) for row in signs.tolist())
    notes = tuple(
        f"{factor.name} has {len(factor.values)} {'levels' if factor.is_numeric else 'categories'}; "
        f"this two-level design uses {_listed(factor.extremes)}."
        for factor in factors
        if len(factor.values) > 2
    )
    return rows, notes


def at_places(factors: Sequence[Factor], coded: NDArray[np.float64]) -> tuple[tuple[Settings, ...], tuple[str, ...]]:
    """Rows in coded units as settings of numeric factors, and a note for each that was moved or has other levels.

    Raises:
        InputError: if whole numbers leave too little room for a factor's levels.
    """
    columns: list[list[float]] = []
    notes: list[str] = []
    for factor, places in zip(factors, coded.T, strict=True):
        setting = {place: setting_at(factor, place) for place in sorted(set(places.tolist()))}
        used = tuple(setting.values())
        if len(set(used)) < len(used):
            raise InputError(
                f"factor {factor.name}: whole numbers between {_listed(factor.extremes)} leave no room for the "
                f"{len(used)} levels of this design; widen its levels or choose a two-level design."
            )
        moved = any(abs(factor.code(value) - place) > MOVED for place, value in setting.items())
        if moved:
            notes.append(f"{factor.name} takes whole numbers; its levels are rounded to {_listed(used)}.")
        elif not set(factor.levels) <= set(used):
            notes.append(f"{factor.name} has {len(factor.levels)} levels; this design uses {_listed(used)}.")
        columns.append([setting[place] for place in places.tolist()])
    return tuple(zip(*columns, strict=True)), tuple(notes)


def center_of(factor: Factor) -> float:
    """The setting in the middle of a numeric factor.

    Raises:
        InputError: if there is no whole number between its levels.
    """
    center = setting_at(factor, 0)
    if center in factor.extremes:
        raise InputError(
            f"factor {factor.name} has no whole number between {_listed(factor.extremes)}, so there is no centre; "
            "widen its levels or set centerPoints to 0."
        )
    return center


def _listed(values: Sequence[Level]) -> str:
    texts = [value if isinstance(value, str) else f"{value:g}" for value in values]
    return f"{', '.join(texts[:-1])} and {texts[-1]}"
