"""Which factors matter to the predictions, and what is lost without one.

Permutation: how much larger the error on rows not fitted becomes when a factor's values are shuffled among them; it
speaks of the chosen model and of new rows. Impurity: the share of a forest's splits' gain that a factor has, as
Courier and FLTK report it; it speaks of the rows fitted and favours factors with many levels. Ablation: everything is
chosen and scored anew as if the factor had never been recorded (Courier without the load).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coxswain.core.models.censoring import impute
from coxswain.core.models.encoding import Encoding
from coxswain.core.models.families import FAMILIES, Family, Regressor
from coxswain.core.models.families.learners import FOREST
from coxswain.core.models.fitted import FittedModel
from coxswain.core.models.fitting import FOLDS, fit
from coxswain.core.models.observations import Observations, Rows, put_together
from coxswain.core.models.scoring import Scores
from coxswain.core.models.search import assign_folds
from coxswain.core.models.types import Floats

SHUFFLES = 10


@dataclass(frozen=True)
class Importance:
    """Of one factor: growth of the mean absolute error (of the logarithm, for a positive response), share of gain."""

    factor: str
    permutation: float
    impurity: float


def importance(
    model: FittedModel, observations: Observations, *, families: Sequence[Family] = FAMILIES, seed: int = 0
) -> tuple[Importance, ...]:
    """The importance of each factor, the most important first."""
    rng = np.random.default_rng(seed)
    family = next(family for family in families if family.name == model.chosen)
    filled = impute(observations)
    folds = assign_folds(filled.units, FOLDS, rng)
    growth = np.zeros(len(filled.factors))
    for fold in range(FOLDS):
        own = folds == fold
        rows = put_together(filled.take(~own), model.scale)
        regressor = family.fit(rows, model.tuned.setting, model.tuned.spread)
        growth += _growth(model, regressor, filled.take(own), rng)
    shares = _impurity(put_together(filled, model.scale))
    found = [
        Importance(factor.name, float(grown) / len(filled.y), float(share))
        for factor, grown, share in zip(filled.factors, growth, shares, strict=True)
    ]
    return tuple(sorted(found, key=lambda one: -one.permutation))


def ablate(
    observations: Observations,
    factor: str,
    *,
    families: Sequence[Family] = FAMILIES,
    seed: int = 0,
    shares: bool = False,
) -> tuple[str, Scores]:
    """What would have been chosen without a factor, and how good that would be on rows not fitted."""
    without = fit(observations.without(factor), families=families, seed=seed, shares=shares)
    return without.chosen, without.nested


def _growth(model: FittedModel, regressor: Regressor, unseen: Observations, rng: np.random.Generator) -> Floats:
    """By how much the sum of absolute errors grows when each factor is shuffled, on the scale of comparison."""
    place = model.comparison.place
    observed = place(unseen.y)

    def error(settings: Floats) -> float:
        return float(np.sum(np.abs(place(model.scale.inverse(regressor.mean(settings))) - observed)))

    before = error(unseen.settings)
    growth = np.zeros(len(unseen.factors))
    for index in range(len(growth)):
        for _ in range(SHUFFLES):
            shuffled = unseen.settings.copy()
            shuffled[:, index] = rng.permutation(shuffled[:, index])
            growth[index] += (error(shuffled) - before) / SHUFFLES
    return growth


def _impurity(rows: Rows) -> Floats:
    setting = {axis: values[0] for axis, values in FOREST.axes(rows).items()}
    forest = FOREST.fit(rows, setting).estimator
    owner = Encoding(rows.factors, log=False).owner
    shares = np.bincount(owner, weights=forest.feature_importances_, minlength=len(rows.factors))
    return shares.astype(float)
