"""What a run cost: in time for what it learned, in the user's own terms, or in money.

The default, duration / (100 * accuracy) ** 2, is the time a run took over the square of its accuracy in per cent: a
run that is twice as accurate may take four times as long. Another expression over the responses can stand in its place.
Money is what the cluster charges for: cores, memory and GPUs, by the hour, whether they were busy or not.
"""

import math
from dataclasses import dataclass

from coxswain.core.errors import InputError

DEFAULT_COST = "duration / (100 * accuracy) ** 2"
"""The cost where no other is given; an expression over the responses of a run."""

_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True)
class Reserved:
    """What every worker of a run held while it ran."""

    cores: float
    memory_gib: float = 0.0
    gpus: float = 0.0
    workers: int = 1

    def __post_init__(self) -> None:
        _require_not_negative(self)


@dataclass(frozen=True)
class Prices:
    """A price table, in any one currency."""

    core_hour: float = 0.0
    gib_hour: float = 0.0
    gpu_hour: float = 0.0

    def __post_init__(self) -> None:
        _require_not_negative(self)

    def per_hour(self, reserved: Reserved) -> float:
        """What all workers together cost an hour."""
        one_worker = (
            self.core_hour * reserved.cores + self.gib_hour * reserved.memory_gib + self.gpu_hour * reserved.gpus
        )
        return reserved.workers * one_worker

    def of_run(self, reserved: Reserved, seconds: float) -> float:
        """What a run cost that held this for so long."""
        if not (math.isfinite(seconds) and seconds >= 0):
            raise InputError(f"the run's seconds are {seconds:g}; give a number of 0 or more.")
        return self.per_hour(reserved) * seconds / _SECONDS_PER_HOUR


def _require_not_negative(amounts: Reserved | Prices) -> None:
    for field, value in vars(amounts).items():
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"{field} is {value:g}; give a number of 0 or more.")
