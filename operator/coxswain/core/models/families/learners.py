"""Lasso, trees, forests, boosting and neural networks, as scikit-learn has them.

These say nothing about how sure they are, so their spread is what was measured on rows left out. The grids are those
of Courier's Tables 7 and 10 (features, depth and criterion of the forest; loss and depth of boosting), except that 150
trees and 200 stages are the most: the error of a forest falls with its trees but levels off long before 2000 of them,
and a model must stay small enough to be sent about.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from coxswain.core.models.encoding import Encoding
from coxswain.core.models.families.base import Measured, Setting, Spread, Value
from coxswain.core.models.families.least_squares import scales_for
from coxswain.core.models.observations import Rows
from coxswain.core.models.types import Floats

SEED = 0  # of the learners' own draws: a fit depends on its rows and setting alone

Axes = Mapping[str, Sequence[Value]]


@dataclass(frozen=True)
class LearnerFamily:
    """A scikit-learn estimator made from a setting; `grid` are its axes, `log` how settings are placed."""

    name: str
    make: Callable[[Setting], Any]
    grid: Axes
    log: bool = False

    def axes(self, rows: Rows) -> Axes:
        """The estimator's own axes and the scales."""
        return {"scale": scales_for(rows), **self.grid}

    def fit(self, rows: Rows, setting: Setting, spread: Spread | None = None) -> "LearnerRegressor":
        """Fit the estimator to the rows' means, in units of their own spread."""
        encoding = Encoding(rows.factors, log=self.log)
        centre, unit = float(rows.mean.mean()), float(rows.mean.std()) or 1.0
        estimator = self.make(setting)
        with catch_warnings():
            # An optimiser that stops at its limit of steps is judged by its error on rows left out, like any other.
            simplefilter("ignore", ConvergenceWarning)
            estimator.fit(encoding.columns(rows.settings), (rows.mean - centre) / unit)
        measured = spread or Spread(0.0, unit**2)
        return LearnerRegressor(encoding, estimator, centre, unit, spread=measured, dof=len(rows) - 1.0)


@dataclass(frozen=True, eq=False)
class LearnerRegressor(Measured):
    """A fitted estimator with the spread that was measured for it."""

    encoding: Encoding
    estimator: Any
    centre: float
    unit: float

    def mean(self, settings: Floats) -> Floats:
        """The predictions."""
        predicted = self.estimator.predict(self.encoding.columns(settings))
        return self.centre + self.unit * np.asarray(predicted, dtype=float)


def _lasso(setting: Setting) -> Any:
    terms = PolynomialFeatures(degree=int(setting["degree"]), include_bias=False)
    return make_pipeline(terms, StandardScaler(), Lasso(alpha=float(setting["penalty"]), max_iter=5000))


def _tree(setting: Setting) -> Any:
    return DecisionTreeRegressor(
        max_depth=int(setting["depth"]), min_samples_leaf=int(setting["leaf"]), random_state=SEED
    )


def _forest(setting: Setting) -> Any:
    features = setting["features"]
    return RandomForestRegressor(
        int(setting["trees"]),
        max_features=features if isinstance(features, str) else float(features),
        max_depth=int(setting["depth"]),
        criterion=str(setting["criterion"]),
        random_state=SEED,
        n_jobs=1,
    )


def _boosting(setting: Setting) -> Any:
    return GradientBoostingRegressor(
        n_estimators=int(setting["stages"]),
        loss=str(setting["loss"]),
        max_depth=int(setting["depth"]),
        random_state=SEED,
    )


def _network(setting: Setting) -> Any:
    network = MLPRegressor(
        hidden_layer_sizes=(int(setting["width"]),),
        alpha=float(setting["penalty"]),
        activation="tanh",
        solver="lbfgs",
        max_iter=300,
        random_state=SEED,
    )
    return make_pipeline(StandardScaler(), network)


LASSO = LearnerFamily("lasso", _lasso, {"penalty": (0.01, 0.001, 0.1), "degree": (2, 1, 3)})
TREE = LearnerFamily("tree", _tree, {"depth": (10, 6, 4), "leaf": (1, 3, 8)})
FOREST = LearnerFamily(
    "forest",
    _forest,
    {
        "depth": (10, 6, 4),
        "features": (1.0, "sqrt", "log2"),
        "criterion": ("squared_error", "absolute_error"),
        "trees": (50, 150),
    },
)
BOOSTING = LearnerFamily(
    "boosting",
    _boosting,
    {"depth": (3, 8), "loss": ("squared_error", "huber", "absolute_error"), "stages": (50, 200)},
)
NETWORK = LearnerFamily("mlp", _network, {"penalty": (0.1, 0.01, 1.0), "width": (16, 32)}, log=True)
