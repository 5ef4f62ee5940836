"""The samples of an epoch in their order, and this process's part of every batch.

All processes that share their gradients draw the same order from (seed, epoch), cut it into the same global batches
and take their part of each. With federated averaging a worker draws the order of its own shard and takes its share of
the batch size, so that a step of all workers together has as many samples as ever.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from coxswain.worker.torch import sharding
from coxswain.worker.torch.augment import vary
from coxswain.worker.torch.data import Dataset
from coxswain.worker.torch.recipe import Recipe, Strategy
from coxswain.worker.torch.world import World

_FLOAT_BYTES, _MOST_BYTES = 4, 256 * 2**20
_SHARDS, _ORDER = range(2)  # what a random stream is for; the trainer's own is the next one


@dataclass(frozen=True)
class Batch:
    """This process's part of a global batch."""

    images: torch.Tensor
    labels: torch.Tensor
    count: int
    """How many of the samples count. A process for which none is left takes one that does not, to stay in step."""
    whole: int
    """The size of the global batch."""


class Feed:
    """Gives a process its batches."""

    def __init__(self, recipe: Recipe, dataset: Dataset, world: World) -> None:
        self._recipe, self._world = recipe, world
        self._training = dataset.training
        self._mean, self._deviation = dataset.scale
        self._federated = recipe.strategy is Strategy.FEDERATED_AVERAGING
        self._mine = self._shard()
        # Scaled once rather than at every step, where that takes little memory.
        images = self._training.images
        self._scaled = self.scaled(images) if images.numel() * _FLOAT_BYTES <= _MOST_BYTES else None

    def __len__(self) -> int:
        return len(self._mine)

    def batches(self, epoch: int, size: int) -> Iterator[Batch]:
        """The batches of an epoch."""
        order, world = self._order(epoch), self._world
        if self._federated:
            first, last = sharding.bounds(size, self._recipe.workers, world.place.worker)
            size = last - first
        for begin in range(0, len(order), size):
            whole = order[begin : begin + size]
            part = whole[slice(*sharding.bounds(len(whole), world.gradient_size, world.gradient_rank))]
            count = len(part)
            indices = part if count else whole[:1]
            images = self.scaled(self._training.images[indices]) if self._scaled is None else self._scaled[indices]
            if self._recipe.augments:
                images = vary(images)
            yield Batch(images, self._training.labels[indices], count, len(whole))

    def scaled(self, images: torch.Tensor) -> torch.Tensor:
        """Bytes as numbers around 0."""
        return (images - self._mean).div_(self._deviation)

    def _order(self, epoch: int) -> torch.Tensor:
        worker = self._world.place.worker if self._federated else 0
        generator = torch.Generator().manual_seed(mixed_seed(self._recipe.seed, _ORDER, epoch, worker))
        return self._mine[torch.randperm(len(self._mine), generator=generator)].to(self._world.device)

    def _shard(self) -> torch.Tensor:
        labels = self._training.labels
        if not self._federated:
            return torch.arange(len(labels))
        random = np.random.default_rng(mixed_seed(self._recipe.seed, _SHARDS))
        alpha = self._recipe.training.dirichlet_alpha
        parts = sharding.shards(labels.cpu().numpy(), self._recipe.workers, alpha, random)
        return torch.from_numpy(parts[self._world.place.worker])


def mixed_seed(*numbers: int) -> int:
    """One seed from several numbers, mixed so that neighbours share nothing."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
