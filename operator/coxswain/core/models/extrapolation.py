"""Settings beyond what was measured: said by factor, and paid for with a wider bound.

Inside the range of a factor a model interpolates; beyond it nothing tells whether the trend goes on. So the trend
itself becomes uncertain there: at a distance from the range, measured in halves of it, the response may be off by as
much as it changes over that distance inside. On top of that the spread grows in proportion to the distance.

All factors may lie inside and the response beyond: shorter than any run that was measured. On a logarithmic scale
nothing keeps the product of the best levels from getting ever shorter, but something always does: a start, a part of
the work that nothing speeds up. Rows show it only once they come near it, and the setting that is predicted to be the
shortest is the one which gets picked. So however sure a model is there, it is no surer than a share of the way from the
shortest run down to its prediction; a spread that is wider already has this in it.
"""

from dataclasses import dataclass

import numpy as np

from coxswain.core.factors import Factor
from coxswain.core.models.encoding import coded
from coxswain.core.models.families import Regressor
from coxswain.core.models.observations import Rows
from coxswain.core.models.scales import Scale
from coxswain.core.models.types import Floats

# The trend over a factor is averaged over at most this many rows.
MOST_ROWS = 100
# A prediction below the shortest response is off by at least this share of the way down to it, as a standard deviation.
DOUBT = 0.3
# On a logarithmic scale: a tenth below the shortest response and less is not worth a word.
WORTH_SAYING = 0.1


@dataclass(frozen=True, eq=False)
class Reach:
    """The range of each numeric factor, and how much the response changes over half of it on the model's scale."""

    factors: tuple[Factor, ...]
    trends: Floats
    shortest: float = -np.inf
    """The smallest mean of a row, if the scale is logarithmic."""

    def beyond(self, settings: Floats) -> Floats:
        """How far each factor of each setting lies beyond its range, in halves of that range; 0 inside."""
        far = np.zeros(settings.shape)
        for index, factor in enumerate(self.factors):
            if factor.is_numeric:
                far[:, index] = np.maximum(np.abs(coded(factor, settings[:, index], log=True)) - 1 - 1e-9, 0.0)
        return far

    def below(self, location: Floats) -> Floats:
        """How far predictions lie below the shortest response, on the model's scale; 0 above it."""
        return np.asarray(np.maximum(self.shortest - location, 0.0), dtype=float)

    def widen(self, spread: Floats, settings: Floats, location: Floats) -> Floats:
        """The spread of predictions at settings with what extrapolation adds to it."""
        far = self.beyond(settings)
        trend = np.sqrt(np.sum((far * self.trends) ** 2, axis=1))
        widened = np.hypot(spread * (1 + far.max(axis=1, initial=0.0)), trend)
        return np.asarray(np.maximum(widened, DOUBT * self.below(location)), dtype=float)

    def notes(self, settings: Floats, location: Floats) -> list[tuple[str, ...]]:
        """For each setting what lies beyond what was measured: a sentence for each factor, or for the response."""
        return [
            tuple(self._beyond_a_range(setting, far) or self._below_the_shortest(below))
            for setting, far, below in zip(settings, self.beyond(settings), self.below(location), strict=True)
        ]

    def _beyond_a_range(self, setting: Floats, far: Floats) -> list[str]:
        return [
            f"{factor.name} = {value:g} is beyond the measured range {factor.levels[0]:g} to {factor.levels[-1]:g}"
            for factor, value, distance in zip(self.factors, setting, far, strict=True)
            if distance > 0
        ]

    def _below_the_shortest(self, below: float) -> list[str]:
        if below <= WORTH_SAYING:
            return []
        return [f"the prediction is below the smallest value measured, {np.exp(self.shortest):.3g}"]


def reach_of(rows: Rows, regressor: Regressor) -> Reach:
    """The reach of a model over the rows it was fitted to."""
    factors = rows.factors
    sample = rows.settings[:: max(1, len(rows) // MOST_ROWS)]
    trends = np.zeros(len(factors))
    for index, factor in enumerate(factors):
        if factor.is_numeric:
            low, high = sample.copy(), sample.copy()
            low[:, index], high[:, index] = factor.levels[0], factor.levels[-1]
            trends[index] = float(np.mean(np.abs(regressor.mean(high) - regressor.mean(low)))) / 2
    return Reach(factors, trends, float(rows.mean.min()) if rows.scale is Scale.LOG else -np.inf)
