"""The mean of the DoE regression and the forest, with which FLTK's optimiser predicts training times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coxswain.core.models.families.base import Measured, Regressor, Setting, Spread, Value
from coxswain.core.models.families.learners import FOREST
from coxswain.core.models.families.least_squares import LINEAR
from coxswain.core.models.observations import Rows
from coxswain.core.models.types import Floats


@dataclass(frozen=True)
class MeanFamily:
    """Linear regression with interactions and a forest, each counting for half."""

    name: str = "doe_forest"

    def axes(self, rows: Rows) -> Mapping[str, Sequence[Value]]:
        """Those of the regression; the forest keeps its defaults."""
        return LINEAR.axes(rows)

    def fit(self, rows: Rows, setting: Setting, spread: Spread | None = None) -> "MeanRegressor":
        """Fit both."""
        defaults = {axis: values[0] for axis, values in FOREST.axes(rows).items()}
        halves = (LINEAR.fit(rows, setting), FOREST.fit(rows, {**defaults, "scale": setting["scale"]}))
        measured = spread or Spread(0.0, float(np.var(rows.mean)))
        return MeanRegressor(halves, spread=measured, dof=halves[0].dof)


@dataclass(frozen=True, eq=False)
class MeanRegressor(Measured):
    """Two regressors and the spread measured for their mean."""

    halves: tuple[Regressor, Regressor]

    def mean(self, settings: Floats) -> Floats:
        """The mean of both predictions."""
        first, second = self.halves
        return (first.mean(settings) + second.mean(settings)) / 2


DOE_FOREST = MeanFamily()
