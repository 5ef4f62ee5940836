"""How sure a bound has to be of itself, so that the promises made with it are kept as often as they say.

A bound at 95 % holds for 95 of 100 jobs. But a promise is not made for any job: it is made where the bound happens to
lie before the deadline, for the best setting where it does, and that is more often where the model was too hopeful.
Worst off are deadlines among the times that a job's settings take, where it matters what is chosen. So the choice is
replayed for just these: times are drawn for all settings together, as the model is wrong about them together; a
deadline is drawn between the fastest and the slowest; the choice is made; and the level of the bounds is raised until
promises are kept as often as asked. Where no level does, because the settings hardly differ in what the model cannot
tell apart, nothing is promised. It depends on the candidates alone, not on the actual deadline, and serves every job
that has them.
"""

import numpy as np
from scipy.special import ndtr

from coxswain.core.models.predictive import Predictive
from coxswain.core.models.types import Floats

DRAWS = 4000
# Levels tried above the one asked for: each leaves out this share of what the one before it left out.
CLOSER = 0.7
LEVELS = 12
# A level at which promises are this rare is none.
RARE = 0.005


def promise_level(
    predictive: Predictive, correlation: Floats, values: Floats, confidence: float, *, seed: int = 0
) -> float | None:
    """The level of bounds at which promises are kept with a confidence; None if there is none.

    `predictive` and `values` are of a job's candidates; `correlation` is that of the model's errors between them.
    """
    if len(values) < 2:
        return confidence
    rng = np.random.default_rng(seed)
    seconds = _drawn(predictive, correlation, rng)
    deadlines = rng.uniform(seconds.min(axis=1), seconds.max(axis=1))
    draws = np.arange(DRAWS)
    for step in range(LEVELS):
        level = 1 - (1 - confidence) * CLOSER**step
        within = predictive.quantile(level) <= deadlines[:, None]
        promised = within.any(axis=1)
        if promised.mean() < RARE:
            return None
        picked = np.argmax(np.where(within, values, -np.inf), axis=1)
        if np.mean(seconds[draws, picked][promised] <= deadlines[promised]) >= confidence:
            return level
    return None


def _drawn(predictive: Predictive, correlation: Floats, rng: np.random.Generator) -> Floats:
    """Responses of all candidates together: the model's errors correlated, the noise of each run its own."""
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    count = len(predictive)
    error = rng.standard_normal((DRAWS, count)) @ root.T * np.sqrt(predictive.model_share)
    levels = ndtr(error + rng.standard_normal((DRAWS, count)) * np.sqrt(1 - predictive.model_share))
    score = np.where(predictive.seen, predictive.seen_rows.quantile(levels), predictive.new_rows.quantile(levels))
    response = predictive.scale.inverse(predictive.location + predictive.spread * score)
    return np.asarray(np.maximum(response, 0.0) if predictive.positive else response, dtype=float)
