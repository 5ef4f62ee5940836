"""Scikit-learn's handwritten digits: 1,797 images of 8 × 8 pixels, there wherever scikit-learn is."""

import gzip
import importlib.util
from pathlib import Path

import numpy as np

from coxswain.worker.torch.data.labelled import DataError, Labelled

_LEVELS = 16  # pixels are 0 to 16


def digits() -> Labelled:
    """The digits, read from scikit-learn's own file: importing scikit-learn for it would take seconds."""
    package = importlib.util.find_spec("sklearn")
    if package is None or not package.submodule_search_locations:
        raise DataError("dataset digits comes with scikit-learn, which is not installed here; choose another dataset.")
    path = Path(package.submodule_search_locations[0], "datasets/data/digits.csv.gz")
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.int64)
    pixels = (table[:, :-1] * 255 // _LEVELS).astype(np.uint8)
    return Labelled(pixels.reshape(-1, 1, 8, 8), table[:, -1])
