"""Killed runs: what they would have taken, given that they took longer than they were allowed.

A run that was killed tells that its response lies above a limit. Leaving it out makes a model too hopeful just where
jobs are slow. Its response is replaced by one that it may have had beyond the limit under log-log regression with
interactions, first as fitted to the runs that finished, then as fitted again with the values found, until they settle
(the iterated least squares of Schmee and Hahn, with draws in place of means).

Of the noise beyond the limit each killed run is given another part, from the least to the most likely to be exceeded:
with its mean for all of them, slow runs would seem to vary less than fast ones, and bounds of fast ones be too wide.
"""

from dataclasses import replace

import numpy as np
from scipy import special

from coxswain.core.models.families.gaussian import KernelFamily
from coxswain.core.models.observations import Observations, put_together
from coxswain.core.models.scales import usable_scales
from coxswain.core.models.types import Floats

ROUNDS = 6


def impute(observations: Observations) -> Observations:
    """The observations with the responses of killed runs replaced by likely ones beyond the limit."""
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
    count = int(killed.sum())
    exceeded = np.random.default_rng(count).permutation((np.arange(count) + 0.5) / count)
    for _ in range(ROUNDS):
        regressor = family.fit(put_together(known, scale), {"order": order})
        # The noise alone: how wrong the mean is, the fits with the values found take in already.
        mean, spread = regressor.mean(settings), np.sqrt(regressor.variances(settings).noise)
        noise = _beyond((limit - mean) / spread, exceeded)
        response = filled.y.copy()
        response[killed] = scale.inverse(np.maximum(mean + spread * noise, limit))
        filled = known = replace(filled, y=response)
    return filled


def _beyond(limit: Floats, exceeded: Floats) -> Floats:
    """The value of a standard normal distribution beyond a limit that is exceeded there with a probability."""
    # In logarithms, for limits far in the tail.
    return np.asarray(-special.ndtri_exp(special.log_ndtr(-limit) + np.log(exceeded)), dtype=float)
