"""How learning rate and batch size go from epoch to epoch.

Growing the batch while the rate stays reduces the noise of the gradient just as decaying the rate does, with fewer
steps (Smith et al., "Don't decay the learning rate, increase the batch size"), up to about a tenth of the data; beyond
that this schedule decays the rate instead.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from coxswain.worker.torch import options


class Kind(StrEnum):
    """The schedules a job may choose from."""

    CONSTANT = "Constant"
    STEP = "Step"
    COSINE = "Cosine"
    GROWING_BATCH = "GrowingBatch"

    @property
    def depends_on_horizon(self) -> bool:
        """Whether an epoch's pace depends on how many there will be: then ten epochs tell nothing of a run of five."""
        return self is Kind.COSINE


@dataclass(frozen=True)
class Options:
    """What a job may set."""

    decay_every: int = options.whole(10)
    decay_factor: float = options.real(0.1, 0.001, 0.999)
    max_batch_share: float = options.real(0.1, 0, 1)


@dataclass(frozen=True)
class Pace:
    """What an epoch is trained with."""

    learning_rate: float
    batch_size: int


@dataclass(frozen=True)
class Schedule:
    """The pace of every epoch of a job."""

    kind: Kind
    learning_rate: float
    batch_size: int
    epochs: int
    samples: int
    chosen: Options

    def pace(self, epoch: int) -> Pace:
        """The pace of an epoch, counted from 1."""
        decays = (epoch - 1) // self.chosen.decay_every
        if self.kind is Kind.STEP:
            return Pace(self.learning_rate * self.chosen.decay_factor**decays, self.batch_size)
        if self.kind is Kind.COSINE:
            wave = (1 + math.cos(math.pi * (epoch - 1) / self.epochs)) / 2
            return Pace(self.learning_rate * wave, self.batch_size)
        if self.kind is Kind.GROWING_BATCH:
            return self._grown(decays)
        return Pace(self.learning_rate, self.batch_size)

    def _grown(self, decays: int) -> Pace:
        factor, most = 1 / self.chosen.decay_factor, self.chosen.max_batch_share * self.samples
        room = math.log(most / self.batch_size, factor) if most > self.batch_size else 0
        grown = min(decays, math.floor(room + 1e-9))
        rate = self.learning_rate * self.chosen.decay_factor ** (decays - grown)
        return Pace(rate, round(self.batch_size * factor**grown))
