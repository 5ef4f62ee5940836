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

from collections.abc import Sequence

import numpy as np

from coxswain.core.models.types import Floats
from coxswain.core.planning.times import Times, draw

DRAWS = 4000
# Levels tried above the one asked for: each leaves out this share of what the one before it left out.
CLOSER = 0.7
LEVELS = 12
# A level at which promises are this rare is none.
RARE = 0.005


def promise_level(
    times: Sequence[Times],
    values: Floats,
    confidence: float,
    *,
    correlation: Floats | None = None,
    seed: int = 0,
) -> float | None:
    """The level of bounds at which promises are kept with a confidence; None if there is none.

    `times` and `values` are of a job's candidates; `correlation` is that of the model's errors between them, which are
    one and the same error if it is not given, as for one setting with more or fewer epochs.
    """
    if len(values) < 2:
        return confidence
    rng = np.random.default_rng(seed)
    seconds = _drawn(times, correlation, rng)
    deadlines = rng.uniform(seconds.min(axis=1), seconds.max(axis=1))
    draws = np.arange(DRAWS)
    for step in range(LEVELS):
        level = 1 - (1 - confidence) * CLOSER**step
        within = np.array([each.quantile(level) for each in times]) <= deadlines[:, None]
        promised = within.any(axis=1)
        if promised.mean() < RARE:
            return None
        picked = np.argmax(np.where(within, values, -np.inf), axis=1)
        if np.mean(seconds[draws, picked][promised] <= deadlines[promised]) >= confidence:
            return level
    return None


def strictest(confidence: float) -> float:
    """The highest level that is tried: what it says is sure whatever was picked."""
    return 1 - (1 - confidence) * CLOSER ** (LEVELS - 1)


def _drawn(times: Sequence[Times], correlation: Floats | None, rng: np.random.Generator) -> Floats:
    """Seconds of all candidates together: the model's errors correlated, the noise of each run its own."""
    count = len(times)
    shared = np.array([each.shared for each in times])
    roots, vectors = np.linalg.eigh(np.ones((count, count)) if correlation is None else correlation)
    error = rng.standard_normal((DRAWS, count)) @ (vectors * np.sqrt(np.maximum(roots, 0.0))).T
    scores = np.sqrt(shared) * error + np.sqrt(1 - shared) * rng.standard_normal((DRAWS, count))
    return draw(np.array([each.values for each in times]), scores.T).T
