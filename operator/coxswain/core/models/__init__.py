"""What durations and accuracies will be, learned from runs that are done.

    observations ──> survey (outer folds: every choice made anew) ──> residuals ──> calibration ─┐
         └────────> search (inner folds: hyperparameters, choice) ──> regressor ─────────────────┴──> FittedModel

`fit` lets all families compete and `refit` keeps a choice. A `FittedModel` gives one `Predictive` distribution a
query; `best_of` gives bounds that hold at the candidate that gets picked. `duration`, `learning_curve` and `failure`
are built on it, for what happens once and by the epoch, for accuracy, and for the chance that a run fails.
"""

from coxswain.core.models.best_of import Pick
from coxswain.core.models.calibration import Basis
from coxswain.core.models.duration import FEWEST_RUNS, DurationModel, DurationsAt, fit_durations
from coxswain.core.models.explanation import Importance, ablate, importance
from coxswain.core.models.failure import fit_failures
from coxswain.core.models.families import FAMILIES
from coxswain.core.models.fitted import Bounds, FittedModel
from coxswain.core.models.fitting import fit, refit
from coxswain.core.models.learning_curve import CurveRecord, LearningCurve, fit_curve
from coxswain.core.models.observations import Observations, from_dataset
from coxswain.core.models.predictive import Predictive
from coxswain.core.models.runs import RunRecord
from coxswain.core.models.scoring import Scores
from coxswain.core.models.total import Duration, Durations

__all__ = [
    "FAMILIES",
    "FEWEST_RUNS",
    "Basis",
    "Bounds",
    "CurveRecord",
    "Duration",
    "DurationModel",
    "Durations",
    "DurationsAt",
    "FittedModel",
    "Importance",
    "LearningCurve",
    "Observations",
    "Pick",
    "Predictive",
    "RunRecord",
    "Scores",
    "ablate",
    "fit",
    "fit_curve",
    "fit_durations",
    "fit_failures",
    "from_dataset",
    "importance",
    "refit",
]
