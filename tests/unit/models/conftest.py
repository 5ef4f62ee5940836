"""Synthetic training jobs whose truth is known, for tests of models."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from coxswain.core.factors import Factor
from coxswain.core.models.observations import Observations
from coxswain.core.models.types import Floats

LEVELS = {
    "workers": (1.0, 2.0, 4.0, 8.0),
    "cores": (0.5, 1.0, 2.0),
    "batch_size": (32.0, 64.0, 128.0, 256.0),
    "epochs": (1.0, 3.0, 10.0, 30.0),
}
FACTORS = tuple(Factor(name, levels=levels) for name, levels in LEVELS.items())
GRID = np.stack(np.meshgrid(*LEVELS.values(), indexing="ij"), axis=-1).reshape(-1, len(LEVELS))


def seconds(settings: Floats) -> Floats:
    """The expected duration: work shared by the workers, with a cost of talking to each other."""
    workers, cores, batch, epochs = settings.T
    return np.asarray(20 * epochs * (0.2 + 1 / workers) * cores**-0.7 * (1 + 8 / batch), dtype=float)


@dataclass(frozen=True)
class Jobs:
    """Observations and the settings that were not run."""

    observations: Observations
    unseen: Floats
    noise: float

    def run(self, settings: Floats, rng: np.random.Generator) -> Floats:
        """New runs at settings."""
        return seconds(settings) * np.exp(rng.normal(0, self.noise, len(settings)))


@pytest.fixture
def jobs() -> Callable[..., Jobs]:
    """Make jobs of random rows of the grid: `jobs(rows, replicates=1, noise=0.05, seed=0)`."""

    def make(rows: int, replicates: int = 1, noise: float = 0.05, seed: int = 0) -> Jobs:
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(GRID))
        units = np.repeat(np.arange(rows), replicates)
        settings = GRID[order[:rows]][units]
        made = Jobs(
            Observations(FACTORS, "t", settings, np.ones(len(units)), units, units < 0), GRID[order[rows:]], noise
        )
        y = made.run(settings, rng)
        observations = Observations(FACTORS, "t", settings, y, units, np.zeros(len(units), dtype=bool))
        return Jobs(observations, made.unseen, noise)

    return make
