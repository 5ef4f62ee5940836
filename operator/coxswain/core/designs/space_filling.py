"""Latin hypercubes: rows spread evenly over the whole space, for models that assume no shape.

Each factor's range is cut into as many strata as there are rows, and each stratum is used once. Which stratum goes with
which is then improved by swaps, so that the rows closest to each other move apart (maximin, by the smooth criterion of
Morris and Mitchell 1995).

Two numeric levels are a range, and values between them are used: in coded units, and whole where the factor is. Three
or more levels are a list, and only they are used, as are categories; each about equally often.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coxswain.core.designs.base import DesignOptions, Draft
from coxswain.core.designs.placing import setting_at
from coxswain.core.designs.streams import Stream
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor, Level

MOST_ROWS = 1_000
"""Spreading rows compares all pairs of them."""

_POWER = 10
"""The criterion is the sum over pairs of (squared distance)^-power: the larger, the more the closest pair counts."""

_TOUCHING = 1e-3
"""Added to squared distances, so that equal rows are very bad but not infinitely so."""


@dataclass(frozen=True, kw_only=True)
class LatinHypercube(DesignOptions):
    """A space-filling design of a given number of rows."""

    size: int

    def draft(self, factors: Sequence[Factor]) -> Draft:
        """Strata in random order, then improved by swaps."""
        if not 2 <= self.size <= MOST_ROWS:
            raise InputError(f"LatinHypercube: runs is {self.size}; give 2 to {MOST_ROWS}.")
        self.require_room(self.size)
        stream = Stream(self.seed, "LatinHypercube")
        strata = np.column_stack([stream.permutation(self.size) for _ in factors])
        values = [[_value(factor, (stratum + 0.5) / self.size) for stratum in range(self.size)] for factor in factors]
        places = np.column_stack([_places(factor, column) for factor, column in zip(factors, values, strict=True)])
        best = _spread(strata, places, np.array([not factor.is_numeric for factor in factors]), stream)
        return Draft(
            rows=tuple(tuple(column[s] for column, s in zip(values, row, strict=True)) for row in best.tolist())
        )


def _value(factor: Factor, share: float) -> Level:
    """The setting at a share of the way from the first value to the last."""
    if not factor.is_numeric or len(factor.levels) > 2:
        return factor.values[int(share * len(factor.values))]
    low, high = -1.0, 1.0
    if factor.whole:
        # Half a step beyond both ends, so that the first and last whole number get a whole share.
        low, high = (factor.code(level + half) for level, half in zip(factor.levels, (-0.5, 0.5), strict=True))
        return min(max(setting_at(factor, low + share * (high - low)), factor.levels[0]), factor.levels[1])
    return setting_at(factor, low + share * (high - low))


def _places(factor: Factor, values: Sequence[Level]) -> NDArray[np.float64]:
    """Where each stratum's value lies: numbers from 0 to 1 in coded units, categories by their index."""
    if factor.is_numeric:
        return np.array([(factor.code(float(value)) + 1) / 2 for value in values])
    return np.array([factor.values.index(value) for value in values], dtype=float)


def _spread(
    strata: NDArray[np.int64], places: NDArray[np.float64], is_category: NDArray[np.bool_], stream: Stream
) -> NDArray[np.int64]:
    """Swap strata between rows, a column at a time, while that lowers the criterion."""
    rows, columns = strata.shape
    strata = strata.copy()
    points = np.column_stack([places[strata[:, column], column] for column in range(columns)])

    def apart(point: float, column: int) -> NDArray[np.float64]:
        """The squared distance of a value to all rows in one column; two categories are 1 apart."""
        gap = points[:, column] - point
        return (gap != 0).astype(float) if is_category[column] else gap**2

    distance = np.array([sum(apart(points[row, c], c) for c in range(columns)) for row in range(rows)]) + _TOUCHING
    np.fill_diagonal(distance, np.inf)
    crowding = (distance**-_POWER).sum(axis=1)
    steps = min(200 * rows, 8_000)
    # Half of the swaps move the most crowded row, the others any.
    draws = stream.uniform(4 * steps).reshape(steps, 4) * [columns, 2, rows, rows]
    for column, is_random, chosen, other in draws.astype(int).tolist():
        row = chosen if is_random else int(crowding.argmax())
        a, b = points[row, column], points[other, column]
        if a == b:
            continue
        pair = np.array([row, other])
        change = apart(b, column) - apart(a, column)
        moved = distance[pair] + np.stack([change, -change])
        moved[:, pair] = distance[np.ix_(pair, pair)]  # the two keep their distance
        gain = distance[pair] ** -_POWER - moved**-_POWER
        if gain.sum() > 1e-9 * crowding[row]:
            distance[pair], distance[:, pair] = moved, moved.T
            crowding -= gain.sum(axis=0)
            crowding[pair] = (moved**-_POWER).sum(axis=1)
            points[pair, column] = b, a
            strata[pair, column] = strata[pair[::-1], column]
    return strata
