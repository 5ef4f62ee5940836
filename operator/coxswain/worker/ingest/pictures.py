"""Images as files hold them, and as pixels."""

import io
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from coxswain.worker.report import Failure, Reason

Pixels = npt.NDArray[np.uint8]
"""Height, width, channels."""


class Encoding(StrEnum):
    """How an image is compressed."""

    JPEG = "jpeg"
    PNG = "png"
    """Without loss."""


@dataclass(frozen=True)
class Picture:
    """An encoded image and the name of its class."""

    content: bytes
    label: str


def encode(pixels: Pixels, encoding: Encoding) -> bytes:
    """An image as the content of a file."""
    grey = pixels.shape[2] == 1
    buffer = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if grey else pixels).save(buffer, encoding)
    return buffer.getvalue()


def decode(content: bytes, side: int, name: str) -> Pixels:
    """The pixels of an encoded image, as a square of this size unless it is 0; the name is for what is said of it."""
    try:
        with Image.open(io.BytesIO(content)) as image:
            if side and image.size != (side, side):
                # A JPEG decoder can halve the size while it decodes; that is most of the time for large photographs.
                image.draft("RGB", (side, side))
                return np.asarray(image.convert("RGB").resize((side, side)))
            pixels = np.asarray(image if image.mode in ("L", "RGB") else image.convert("RGB"))
    except (UnidentifiedImageError, OSError) as error:
        raise Failure(Reason.BAD_DATA, f"{name} cannot be read as an image ({error}); replace or remove it.") from error
    return pixels[:, :, None] if pixels.ndim == 2 else pixels
