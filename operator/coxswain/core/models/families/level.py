"""How noise depends on the level of the response.

A run's noise has two natural parts: a share of what it takes (slow machines, neighbours) and a fixed number of seconds
(starting, stopping, a slow answer of a disk). Their variances add. On a logarithmic scale the first is the same
everywhere and the second falls by the square of the response; on the scale of the response it is the other way round.
One parameter, the slope, says how much of each there is: by how much the logarithm of the variance changes with that
of the response at its mean level. Noise that grows faster than the response is taken as a power of it; noise that
falls while the response grows is not believed: the longer of two runs does not waver by fewer seconds.
"""

from dataclasses import dataclass

import numpy as np

from coxswain.core.models.observations import Rows
from coxswain.core.models.scales import Scale
from coxswain.core.models.types import Floats

# So far beyond the responses seen (in logarithms) noise is thought to go on depending on their level.
BEYOND = 1.0
STEEPEST = 4.0


@dataclass(frozen=True)
class Level:
    """The level of a response that noise may depend on: its logarithm, around its mean, not far beyond the range seen.

    A response that is not positive has no such level.
    """

    scale: Scale
    centre: float
    low: float
    high: float

    @property
    def varies(self) -> bool:
        """Whether there is a level for noise to depend on."""
        return self.high > self.low

    def place(self, expected: Floats) -> Floats:
        """The level at expected responses on the model's scale."""
        if not self.varies:
            return np.zeros(expected.shape)
        low, high = self.low - BEYOND, self.high + BEYOND
        logarithm = expected if self.scale is Scale.LOG else np.log(np.maximum(expected, np.exp(low)))
        return np.clip(logarithm, low, high) - self.centre

    def factor(self, place: Floats, slope: float) -> Floats:
        """By how much the noise variance at a level differs from that at the mean level."""
        share = slope / self._varying
        if 0 < share < 1:
            return np.asarray(1 + share * np.expm1(self._varying * place), dtype=float)
        return np.exp(slope * place)

    def factor_by_slope(self, place: Floats, slope: float) -> Floats:
        """The derivative of that factor."""
        if 0 < slope / self._varying < 1:
            return np.asarray(np.expm1(self._varying * place) / self._varying, dtype=float)
        return np.asarray(place * np.exp(slope * place), dtype=float)

    @property
    def slopes(self) -> tuple[float, float]:
        """The slopes that are believed: from a fixed number of seconds to what grows faster than the response."""
        return min(self._varying, 0.0), STEEPEST

    @property
    def _varying(self) -> float:
        """The slope if there were only that part of the noise which varies on this scale."""
        return -2.0 if self.scale is Scale.LOG else 2.0


def level_of(rows: Rows) -> Level:
    """The level of the response in rows; none where it is not positive, or a share."""
    response = rows.scale.inverse(rows.mean)
    if rows.scale is Scale.LOGIT or np.any(response <= 0):
        return Level(rows.scale, 0.0, 0.0, 0.0)
    logarithm = np.log(response)
    return Level(rows.scale, float(logarithm.mean()), float(logarithm.min()), float(logarithm.max()))
