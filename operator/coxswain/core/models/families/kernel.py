"""How alike the responses at two settings are, as a sum of effects of known kinds.

Main effects, interactions of each order, and smooth deviations from them each contribute a covariance whose size is
learned: regression with interactions is the sum of the first, a Gaussian process adds the smooth part. An effect that
the data do not show gets a variance near zero, so that adding kinds costs little. Two runs of the same setting differ
by noise; how its variance depends on the level of the response (`level.py`) is learned as well.

Parameters, all logarithms but the last: a variance for each order of interaction; for the smooth part a variance and a
length a factor; the noise variance; its slope over the level.
"""

import math
from dataclasses import dataclass

import numpy as np

from coxswain.core.factors import Factor
from coxswain.core.models.encoding import coded
from coxswain.core.models.types import Floats, Ints

# Of the intercept, in units of the response's own variance: wide enough not to matter.
INTERCEPT = 10.0


@dataclass(frozen=True)
class Kernel:
    """Which kinds of effect there are: interactions up to an order (1: main effects only), and a smooth part."""

    factors: tuple[Factor, ...]
    order: int
    smooth: bool
    log: bool

    @property
    def size(self) -> int:
        """Number of parameters, noise and slope included."""
        return self.order + (1 + len(self.factors) if self.smooth else 0) + 2

    def prior(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the parameters before any data, for a response of variance 1.

        Wide, but enough to keep a handful of rows from asking for the absurd: interactions are smaller than main
        effects, a length scale spans the range of a factor and grows with the root of their number, noise is a few
        per cent, and how it depends on the level of the response is left open: no slope is as natural as one of -2,
        a fixed number of seconds.
        """
        means = [0.0] + [-4.0] * (self.order - 1)
        spreads = [2.0] * self.order
        if self.smooth:
            means += [-1.0] + [math.log(2) + math.log(len(self.factors)) / 2] * len(self.factors)
            spreads += [2.0] + [1.0] * len(self.factors)
        return np.array([*means, -4.0, 0.0]), np.array([*spreads, 2.0, 1.0])

    def bounds(self) -> list[tuple[float, float]]:
        """Beyond these a parameter means the same as at the bound, and arithmetic suffers; the slope has its own."""
        bounds = [(-9.0, 5.0)] * self.order
        if self.smooth:
            bounds += [(-9.0, 5.0)] + [(-2.0, 6.0)] * len(self.factors)
        return [*bounds, (-13.0, 3.0)]

    def nested(self) -> list[Ints]:
        """The parameters but the slope: if nothing mattered, with main effects, with each further kind of effect."""
        noise = self.size - 2
        ends = [*range(self.order + 1)] + ([noise] if self.smooth else [])
        return [np.array([*range(end), noise]) for end in ends]

    def between(self, left: Floats, right: Floats) -> "Similarities":
        """What covariance is made of between two sets of settings; independent of the parameters."""
        likeness = []
        distances = []
        for index, factor in enumerate(self.factors):
            if factor.is_numeric:
                a, b = (coded(factor, settings[:, index], log=self.log) for settings in (left, right))
                likeness.append(np.outer(a, b))
                distances.append((a[:, None] - b[None, :]) ** 2)
            else:
                same = left[:, index][:, None] == right[:, index][None, :]
                likeness.append(np.where(same, 1.0, -1.0 / (len(factor.categories) - 1)))
                distances.append(np.where(same, 0.0, 4.0))
        # Sums over all products of k different factors, for k up to the order, by one pass over the factors.
        orders = [np.ones((len(left), len(right)))] + [np.zeros((len(left), len(right))) for _ in range(self.order)]
        for gram in likeness:
            for k in range(self.order, 0, -1):
                orders[k] = orders[k] + orders[k - 1] * gram
        return Similarities(self, orders[1:], distances if self.smooth else [])


@dataclass(frozen=True)
class Similarities:
    """The parts of a covariance between two sets of settings."""

    kernel: Kernel
    orders: list[Floats]
    distances: list[Floats]

    def covariance(self, parameters: Floats) -> Floats:
        """Their sum, with the sizes that the parameters give them; a matrix for each of several parameter vectors."""
        total = np.full(parameters.shape[:-1] + self.orders[0].shape, INTERCEPT)
        for size, part in zip(_one_a_matrix(np.exp(parameters)), self.orders, strict=False):
            total += size * part
        if self.kernel.smooth:
            total += self.smooth_part(parameters)
        return total

    def smooth_part(self, parameters: Floats) -> Floats:
        """The part that decays with the distance between settings, each factor in units of its own length."""
        size, *lengths = _one_a_matrix(np.exp(parameters[..., self.kernel.order : -2]))
        exponent = np.zeros(parameters.shape[:-1] + self.orders[0].shape)
        for length, distance in zip(lengths, self.distances, strict=True):
            exponent -= distance / (2 * length**2)
        return np.asarray(size * np.exp(exponent), dtype=float)

    def gradient(self, parameters: Floats, weights: Floats) -> Floats:
        """Derivative of sum(weights * covariance) by each parameter of the kernel, noise and slope excepted."""
        order = self.kernel.order
        slopes = [float(np.exp(parameters[k]) * np.sum(weights * self.orders[k])) for k in range(order)]
        if self.kernel.smooth:
            weighted = weights * self.smooth_part(parameters)
            slopes.append(float(np.sum(weighted)))
            slopes += [
                float(np.sum(weighted * distance)) / length**2
                for length, distance in zip(np.exp(parameters[order + 1 : -2]), self.distances, strict=True)
            ]
        return np.array(slopes)


def _one_a_matrix(sizes: Floats) -> Floats:
    """Sizes in the last axis, first instead, each ready to be multiplied with a matrix."""
    return np.moveaxis(sizes, -1, 0)[..., None, None]
