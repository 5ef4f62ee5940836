"""Images with their labels, and fair parts of them.

Pixels stay bytes: a quarter of the memory of floating-point numbers, and a batch is converted in microseconds. A part
takes from every class in proportion. Which images it takes depends on nothing but the labels, so that the same number
of samples means the same samples in every run; a job's seed changes the training, never the data.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coxswain.core.errors import InputError

Bytes = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]
_SEED = 20


class DataError(InputError):
    """The data are not there or not what they should be."""


@dataclass(frozen=True)
class Labelled:
    """Images as bytes (number, channels, height, width) and the class of each."""

    images: Bytes
    labels: Labels

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, chosen: npt.NDArray[np.int64]) -> "Labelled":
        """Those images only."""
        return Labelled(self.images[chosen], self.labels[chosen])

    def part(self, count: int) -> "Labelled":
        """So many images, stratified by class."""
        return self if count >= len(self) else self.take(stratified(self.labels, count))

    def split(self, share: float) -> tuple["Labelled", "Labelled"]:
        """A stratified part to keep apart, as the second of two, and the rest."""
        apart = stratified(self.labels, max(1, round(share * len(self))))
        rest = np.setdiff1d(np.arange(len(self)), apart)
        return self.take(rest), self.take(apart)


def stratified(labels: Labels, count: int) -> npt.NDArray[np.int64]:
    """Indices of so many labels, in ascending order, each class with its share (the largest remainders rounded up)."""
    random = np.random.default_rng(_SEED)
    classes, sizes = np.unique(labels, return_counts=True)
    exact = sizes * count / len(labels)
    quota = np.floor(exact).astype(int)
    largest = np.argsort(quota - exact, kind="stable")[: count - quota.sum()]
    quota[largest] += 1
    chosen = [
        random.permutation(np.flatnonzero(labels == label))[:size] for label, size in zip(classes, quota, strict=True)
    ]
    return np.sort(np.concatenate(chosen))
