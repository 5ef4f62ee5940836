"""How deadlines are drawn for a backtest.

Contested ones lie between a context's fastest and slowest candidate, where a choice matters: earlier nobody can be in
time, later everybody is. Normal ones are what Courier was tried with (mean 300 s, standard deviation 100 s).
"""

from dataclasses import dataclass

import numpy as np

from coxswain.core.baselines.recorded import Context
from coxswain.core.errors import InputError
from coxswain.core.models.types import Floats


@dataclass(frozen=True)
class Contested:
    """Uniform between the fastest and the slowest candidate of the context."""

    def draw(self, context: Context, count: int, rng: np.random.Generator) -> Floats:
        """Deadlines of so many jobs."""
        usual = context.usual
        return rng.uniform(usual.min(), usual.max(), count)


@dataclass(frozen=True)
class Normal:
    """Normal, whatever the context; what would not be above 0 is drawn again."""

    mean: float
    spread: float

    def draw(self, context: Context, count: int, rng: np.random.Generator) -> Floats:  # noqa: ARG002 the same for all
        """Deadlines of so many jobs."""
        drawn = rng.normal(self.mean, self.spread, count)
        while (drawn <= 0).any():
            drawn = np.where(drawn <= 0, rng.normal(self.mean, self.spread, count), drawn)
        return drawn


Deadlines = Contested | Normal


def parse_deadlines(text: str) -> Deadlines:
    """What `contested` or `normal:300,100` means.

    Raises:
        InputError: if it is neither.
    """
    if text == "contested":
        return Contested()
    kind, _, numbers = text.partition(":")
    try:
        mean, spread = (float(each) for each in numbers.split(","))
    except ValueError:
        mean = spread = 0.0
    if kind != "normal" or mean <= 0 or spread <= 0:
        raise InputError(f"deadlines {text} are unknown; write contested, or normal:MEAN,SPREAD with numbers above 0.")
    return Normal(mean, spread)
