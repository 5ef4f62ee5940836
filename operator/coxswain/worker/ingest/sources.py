"""Where the images of a speed test come from, before they are prepared in the form that is measured.

A source is small and travels to the tasks, which take their own images from it: a synthetic image is made and a
photograph is opened where it is written, never on the driver.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from coxswain.worker.ingest import pictures, places
from coxswain.worker.ingest.formats import SUFFIXES, Format
from coxswain.worker.ingest.pictures import Pixels
from coxswain.worker.report import Failure, Reason

_SEED = 20
_CLASSES = 10
_NOISE = 8


class Source(Protocol):
    """Images by number."""

    @property
    def available(self) -> int:
        """How many there are."""

    def image(self, number: int) -> tuple[Pixels, str]:
        """The pixels of one, and its class."""


@dataclass(frozen=True)
class Digits:
    """Scikit-learn's handwritten digits, which are small enough to travel whole."""

    pixels: npt.NDArray[np.uint8] = field(repr=False)
    labels: npt.NDArray[np.int64] = field(repr=False)

    @classmethod
    def load(cls) -> "Digits":
        """The digits, from scikit-learn."""
        from sklearn.datasets import load_digits  # noqa: PLC0415 - it takes seconds, and few jobs need it

        images, labels = load_digits().images, load_digits().target
        return cls((images * 255 // 16).astype(np.uint8)[:, :, :, None], labels)

    @property
    def available(self) -> int:
        """How many there are."""
        return len(self.labels)

    def image(self, number: int) -> tuple[Pixels, str]:
        """One of them."""
        return self.pixels[number], str(self.labels[number])


@dataclass(frozen=True)
class Synthetic:
    """Made-up images, smooth with a little noise, so that they compress about as well as photographs."""

    available: int
    side: int
    channels: int

    def image(self, number: int) -> tuple[Pixels, str]:
        """One of them, the same every time."""
        random = np.random.default_rng((_SEED, number))
        coarse = Image.fromarray(random.integers(0, 256, (4, 4, 3), np.uint8))
        smooth = np.asarray(coarse.resize((self.side, self.side), Image.Resampling.BICUBIC))[:, :, : self.channels]
        noise = random.integers(-_NOISE, _NOISE + 1, smooth.shape)
        return np.clip(smooth + noise, 0, 255).astype(np.uint8), str(number % _CLASSES)


@dataclass(frozen=True)
class Folder:
    """Photographs in one folder a class, wherever they are."""

    files: tuple[str, ...] = field(repr=False)
    side: int

    @classmethod
    def find(cls, place: str, side: int) -> "Folder":
        """The photographs below a place."""
        files = places.find(place, SUFFIXES[Format.IMAGES]) if place else []
        if not files:
            where = f"{place} has none" if place else "it is missing"
            raise Failure(
                Reason.BAD_DATA, f"dataset folder needs a data path with .jpg or .png files below it, but {where}."
            )
        return cls(tuple(files), side)

    @property
    def available(self) -> int:
        """How many there are."""
        return len(self.files)

    def image(self, number: int) -> tuple[Pixels, str]:
        """One of them, as a square in colour."""
        name = self.files[number]
        with places.opened(name) as file:
            content = file.read()
        return pictures.decode(content, self.side, name), name.split("/")[-2]
