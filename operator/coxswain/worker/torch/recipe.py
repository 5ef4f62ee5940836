"""What to train and how, checked as far as it can be without the data."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from coxswain.core.errors import InputError
from coxswain.worker.report import Settings
from coxswain.worker.torch import data, networks, options, schedules

Name = TypeVar("Name", bound=StrEnum)

DEFAULT_NETWORK = "fashion-cnn"
DEFAULT_DATASET = "digits"


class Strategy(StrEnum):
    """How several workers train one network."""

    DATA_PARALLEL = "DataParallel"
    """Together on every batch: gradients are averaged at every step."""
    FEDERATED_AVERAGING = "FederatedAveraging"
    """Each on its own shard of the data: weights are averaged every so many epochs."""


class Optimizer(StrEnum):
    """How gradients become steps."""

    SGD = "SGD"
    ADAM = "Adam"


@dataclass(frozen=True)
class TrainingOptions:
    """What a job may set of the training itself."""

    momentum: float = options.real(0.9, 0, 0.999)
    weight_decay: float = options.real(0.0)
    patience: int = options.whole(0, 0)
    """Early stopping: so many epochs without a lower validation loss are enough; 0 never stops early."""
    augment: str = options.choice("auto", "on", "off")
    local_epochs: int = options.whole(1)
    dirichlet_alpha: float = options.real(0.0)


@dataclass(frozen=True)
class Recipe:
    """A training as its settings describe it."""

    network: str
    dataset: str
    samples: int | None
    data_path: Path | None
    strategy: Strategy
    epochs: int
    batch_size: int
    learning_rate: float
    optimizer: Optimizer
    seed: int
    workers: int
    replicas: int
    training: TrainingOptions
    schedule: schedules.Kind
    schedule_options: schedules.Options
    data_options: data.Options
    network_options: Any

    @classmethod
    def from_settings(cls, settings: Settings) -> "Recipe":
        """Check the settings and fill in what they leave open."""
        network, dataset = settings.network or DEFAULT_NETWORK, settings.dataset or DEFAULT_DATASET
        declared = [TrainingOptions, schedules.Options, data.Options, networks.find(network).options]
        training, schedule_options, data_options, network_options = options.read(declared, settings.extra)
        data.check(dataset)
        recipe = cls(
            network=network,
            dataset=dataset,
            samples=settings.samples,
            data_path=settings.data_path,
            strategy=_named(Strategy, "strategy", settings.strategy),
            epochs=settings.epochs,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            optimizer=_named(Optimizer, "optimizer", settings.optimizer),
            seed=settings.seed,
            workers=settings.workers,
            replicas=settings.workers * settings.processes_per_worker,
            training=training,
            schedule=_named(schedules.Kind, "schedule", settings.schedule),
            schedule_options=schedule_options,
            data_options=data_options,
            network_options=network_options,
        )
        if recipe.batch_size < recipe.replicas:
            raise InputError(
                f"batchSize {recipe.batch_size} is smaller than the {recipe.replicas} processes that share it; "
                f"use at least {recipe.replicas}."
            )
        return recipe

    def check_data(self, samples: int) -> None:
        """Refuse a batch that is larger than the data."""
        if self.batch_size > samples:
            raise InputError(
                f"batchSize {self.batch_size} is larger than the {samples} training samples; use at most {samples}."
            )

    @property
    def augments(self) -> bool:
        """Whether training images are varied."""
        wish = self.training.augment
        return networks.find(self.network).augment if wish == "auto" else wish == "on"

    def fingerprint(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be of use; the number of epochs only where each depends on it."""
        facts = {
            "network": self.network,
            "dataset": self.dataset,
            "samples": self.samples,
            "strategy": str(self.strategy),
            "batchSize": self.batch_size,
            "learningRate": self.learning_rate,
            "optimizer": str(self.optimizer),
            "schedule": str(self.schedule),
            "seed": self.seed,
            "workers": self.workers,
            "replicas": self.replicas,
            "options": repr((self.training, self.schedule_options, self.data_options, self.network_options)),
        }
        return {**facts, "epochs": self.epochs} if self.schedule.depends_on_horizon else facts


def _named(names: type[Name], field: str, text: str) -> Name:
    try:
        return names(text)
    except ValueError:
        raise InputError(f"{field} {text} is not known; use one of {', '.join(names)}.") from None
