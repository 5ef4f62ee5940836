"""One distribution a query: bounds at any confidence and chances to be done in time both come from it.

On the model's scale the response is `location + spread * score`, and the score has a calibrated distribution: one for
settings never run, another for settings that were. `quantile` and `cdf` are inverse to each other, so that a bound at
95 % is exactly the deadline that is met with a chance of 95 %.
"""

from dataclasses import dataclass

import numpy as np

from coxswain.core.errors import InputError
from coxswain.core.models.calibration import Basis, Calibration
from coxswain.core.models.scales import Scale
from coxswain.core.models.types import Bools, Floats


@dataclass(frozen=True, eq=False)
class Predictive:
    """Distributions of the response at some settings.

    `model_share` is the share of the model's own error in the variance: what jobs predicted by the same model have in
    common. `notes` says of each setting which factors lie beyond what was measured.
    """

    scale: Scale
    positive: bool
    location: Floats
    spread: Floats
    seen: Bools
    new_rows: Calibration
    seen_rows: Calibration
    model_share: Floats
    notes: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.location)

    @property
    def point(self) -> Floats:
        """The model's prediction; on a logarithmic scale the median."""
        return self._response(self.location)

    def quantile(self, level: float, raised: float = 0.0) -> Floats:
        """The response that is not exceeded with a probability: the upper bound at that confidence.

        It may be raised by so many spreads.
        """
        if not 0 < level < 1:
            raise InputError(f"a confidence must lie between 0 and 1, not at {level:g}.")
        new, seen = (part.quantile(np.array([level]))[0] for part in (self.new_rows, self.seen_rows))
        return self._response(self.location + self.spread * (np.where(self.seen, seen, new) + raised))

    def cdf(self, response: Floats | float) -> Floats:
        """The probability not to exceed a response: the chance to be done by then."""
        wanted = np.broadcast_to(np.asarray(response, dtype=float), self.location.shape)
        possible = wanted > 0 if self.positive else np.ones(len(self), dtype=bool)
        placed = self.scale.forward(np.where(possible, wanted, 1.0))
        score = (placed - self.location) / self.spread
        chance = np.where(self.seen, self.seen_rows.cdf(score), self.new_rows.cdf(score))
        return np.where(possible, chance, 0.0)

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """The central interval of a confidence."""
        return self.quantile((1 - confidence) / 2), self.quantile((1 + confidence) / 2)

    def basis(self, level: float) -> list[Basis]:
        """What each bound at a level rests on; beyond what was measured how wide it is, is assumed."""
        new, seen = self.new_rows.basis(level), self.seen_rows.basis(level)
        inside = [seen if known else new for known in self.seen]
        return [Basis.PARAMETRIC if beyond else basis for basis, beyond in zip(inside, self.notes, strict=True)]

    def _response(self, value: Floats) -> Floats:
        response = self.scale.inverse(value)
        return np.maximum(response, 0.0) if self.positive else response
