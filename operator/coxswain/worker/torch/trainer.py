"""The training itself: epochs over batches, validation after each, the same result from the same seed.

The loss is weighted so that the gradient averaged over processes is that of the whole batch, even where it does not
divide evenly: however many processes train, they compute what one would. With federated averaging each worker does so
by itself, and what is averaged at the end of a round of epochs are the weights; only then is there a common network,
to validate and to keep.
"""

import io
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch.nn import functional

from coxswain.worker.report import Epoch
from coxswain.worker.torch import networks, sharding
from coxswain.worker.torch.checkpoint import Checkpoints
from coxswain.worker.torch.data import Dataset
from coxswain.worker.torch.feed import Feed, mixed_seed
from coxswain.worker.torch.recipe import Optimizer, Recipe, Strategy
from coxswain.worker.torch.schedules import Pace, Schedule
from coxswain.worker.torch.stopping import Stopper, no_better
from coxswain.worker.torch.tally import Tally
from coxswain.worker.torch.world import World

_VALIDATION_BATCH = 1000
_CHANCE = 2  # the random stream of dropout and augmentation, after those of the feed


@dataclass(frozen=True)
class Sums:
    """What adds up over batches and processes."""

    loss: float
    correct: float
    samples: float

    def means(self) -> tuple[float, float]:
        """Loss and accuracy."""
        return self.loss / self.samples, self.correct / self.samples


class Trainer:
    """One process's part in a training."""

    def __init__(
        self,
        recipe: Recipe,
        dataset: Dataset,
        world: World,
        *,
        stop_wanted: Callable[[], bool],
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.recipe, self.world = recipe, world
        self.history: list[Epoch] = []
        self.stopped = False
        """Whether somebody ended the training before its time."""
        self.stopped_early = False
        """Whether it ended itself, because nothing got better."""
        self._stop_wanted, self._checkpoints = stop_wanted, checkpoints
        self.samples = len(dataset.training)
        recipe.check_data(self.samples)
        self._schedule = Schedule(
            recipe.schedule,
            recipe.learning_rate,
            recipe.batch_size,
            recipe.epochs,
            self.samples,
            recipe.schedule_options,
        )
        self._federated = recipe.strategy is Strategy.FEDERATED_AVERAGING
        dataset = dataset.to(world.device)
        self._images, self._validation = dataset.images, dataset.validation
        self._feed = Feed(recipe, dataset, world)
        torch.manual_seed(recipe.seed)
        self.network = networks.make(recipe.network, dataset.images, recipe.network_options)
        self._replica = world.replicate(self.network)
        self._optimizer = self._new_optimizer()

    def resume(self) -> None:
        """Go on from the first process's checkpoint, where there is one."""
        found = self._checkpoints.load() if self._checkpoints else None
        shared = self.world.share(_pack(found) if found else None)
        if shared:
            state, history = _unpack(shared)
            self.network.load_state_dict(state["network"])
            self._optimizer.load_state_dict(state["optimizer"])
            self.history = history

    def epochs(self) -> Iterator[Epoch]:
        """Train, and give every epoch as it is finished."""
        for epoch in range(len(self.history) + 1, self.recipe.epochs + 1):
            self.stopped_early = no_better(self.history, self.recipe.training.patience)
            finished = None if self.stopped_early else self._epoch(epoch)
            if finished is None:
                break
            self.history.append(finished)
            if self._checkpoints is not None and finished.loss is not None:
                weights = self.network.state_dict()
                state = {"network": weights, "optimizer": self._optimizer.state_dict()}
                self._checkpoints.save(state, self.history, weights)
            yield finished
            if self.stopped:
                break
        if self._checkpoints is not None and self.history:
            trained = None if self.stopped or self.stopped_early else self.network.state_dict()
            self._checkpoints.save_model({"network": self.recipe.network, "images": asdict(self._images)}, trained)

    def _epoch(self, epoch: int) -> Epoch | None:
        """One epoch and its validation, or None if it was left half-way."""
        began = time.perf_counter()
        mine, left = self._train(epoch, self._schedule.pace(epoch))
        loss, correct, samples, left_somewhere, stop_wanted = self.world.total(
            [mine.loss, mine.correct, mine.samples, float(left), float(self._stop_wanted())]
        )
        seconds = time.perf_counter() - began
        if left_somewhere and math.isfinite(loss):
            self.stopped = True
            return None
        self.stopped = stop_wanted > 0 and epoch < self.recipe.epochs
        training_loss, training_accuracy = Sums(loss, correct, samples).means()
        finished = Epoch(epoch, seconds, training_loss=training_loss, training_accuracy=training_accuracy)
        if not self._bring_together(epoch):
            return finished
        began = time.perf_counter()
        validation_loss, accuracy = self._validate().means()
        spent = time.perf_counter() - began
        return replace(finished, loss=validation_loss, accuracy=accuracy, validation_seconds=spent)

    def _train(self, epoch: int, pace: Pace) -> tuple[Sums, bool]:
        """All batches of an epoch; the second value says whether it was left before its end."""
        if self._federated and (epoch - 1) % self.recipe.training.local_epochs == 0:
            self._optimizer = self._new_optimizer()  # a round begins afresh: no worker's momentum survives the average
        for group in self._optimizer.param_groups:
            group["lr"] = pace.learning_rate
        world, stopper, left = self.world, Stopper(self.world, self._stop_wanted), False
        torch.manual_seed(mixed_seed(self.recipe.seed, _CHANCE, epoch, world.rank))
        self._replica.train()
        tally = Tally(world.device)
        for batch in self._feed.batches(epoch, pace.batch_size):
            scores = self._replica(batch.images)
            loss = functional.cross_entropy(scores, batch.labels)
            self._optimizer.zero_grad()
            weight = world.gradient_size * batch.count / batch.whole
            (loss if weight == 1 else loss * weight).backward()  # type: ignore[no-untyped-call] # torch has not typed it
            self._optimizer.step()
            if batch.count:
                tally.add(loss, scores, batch.labels)
            left = stopper.now(tally.loss)
            if left:
                break
        return Sums(tally.loss(), tally.correct(), tally.samples), left

    def _bring_together(self, epoch: int) -> bool:
        """Average what the steps have not, and say whether there is one common network now."""
        with torch.no_grad():
            if not self._federated:
                self.world.average(self.network.buffers())
                return True
            ends_round = epoch % self.recipe.training.local_epochs == 0 or epoch == self.recipe.epochs
            if ends_round or self.stopped:
                self.world.average(self.network.state_dict().values(), weight=len(self._feed))
                return True
        return False

    @torch.no_grad()
    def _validate(self) -> Sums:
        """Every process takes its part of the validation images."""
        self.network.eval()
        part, sums = self._validation, [0.0, 0.0, 0.0]
        first, last = sharding.bounds(len(part), self.world.place.size, self.world.rank)
        for begin in range(first, last, _VALIDATION_BATCH):
            end = min(begin + _VALIDATION_BATCH, last)
            scores, labels = self.network(self._feed.scaled(part.images[begin:end])), part.labels[begin:end]
            sums[0] += float(functional.cross_entropy(scores, labels, reduction="sum"))
            sums[1] += float((scores.argmax(1) == labels).sum())
            sums[2] += end - begin
        return Sums(*self.world.total(sums))

    def _new_optimizer(self) -> torch.optim.Optimizer:
        rate, chosen = self.recipe.learning_rate, self.recipe.training
        weights = self.network.parameters()
        if self.recipe.optimizer is Optimizer.SGD:
            return torch.optim.SGD(weights, rate, momentum=chosen.momentum, weight_decay=chosen.weight_decay)
        return torch.optim.Adam(weights, rate, weight_decay=chosen.weight_decay)

    @property
    def facts(self) -> dict[str, Any]:
        """What is worth knowing of the training beside its parameters."""
        return {
            "trainingSamples": self.samples,
            "validationSamples": len(self._validation),
            "weights": sum(weight.numel() for weight in self.network.parameters()),
            "horizonDependent": self.recipe.schedule.depends_on_horizon,
            "device": self.world.device.type,
        }


def _pack(found: tuple[dict[str, Any], list[Epoch]]) -> bytes:
    buffer = io.BytesIO()
    torch.save({"state": found[0], "history": [asdict(row) for row in found[1]]}, buffer)
    return buffer.getvalue()


def _unpack(content: bytes) -> tuple[dict[str, Any], list[Epoch]]:
    found = torch.load(io.BytesIO(content), weights_only=True)
    return found["state"], [Epoch(**row) for row in found["history"]]
