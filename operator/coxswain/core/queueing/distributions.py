"""Times with a chosen mean and squared coefficient of variation, to try a formula on more than one shape.

Two distributions can share mean and variance and still queue differently behind several servers, so the shape is named:

    deterministic       cv2 0
    erlang              cv2 1, 1/2, 1/3, …: that many exponential stages in a row
    exponential         cv2 1
    hyperexponential    cv2 above 1: a mix of two exponentials, each bringing half of the work ("balanced means")
    lognormal           any cv2 above 0: skewed, as job durations often are
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from coxswain.core.errors import InputError
from coxswain.core.queueing.checks import require_not_negative, require_positive


class Shape(StrEnum):
    """The family a distribution of times belongs to."""

    DETERMINISTIC = "deterministic"
    ERLANG = "erlang"
    EXPONENTIAL = "exponential"
    HYPEREXPONENTIAL = "hyperexponential"
    LOGNORMAL = "lognormal"


@dataclass(frozen=True)
class Times:
    """A distribution of positive times."""

    shape: Shape
    mean: float
    cv2: float

    def __post_init__(self) -> None:
        require_positive("the mean time", self.mean)
        require_not_negative("cv2", self.cv2)
        allowed = {
            Shape.DETERMINISTIC: self.cv2 == 0,
            Shape.ERLANG: self.cv2 > 0 and math.isclose(self._stages * self.cv2, 1),
            Shape.EXPONENTIAL: self.cv2 == 1,
            Shape.HYPEREXPONENTIAL: self.cv2 > 1,
            Shape.LOGNORMAL: self.cv2 > 0,
        }[self.shape]
        if not allowed:
            raise InputError(f"no {self.shape} distribution has cv2 {self.cv2:g}; choose another shape.")

    def draw(self, generator: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
        """Independent times."""
        match self.shape:
            case Shape.DETERMINISTIC:
                return np.full(size, float(self.mean))
            case Shape.ERLANG:
                return generator.gamma(self._stages, self.mean / self._stages, size)
            case Shape.EXPONENTIAL:
                return generator.exponential(self.mean, size)
            case Shape.HYPEREXPONENTIAL:
                # The share p of short jobs with mean m / 2p, so that p and 1 - p both bring half of the work.
                short = (1 + math.sqrt((self.cv2 - 1) / (self.cv2 + 1))) / 2
                branch_means = np.where(generator.random(size) < short, 1 / short, 1 / (1 - short)) * self.mean / 2
                return branch_means * generator.standard_exponential(size)
            case Shape.LOGNORMAL:
                variance = math.log1p(self.cv2)
                return generator.lognormal(math.log(self.mean) - variance / 2, math.sqrt(variance), size)

    @property
    def _stages(self) -> int:
        return max(1, round(1 / self.cv2)) if self.cv2 > 0 else 1


def exponential(mean: float) -> Times:
    """Memoryless times: what M stands for in M/M/k."""
    return Times(Shape.EXPONENTIAL, mean, 1.0)


def with_cv2(mean: float, cv2: float) -> Times:
    """The plainest shape with this variability: lognormal only where neither 1 / cv2 is whole nor cv2 above 1."""
    if cv2 == 0:
        return Times(Shape.DETERMINISTIC, mean, cv2)
    if cv2 == 1:
        return exponential(mean)
    if cv2 > 1:
        return Times(Shape.HYPEREXPONENTIAL, mean, cv2)
    whole = math.isclose(round(1 / cv2) * cv2, 1)
    return Times(Shape.ERLANG if whole else Shape.LOGNORMAL, mean, cv2)
