"""How good predictions of rows not fitted are: of the point, of the distribution, of the bound.

The CRPS (continuous ranked probability score) is the mean pinball loss over all levels: it rewards a distribution for
being sharp and right at once. Models of a positive response are compared by the CRPS of its logarithm, so that a miss
of 10 % counts the same for a job of a minute as for one of an hour.
"""

from dataclasses import dataclass

import numpy as np

from coxswain.core.models.types import Floats

LEVELS: Floats = (np.arange(40) + 0.5) / 40


def pinball(quantiles: Floats, observed: Floats, levels: Floats) -> Floats:
    """Loss of quantiles (a row an observation, a column a level): proper for each level by itself."""
    error = observed[:, None] - quantiles
    return np.maximum(levels * error, (levels - 1) * error)


def crps(quantiles: Floats, observed: Floats, levels: Floats = LEVELS) -> Floats:
    """CRPS of each observation, from the quantiles at evenly spread levels."""
    return np.asarray(2 * pinball(quantiles, observed, levels).mean(axis=1), dtype=float)


@dataclass(frozen=True)
class Comparison:
    """The scale on which models are compared: logarithmic for a positive response."""

    logarithmic: bool
    floor: float

    def place(self, values: Floats) -> Floats:
        """Values on that scale."""
        return np.log(self.possible(values)) if self.logarithmic else values

    def possible(self, values: Floats) -> Floats:
        """Values as they can be: a model that predicts a duration below 0 is taken to mean almost nothing."""
        return np.maximum(values, self.floor) if self.logarithmic else values


def comparison_for(observed: Floats) -> Comparison:
    """The scale that suits a response."""
    smallest = float(observed.min())
    return Comparison(smallest > 0, smallest / 10)


@dataclass(frozen=True)
class Scores:
    """What `cox fit` tells of a model, all on rows not fitted; nothing is NaN but `mape` with a response of 0."""

    name: str
    r2: float
    rmse: float
    mae: float
    mape: float
    crps: float
    score: float
    coverage: float
    bound_ratio: float


def score(
    name: str, observed: Floats, *, point: Floats, quantiles: Floats, bound: Floats, comparison: Comparison
) -> Scores:
    """All scores of predictions of rows not fitted."""
    error = observed - point
    # Responses that are all the same leave nothing to explain.
    variation = float(np.sum((observed - observed.mean()) ** 2)) or float("inf")
    relative = bool(np.all(observed != 0))
    return Scores(
        name,
        r2=1 - float(np.sum(error**2)) / variation,
        rmse=float(np.sqrt(np.mean(error**2))),
        mae=float(np.mean(np.abs(error))),
        mape=float(np.mean(np.abs(error / observed))) if relative else float("nan"),
        crps=float(np.mean(crps(quantiles, observed))),
        score=float(np.mean(crps(comparison.place(quantiles), comparison.place(observed)))),
        coverage=float(np.mean(observed <= bound)),
        bound_ratio=float(np.mean(bound / observed)) if relative else float("nan"),
    )
