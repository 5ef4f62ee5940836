"""A fitted model: what was chosen, and everything needed to predict with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coxswain.core.errors import InputError
from coxswain.core.factors import Factor, Level
from coxswain.core.models.best_of import Pick, raise_for_pick
from coxswain.core.models.calibration import Calibration
from coxswain.core.models.extrapolation import Reach
from coxswain.core.models.families import Regressor
from coxswain.core.models.families.averaged import AveragedRegressor
from coxswain.core.models.known import KnownRows
from coxswain.core.models.observations import settings_array
from coxswain.core.models.predictive import Predictive
from coxswain.core.models.residuals import Standard
from coxswain.core.models.scales import Scale
from coxswain.core.models.scoring import Comparison, Scores
from coxswain.core.models.search import Tuned
from coxswain.core.models.types import Floats

# The share of the model's error in a variance is never taken as more than this: some noise is always to come.
MOST_SHARED = 0.95

Query = Mapping[str, Level]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """The chosen family with its setting, fitted to all rows and calibrated on rows left out.

    `models` are the scores of every family, best first, and `nested` those of the choice itself, all on rows not
    fitted. `rows` is the number of units it learned from.
    """

    chosen: str
    tuned: Tuned
    factors: tuple[Factor, ...]
    response: str
    rows: int
    models: tuple[Scores, ...]
    nested: Scores
    scale: Scale
    regressor: Regressor
    comparison: Comparison
    standard: Standard
    calibration: Calibration
    known: KnownRows | None
    reach: Reach

    def predict(self, queries: Sequence[Query]) -> Predictive:
        """The distribution of the response at each of some settings.

        Raises:
            InputError: in one sentence that names the factor that is unknown, missing, or has no such category.
        """
        return self.predict_array(settings_array(self.factors, queries))

    def predict_array(self, settings: Floats) -> Predictive:
        """The same for settings as an array: a column a factor, categories as their number."""
        location = self.regressor.mean(settings)
        variances = self.regressor.variances(settings)
        level = self.comparison.place(self.scale.inverse(location))
        spread = self.standard.spread(np.sqrt(variances.total), settings, level)
        spread = self.reach.widen(spread, settings, location)
        share = np.clip(variances.model / variances.total, 0.0, MOST_SHARED)
        seen = np.zeros(len(settings), dtype=bool)
        if self.known is not None:
            found = self.known.find(settings)
            seen = found >= 0
            location = np.where(seen, self.known.location[found], location)
            spread = np.where(seen, self.known.spread[found], spread)
            share = np.where(seen, self.known.shared[found], share)
        return Predictive(
            self.scale,
            self.comparison.logarithmic,
            location,
            spread,
            seen,
            self.calibration,
            self.known.calibration if self.known else self.calibration,
            share,
            tuple(self.reach.notes(settings, location)),
        )

    def correlation(self, settings: Floats) -> Floats:
        """Correlation of the model's errors between settings."""
        covariance = self.regressor.covariance(settings)
        size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        correlation = np.asarray(np.clip(covariance / np.outer(size, size), -1.0, 1.0), dtype=float)
        np.fill_diagonal(correlation, 1.0)
        return correlation

    def best_of(
        self, queries: Sequence[Query], confidence: float, *, pick: Pick = Pick.SMALLEST, seed: int = 0
    ) -> "Bounds":
        """Upper bounds of candidates that hold at the one that gets picked."""
        return self.best_of_array(settings_array(self.factors, queries), confidence, pick=pick, seed=seed)

    def best_of_array(
        self, settings: Floats, confidence: float, *, pick: Pick = Pick.SMALLEST, seed: int = 0
    ) -> "Bounds":
        """The same for settings as an array."""
        if not len(settings):
            raise InputError("there is no candidate to choose from; give at least one.")
        predictive = self.predict_array(settings)
        raised = raise_for_pick(
            confidence,
            location=predictive.location,
            spread=predictive.spread,
            model_share=predictive.model_share,
            correlation=self.correlation(settings),
            pick=pick,
            rng=np.random.default_rng(seed),
        )
        if pick is Pick.SMALLEST and isinstance(self.regressor, AveragedRegressor):
            raised *= self.regressor.by_chance
        bounds = predictive.quantile(confidence, raised)
        best = int(np.argmin(bounds))
        return Bounds(predictive, float(predictive.cdf(bounds)[best]), bounds, best)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of candidates that hold at the pick; `best` is the candidate with the smallest.

    `level` is the confidence that its bound would have to itself, had there been no pick.
    """

    predictive: Predictive
    level: float
    bounds: Floats
    best: int
