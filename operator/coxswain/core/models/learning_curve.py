"""How good a run gets: accuracy over epochs and settings.

The log-odds of accuracy are modelled over the logarithm of the epochs and the settings: a straight line there is a
power law of the error, and a Gaussian process bends it where the data ask for it. Predictions stay between 0 and 1.
The epochs of a run are left out together with all runs of its row, so that the bound of a curve is one for a curve
never seen, not for a point between two neighbours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coxswain.core.dataset import make_dataset
from coxswain.core.errors import InputError
from coxswain.core.factors import Level
from coxswain.core.models.families import Family
from coxswain.core.models.families.gaussian import GAUSSIAN_PROCESS, LOG_LOG
from coxswain.core.models.fitted import FittedModel
from coxswain.core.models.fitting import fit
from coxswain.core.models.observations import from_dataset
from coxswain.core.models.predictive import Predictive

ACCURACY, EPOCHS, ROW = "accuracy", "epochs", "row of the curve"
QUICK: tuple[Family, ...] = (LOG_LOG, GAUSSIAN_PROCESS)
# So many points of a curve are fitted, spread evenly over the logarithm of the epochs: neighbours say the same.
POINTS = 6


@dataclass(frozen=True)
class CurveRecord:
    """The accuracy after each epoch of one run, and its settings without the epochs."""

    settings: Mapping[str, Level]
    accuracy: Sequence[float]


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """A fitted model of accuracy over epochs and settings."""

    model: FittedModel

    def predict(self, settings: Mapping[str, Level], epochs: Sequence[int]) -> Predictive:
        """Distributions of the accuracy after each of some numbers of epochs."""
        return self.model.predict([{**settings, EPOCHS: float(count)} for count in epochs])


def fit_curve(records: Sequence[CurveRecord], *, seed: int = 0) -> LearningCurve:
    """Learn the curve from finished runs.

    Raises:
        InputError: if an accuracy is not between 0 and 1, or there are too few rows.
    """
    rows = []
    for record in records:
        if not record.accuracy or min(record.accuracy) < 0 or max(record.accuracy) > 1:
            raise InputError("accuracies must lie between 0 and 1, one for each epoch; correct or leave out that run.")
        row = ", ".join(f"{name}={value}" for name, value in record.settings.items())
        rows += [
            {**record.settings, EPOCHS: float(epoch), ACCURACY: record.accuracy[epoch - 1], ROW: row}
            for epoch in _spread_out(len(record.accuracy))
        ]
    if not rows:
        raise InputError("there are no runs to learn a curve from; add some.")
    names = [*records[0].settings, EPOCHS]
    dataset = make_dataset(pd.DataFrame(rows), ACCURACY, names, group=ROW)
    return LearningCurve(fit(from_dataset(dataset), families=QUICK, seed=seed, shares=True))


def _spread_out(epochs: int) -> list[int]:
    """Epochs from 1 to the last, evenly by their logarithm."""
    return sorted({int(epoch) for epoch in np.round(np.geomspace(1, epochs, POINTS))})
