"""What every kind of model has in common.

A `Family` is a kind of model with the hyperparameters that may be tried; `fit` turns rows and one choice of them into a
`Regressor`. A regressor predicts on the scale of its rows and tells two variances apart: that of its own error, which
jobs predicted by the same model share, and that of the noise, which each run has for itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from coxswain.core.models.observations import Rows
from coxswain.core.models.types import Floats

Value = float | int | str
Setting = Mapping[str, Value]
"""One choice of hyperparameters. `scale` is always among them."""


@dataclass(frozen=True)
class Variances:
    """Of the model's error and of the noise of a single run, at each of some settings."""

    model: Floats
    noise: Floats

    @property
    def total(self) -> Floats:
        """Variance of a single run around its prediction."""
        return self.model + self.noise


@dataclass(frozen=True)
class Spread:
    """The same two variances, measured on rows left out, for models that cannot tell them by themselves."""

    model: float
    noise: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured:
    """The part of a regressor that knows no more of its errors than what was measured on rows left out.

    They are the same everywhere, and independent between settings: for choosing among settings that is the careful
    thing to assume.
    """

    spread: Spread
    dof: float

    def variances(self, settings: Floats) -> Variances:
        """As measured."""
        return Variances(np.full(len(settings), self.spread.model), np.full(len(settings), self.spread.noise))

    def covariance(self, settings: Floats) -> Floats:
        """The same error at the same setting, independent errors elsewhere."""
        same = np.all(settings[:, None, :] == settings[None, :, :], axis=2)
        return np.where(same, self.spread.model, 0.0)


class Regressor(Protocol):
    """A fitted model on the scale of its rows."""

    def mean(self, settings: Floats) -> Floats:
        """The predictions."""

    def variances(self, settings: Floats) -> Variances:
        """How uncertain they are."""

    def covariance(self, settings: Floats) -> Floats:
        """Covariance of the model's error between settings."""

    @property
    def dof(self) -> float:
        """Degrees of freedom behind the variances."""


class Family(Protocol):
    """A kind of model."""

    @property
    def name(self) -> str:
        """What it is called, everywhere and for good."""

    def axes(self, rows: Rows) -> Mapping[str, Sequence[Value]]:
        """Hyperparameters to try on such rows, each axis with its default first; empty if the model does not apply."""

    def fit(self, rows: Rows, setting: Setting, spread: Spread | None = None) -> Regressor:
        """Fit the rows; `spread` is what was measured on rows left out, if it was."""
