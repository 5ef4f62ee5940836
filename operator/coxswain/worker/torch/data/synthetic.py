"""Made-up images of any size: every class has a pattern of its own, and an image is its class's pattern under noise."""

import numpy as np

from coxswain.worker.torch.data.labelled import DataError, Labelled

_SEED = 20
_NOISE = 64.0


def synthetic(count: int, channels: int, side: int, classes: int) -> Labelled:
    """So many images, the same ones every time; classes take turns."""
    if count < classes:
        raise DataError(f"{count} samples are fewer than the {classes} classes; raise samples or lower classes.")
    random = np.random.default_rng(_SEED)
    patterns = random.uniform(64, 192, (classes, channels, side, side)).astype(np.float32)
    labels = np.arange(count, dtype=np.int64) % classes
    images = np.empty((count, channels, side, side), np.uint8)
    for index, label in enumerate(labels):  # one by one: the noise of all at once would need four times the memory
        noise = random.standard_normal(patterns.shape[1:], dtype=np.float32) * _NOISE
        images[index] = np.clip(patterns[label] + noise, 0, 255)
    return Labelled(images, labels)
