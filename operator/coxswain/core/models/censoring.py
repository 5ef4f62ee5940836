"""Killed runs: what they would have taken, given that they took longer than they were allowed.

A run that was killed tells that its response lies above a limit. Leaving it out makes a model too hopeful just where
jobs are slow. Its response is replaced by what is expected of it beyond the limit under log-log regression with
interactions, first as fitted to the runs that finished, then as fitted again with the values found, until they settle
(the iterated least squares of Schmee and Hahn, an expectation-maximisation for the mean).
"""

from dataclasses import replace

import numpy as np
from scipy import stats

from coxswain.core.models.families.gaussian import KernelFamily
from coxswain.core.models.observations import Observations, put_together
from coxswain.core.models.scales import usable_scales

ROUNDS = 6


def impute(observations: Observations) -> Observations:
    """The observations with the responses of killed runs replaced by their expectation beyond the limit."""
    killed = observations.censored
    if not killed.any():
        return observations
    scale = usable_scales(observations.y)[0]
    family = KernelFamily("reference", smooth=False, orders=(2,), scales=(scale,))
    limit = scale.forward(observations.y)[killed]
    settings = observations.settings[killed]
    filled = observations
    known = observations.take(~killed)
    order = min(2, max(1, len(observations.factors)))
    for _ in range(ROUNDS):
        regressor = family.fit(put_together(known, scale), {"order": order})
        mean, spread = regressor.mean(settings), np.sqrt(regressor.variances(settings).total)
        beyond = (limit - mean) / spread
        # Mean of a normal distribution beyond a limit; in logarithms, for limits far in the tail.
        hazard = np.exp(stats.norm.logpdf(beyond) - stats.norm.logsf(beyond))
        response = filled.y.copy()
        response[killed] = scale.inverse(np.maximum(mean + spread * hazard, limit))
        filled = known = replace(filled, y=response)
    return filled
