"""A bound that still holds at the setting somebody picked because its bound looked best.

A model is wrong by a little everywhere, and picking the best of several settings picks the one where it was too
hopeful: bounds that hold 95 times in 100 one by one hold less often at the pick. The pick is therefore replayed: errors
of the model are drawn for all candidates together, as correlated as the model makes them; each time the pick is made
as it would be; and bounds are raised until the one at the pick holds as often as asked. Only the model's error is
subject to the pick. The noise of the run itself is still to come and nobody can pick it.

Candidates that lie far apart are told apart rightly and cost nothing; candidates that are alike cost the most. Where
predictions are averages over what few rows leave plausible, this is needed only as far as it is plausible that nothing
matters (`families/averaged.py`).
"""

from enum import StrEnum

import numpy as np
from scipy import optimize, stats

from coxswain.core.models.types import Floats

DRAWS = 2000
# No pick shifts an error by more than this many standard deviations.
MOST = 10.0


class Pick(StrEnum):
    """How one of several candidates is picked."""

    SMALLEST = "smallest"
    """The one with the smallest bound."""
    ANY = "any"
    """In any way at all: the bound has to hold wherever the model is most wrong."""


def raise_for_pick(
    level: float,
    *,
    location: Floats,
    spread: Floats,
    model_share: Floats,
    correlation: Floats,
    pick: Pick,
    rng: np.random.Generator,
) -> float:
    """By how many spreads bounds at a level must be raised to hold with that probability at the pick.

    `location` and `spread` are on the model's scale, `correlation` is that of the model's errors.
    """
    if len(location) < 2:
        return 0.0
    errors = rng.standard_normal((DRAWS, len(location))) @ _root(correlation).T * np.sqrt(model_share)
    if pick is Pick.SMALLEST:
        bounds = location + spread * (stats.norm.ppf(level) - errors)
        picked = np.argmin(bounds, axis=1)
    else:
        picked = np.argmax(errors, axis=1)
    error = errors[np.arange(DRAWS), picked]
    noise = np.sqrt(1 - model_share[picked])

    def too_often(raised: float) -> float:
        return float(np.mean(stats.norm.cdf((stats.norm.ppf(level) + raised - error) / noise))) - level

    return 0.0 if too_often(0.0) >= 0 else float(optimize.brentq(too_often, 0.0, MOST))


def _root(correlation: Floats) -> Floats:
    """A square root of a correlation matrix, which may be singular."""
    values, vectors = np.linalg.eigh(correlation)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), dtype=float)
