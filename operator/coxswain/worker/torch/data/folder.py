"""Photographs in one folder a class, as the Flowers come: the folder's name is the label."""

from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from coxswain.worker.torch.data.labelled import DataError, Labelled

_SUFFIXES = {".jpg", ".jpeg", ".png"}


def folder(data_path: Path | None, side: int) -> Labelled:
    """Every image below the data path as a square of so many pixels, in colour; classes in alphabetical order."""
    if data_path is None or not data_path.is_dir():
        raise DataError(f"dataset folder needs a data path with one folder a class, but {data_path} is none.")
    names = sorted(path.name for path in data_path.iterdir() if path.is_dir())
    files = [
        (path, label)
        for label, name in enumerate(names)
        for path in sorted((data_path / name).iterdir())
        if path.suffix.lower() in _SUFFIXES
    ]
    present = {label for _, label in files}
    empty = [name for label, name in enumerate(names) if label not in present]
    if len(names) < 2 or empty:
        missing = f"folder {empty[0]} has no image" if empty else f"{data_path} has fewer than two folders"
        raise DataError(f"dataset folder needs two folders or more with .jpg or .png files each, but {missing}.")
    images = np.empty((len(files), 3, side, side), np.uint8)
    for index, (path, _) in enumerate(files):
        images[index] = _read(path, side)
    return Labelled(images, np.array([label for _, label in files], np.int64))


def _read(path: Path, side: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    try:
        with Image.open(path) as image:
            # A JPEG decoder can halve the size while it decodes; that is most of the time for large photographs.
            image.draft("RGB", (side, side))
            pixels = np.asarray(image.convert("RGB").resize((side, side)))
    except (UnidentifiedImageError, OSError) as error:
        raise DataError(f"{path} cannot be read as an image ({error}); replace or remove it.") from error
    return pixels.transpose(2, 0, 1)
