"""Settings beyond what was measured: said by factor, and paid for with a wider bound.

Inside the range of a factor a model interpolates; beyond it nothing tells whether the trend goes on. So the trend
itself becomes uncertain there: at a distance from the range, measured in halves of it, the response may be off by as
much as it changes over that distance inside. On top of that the spread grows in proportion to the distance.
"""

from dataclasses import dataclass

import numpy as np

from coxswain.core.factors import Factor
from coxswain.core.models.encoding import coded
from coxswain.core.models.families import Regressor
from coxswain.core.models.types import Floats

# The trend over a factor is averaged over at most this many rows.
MOST_ROWS = 100


@dataclass(frozen=True, eq=False)
class Reach:
    """The range of each numeric factor, and how much the response changes over half of it on the model's scale."""

    factors: tuple[Factor, ...]
    trends: Floats

    def beyond(self, settings: Floats) -> Floats:
        """How far each factor of each setting lies beyond its range, in halves of that range; 0 inside."""
        far = np.zeros(settings.shape)
        for index, factor in enumerate(self.factors):
            if factor.is_numeric:
                far[:, index] = np.maximum(np.abs(coded(factor, settings[:, index], log=True)) - 1 - 1e-9, 0.0)
        return far

    def widen(self, spread: Floats, settings: Floats) -> Floats:
        """The spread with what extrapolation adds to it."""
        far = self.beyond(settings)
        trend = np.sqrt(np.sum((far * self.trends) ** 2, axis=1))
        return np.asarray(np.hypot(spread * (1 + far.max(axis=1, initial=0.0)), trend), dtype=float)

    def notes(self, settings: Floats) -> list[tuple[str, ...]]:
        """For each setting a sentence for each factor that lies beyond what was measured."""
        return [
            tuple(
                f"{factor.name} = {value:g} is beyond the measured range {factor.levels[0]:g} to {factor.levels[-1]:g}"
                for factor, value, distance in zip(self.factors, setting, far, strict=True)
                if distance > 0
            )
            for setting, far in zip(settings, self.beyond(settings), strict=True)
        ]


def reach_of(factors: tuple[Factor, ...], settings: Floats, regressor: Regressor) -> Reach:
    """The reach of a fitted model over the settings it was fitted to."""
    sample = settings[:: max(1, len(settings) // MOST_ROWS)]
    trends = np.zeros(len(factors))
    for index, factor in enumerate(factors):
        if factor.is_numeric:
            low, high = sample.copy(), sample.copy()
            low[:, index], high[:, index] = factor.levels[0], factor.levels[-1]
            trends[index] = float(np.mean(np.abs(regressor.mean(high) - regressor.mean(low)))) / 2
    return Reach(factors, trends)
