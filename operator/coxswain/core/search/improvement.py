"""What a model of the trials so far expects of settings that were not tried.

A Gaussian process over coded settings, with noise as large as replicates and neighbours show, is fitted to the
response and to that of the limit; both on the logarithm where all values are above 0. The expected improvement at a
setting is the mean of how far it may fall below the best, chance and all; times the chance that it keeps the limit and
does not fail, it is what trying it is worth (CherryPick, Alipourfard and others 2017, who also model the logarithm).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from coxswain.core.api.design import Search
from coxswain.core.designs.base import Settings
from coxswain.core.factors import Factor
from coxswain.core.models.encoding import Encoding
from coxswain.core.models.observations import settings_array
from coxswain.core.models.scales import Scale, usable_scales
from coxswain.core.models.types import Floats
from coxswain.core.search.process import Process, fit_process
from coxswain.core.search.trials import Trial

NEAR = 0.75
"""How far a failure is thought to reach, in coded units: some third of a factor's range."""
_DOUBT = 0.25
"""What speaks for a setting that nothing is known about, in trials."""
_LARGEST = 700.0
"""Beyond it the exponential of a number is infinite."""


@dataclass(frozen=True, eq=False)
class Response:
    """A model of one response."""

    scale: Scale
    process: Process

    def expected(self, places: Floats) -> Floats:
        """The response that is expected; on the logarithm its median."""
        return self.scale.inverse(self.process.average(places, lambda mean, *_: mean))

    def improvement(self, places: Floats, best: float) -> Floats:
        """By how much the expected response may lie below `best`, on average over what the model leaves open."""

        def below(mean: Floats, variance: Floats, _: Floats) -> Floats:
            spread = np.sqrt(variance)
            if self.scale is Scale.IDENTITY:
                z = (best - mean) / spread
                return np.asarray((best - mean) * stats.norm.cdf(z) + spread * stats.norm.pdf(z), dtype=float)
            z = (np.log(best) - mean) / spread
            above = np.exp(np.minimum(mean + variance / 2, _LARGEST)) * stats.norm.cdf(z - spread)
            return np.asarray(np.maximum(best * stats.norm.cdf(z) - above, 0.0), dtype=float)

        return self.process.average(places, below)

    def chance_below(self, places: Floats, bound: float, replications: int) -> Floats:
        """The chance that the mean of so many runs is at most the bound."""
        if self.scale is Scale.LOG and bound <= 0:
            return np.zeros(len(places))
        limit = float(self.scale.forward(np.array([bound]))[0])

        def chance(mean: Floats, variance: Floats, noise: Floats) -> Floats:
            return np.asarray(stats.norm.cdf((limit - mean) / np.sqrt(variance + noise / replications)), dtype=float)

        return self.process.average(places, chance)


def fit_response(factors: tuple[Factor, ...], trials: Sequence[Trial], values: Sequence[Sequence[float]]) -> Response:
    """Learn a response from the values of each trial's runs."""
    scale = usable_scales(np.array([value for row in values for value in row]))[0]
    scaled = [scale.forward(np.array(row)).tolist() for row in values]
    return Response(scale, fit_process(factors, places_of(factors, [trial.settings for trial in trials]), scaled))


@dataclass(frozen=True, eq=False)
class Worth:
    """What settings are worth trying: expected response, improvement, and the chance that they may be chosen."""

    expected: Floats
    improvement: Floats
    chance: Floats


@dataclass(frozen=True, eq=False)
class Model:
    """What the trials say about all settings."""

    factors: tuple[Factor, ...]
    search: Search
    replications: int
    trials: tuple[Trial, ...]
    minimized: Response
    bounded: Response | None

    def worth(self, settings: Sequence[Settings], best: float | None) -> Worth:
        """What settings are worth; without a best one there is nothing to improve upon yet."""
        places = places_of(self.factors, settings)
        chance = self._works(places)
        if self.bounded is not None and self.search.limit is not None:
            chance = chance * self.bounded.chance_below(places, self.search.limit.at_most, self.replications)
        improvement = np.zeros(len(settings)) if best is None else self.minimized.improvement(places, best)
        return Worth(self.minimized.expected(places), improvement, chance)

    def _works(self, places: Floats) -> Floats:
        """The chance that no run fails: certain where none did, less the more of those nearby have."""
        encoding = Encoding(self.factors, log=True)
        tried = encoding.columns(places_of(self.factors, [trial.settings for trial in self.trials]))
        failed = np.array([not trial.has_values for trial in self.trials], dtype=float)
        apart = np.sum((encoding.columns(places)[:, None, :] - tried[None, :, :]) ** 2, axis=2)
        weight = np.exp(-apart / (2 * NEAR**2))
        return np.asarray(1 - weight @ failed / (_DOUBT + weight.sum(axis=1)), dtype=float)


def fit_model(factors: tuple[Factor, ...], search: Search, replications: int, trials: Sequence[Trial]) -> Model | None:
    """The model of these trials; None where fewer than two have a response."""
    known = [trial for trial in trials if trial.has_values]
    if len(known) < 2:
        return None
    minimized = fit_response(factors, known, [trial.values for trial in known])
    bounded = fit_response(factors, known, [trial.bounded for trial in known]) if search.limit else None
    return Model(factors, search, replications, tuple(trials), minimized, bounded)


def places_of(factors: Sequence[Factor], settings: Sequence[Settings]) -> Floats:
    """Settings as numbers, categories by their place."""
    names = [factor.name for factor in factors]
    return settings_array(factors, [dict(zip(names, row, strict=True)) for row in settings])
