"""MNIST and its successors from their idx files, compressed or not: four files, two to train and two to test."""

import gzip
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

from coxswain.worker.torch.data.labelled import DataError, Labelled

DEBIAN = {"fashion-mnist": Path("/usr/share/datasets/fashion-mnist")}
"""Where Debian's packages put a data set; elsewhere a job must say where it is."""

_UNSIGNED_BYTES = 0x08


def idx(name: str, data_path: Path | None) -> tuple[Labelled, Labelled]:
    """The training and the test part, from the job's data path or where Debian keeps them."""
    folder = data_path or DEBIAN.get(name)
    if folder is None:
        raise DataError(f"dataset {name} needs a data path with its four idx files.")
    return _part(folder, "train"), _part(folder, "t10k")


def _part(folder: Path, part: str) -> Labelled:
    images = _read(folder, f"{part}-images-idx3-ubyte", 3)
    labels = _read(folder, f"{part}-labels-idx1-ubyte", 1)
    if len(images) != len(labels):
        raise DataError(f"{folder} has {len(images)} {part} images but {len(labels)} labels; it must have as many.")
    return Labelled(images[:, None], labels.astype(np.int64))


def _read(folder: Path, name: str, dimensions: int) -> npt.NDArray[np.uint8]:
    for path, opened in ((folder / f"{name}.gz", gzip.open), (folder / name, open)):
        if path.exists():
            with opened(path, "rb") as file:
                content = bytes(file.read())
            break
    else:
        raise DataError(f"there is no {name} or {name}.gz in {folder}; correct the data path or its content.")
    header = 4 + 4 * dimensions
    if len(content) < header or content[:4] != bytes((0, 0, _UNSIGNED_BYTES, dimensions)):
        raise DataError(f"{path} is not an idx file of {dimensions} dimensions of bytes; replace it.")
    shape = struct.unpack(f">{dimensions}I", content[4:header])
    values = np.frombuffer(content, dtype=np.uint8, offset=header)
    if values.size != np.prod(shape):
        raise DataError(f"{path} is cut short: it holds {values.size} of {np.prod(shape)} bytes; replace it.")
    return values.reshape(shape)
