"""The data sets by name, each wholly in memory as tensors, so that no step ever waits for data.

MNIST and Fashion-MNIST bring a test part, which is what validation uses; of the others a fifth of every class is kept
apart. `samples` is the number of training images; validation shrinks in the same proportion.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch

from coxswain.core.errors import InputError
from coxswain.worker.torch import options
from coxswain.worker.torch.data.digits import digits
from coxswain.worker.torch.data.folder import folder
from coxswain.worker.torch.data.idx import idx
from coxswain.worker.torch.data.labelled import DataError, Labelled
from coxswain.worker.torch.data.synthetic import synthetic
from coxswain.worker.torch.networks.images import Images

NAMES = ("digits", "fashion-mnist", "mnist", "folder", "synthetic")
_VALIDATION_SHARE = 0.2
_SYNTHETIC_SAMPLES = 1000
_SCALE_IMAGES = 4096


@dataclass(frozen=True)
class Options:
    """What a job may set for the data sets that have no size of their own (folder, synthetic)."""

    image_size: int = options.whole(64)
    channels: int = options.whole(3)
    classes: int = options.whole(10, 2)


@dataclass(frozen=True)
class Part:
    """Images as bytes and labels as indices, both tensors."""

    images: torch.Tensor = field(repr=False)
    labels: torch.Tensor = field(repr=False)

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> "Part":
        """The same where the training happens."""
        return Part(self.images.to(device), self.labels.to(device))


@dataclass(frozen=True)
class Dataset:
    """What to train on and what to validate with."""

    training: Part
    validation: Part
    classes: int

    @property
    def images(self) -> Images:
        """The shape of an image and the number of classes."""
        _, channels, height, width = self.training.images.shape
        return Images(channels, height, width, self.classes)

    @cached_property
    def scale(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and standard deviation of each channel of the training images, shaped to be applied to a batch."""
        # A few thousand images say as much, and converting all at once would need four times their memory.
        pixels = self.training.images[:: len(self.training) // _SCALE_IMAGES + 1].float()
        mean, deviation = pixels.mean((0, 2, 3), keepdim=True), pixels.std((0, 2, 3), keepdim=True)
        return mean, deviation.clamp(min=1.0)

    def to(self, device: torch.device) -> "Dataset":
        """The same where the training happens."""
        return Dataset(self.training.to(device), self.validation.to(device), self.classes)


def check(name: str) -> None:
    """Refuse a name that no data set has."""
    if name not in NAMES:
        raise InputError(f"dataset {name} is not known; use one of {', '.join(NAMES)}.")


def load(name: str, samples: int | None, data_path: Path | None, chosen: Options) -> Dataset:
    """The data set of this name, or a stratified part of it."""
    check(name)
    if data_path is not None and not data_path.exists():
        raise DataError(f"data path {data_path} is not there; correct it or leave it out.")
    if name == "synthetic":
        samples = samples or _SYNTHETIC_SAMPLES
    training, validation = _parts(name, samples or 0, data_path, chosen)
    if samples is not None:
        if samples > len(training):
            raise DataError(f"samples is {samples}, but dataset {name} has only {len(training)} training images.")
        validation = validation.part(max(1, round(len(validation) * samples / len(training))))
        training = training.part(samples)
    classes = int(max(training.labels.max(), validation.labels.max())) + 1
    return Dataset(_tensors(training), _tensors(validation), classes)


def _parts(name: str, samples: int, data_path: Path | None, chosen: Options) -> tuple[Labelled, Labelled]:
    if name in ("fashion-mnist", "mnist"):
        return idx(name, data_path)
    if name == "folder":
        whole = folder(data_path, chosen.image_size)
    elif name == "synthetic":
        # Enough that what is left after the split is what was asked for.
        count = round(samples / (1 - _VALIDATION_SHARE)) + 1
        whole = synthetic(count, chosen.channels, chosen.image_size, chosen.classes)
    else:
        whole = digits()
    return whole.split(_VALIDATION_SHARE)


def _tensors(part: Labelled) -> Part:
    # idx files are read without a copy and so without the right to write, which torch warns about; copy those once.
    images = part.images if part.images.flags.writeable else part.images.copy()
    return Part(torch.from_numpy(images), torch.from_numpy(part.labels))
