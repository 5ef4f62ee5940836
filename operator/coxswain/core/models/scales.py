"""The scale a response is modelled on: as it is, its logarithm, or its log-odds.

A duration is a product of many things and is always above 0: its logarithm adds up and cannot turn negative. An
accuracy lies between 0 and 1: so do the predictions that come back from its log-odds. Which scale serves best is for
the data to decide; the models are compared on it like on any other hyperparameter.
"""

from enum import StrEnum

import numpy as np
from scipy.special import expit, logit

from coxswain.core.models.types import Floats

# Accuracies of exactly 0 or 1 have no log-odds; they are taken as this close to it.
EDGE = 1e-4


class Scale(StrEnum):
    """What a response is turned into before a model sees it."""

    IDENTITY = "identity"
    LOG = "log"
    LOGIT = "logit"

    def forward(self, response: Floats) -> Floats:
        """From the response to the scale of the model."""
        match self:
            case Scale.LOG:
                return np.log(response)
            case Scale.LOGIT:
                return np.asarray(logit(np.clip(response, EDGE, 1 - EDGE)), dtype=float)
            case _:
                return response

    def inverse(self, value: Floats) -> Floats:
        """From the scale of the model back to the response."""
        match self:
            case Scale.LOG:
                return np.exp(np.minimum(value, 700.0))  # beyond it a float is infinite
            case Scale.LOGIT:
                return np.asarray(expit(value), dtype=float)
            case _:
                return value

    def slope(self, response: Floats) -> Floats:
        """By how much a value on this scale changes with the response."""
        match self:
            case Scale.LOG:
                return 1 / response
            case Scale.LOGIT:
                inside = np.clip(response, EDGE, 1 - EDGE)
                return 1 / (inside * (1 - inside))
            case _:
                return np.ones(len(response))


def usable_scales(response: Floats) -> tuple[Scale, ...]:
    """The scales on which a response may be modelled: its logarithm only if every value is above 0."""
    return (Scale.LOG, Scale.IDENTITY) if bool(np.all(response > 0)) else (Scale.IDENTITY,)
