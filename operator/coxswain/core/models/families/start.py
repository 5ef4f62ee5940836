"""What every run takes, whatever its settings: a container starts, libraries load, a last file is written.

Where durations are modelled by their logarithm, effects are factors, and nothing keeps the product of the best levels
from being absurdly small. A start does: modelled is the rest, what a run takes beyond it. Near the start the rest is a
small share of the whole, so that errors about it hardly matter, and the noise of the whole is large beside it.

How long the start is, is one of a few shares of the shortest response seen. None at all is the likeliest beforehand:
where rows cannot tell, a long start would make every fast setting look worse than it is.
"""

from dataclasses import dataclass

import numpy as np

from coxswain.core.models.observations import FEWEST_UNITS, Rows
from coxswain.core.models.scales import Scale
from coxswain.core.models.types import Floats

# How likely a start is beforehand that matters, and what it may be of the shortest response.
MATTERS = 0.05
SHARES = (0.3, 0.6, 0.8, 0.9)


@dataclass(frozen=True)
class Start:
    """A start of so many units of the response, and how likely it is beforehand."""

    length: float
    likely: float

    def rest(self, response: Floats) -> Floats:
        """What there is beyond the start; both on the model's scale."""
        return np.log(np.exp(response) - self.length) if self.length else response

    def whole(self, rest: Floats) -> tuple[Floats, Floats]:
        """The response, on the model's scale, and the share that the rest has in it."""
        if not self.length:
            return rest, np.ones(rest.shape)
        response = np.logaddexp(np.log(self.length), rest)
        return response, np.exp(rest - response)


def starts_of(rows: Rows) -> list[Start]:
    """The starts that rows may have, none first; only a duration on a logarithmic scale has any."""
    if rows.scale is not Scale.LOG or len(rows) < FEWEST_UNITS:
        return [Start(0.0, 1.0)]
    shortest = float(np.exp(rows.mean.min()))
    return [Start(0.0, 1 - MATTERS), *(Start(share * shortest, MATTERS / len(SHARES)) for share in SHARES)]
