"""What a network must know of its input and its output."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Images:
    """The shape of the images and the number of classes to tell apart."""

    channels: int
    height: int
    width: int
    classes: int

    @property
    def side(self) -> int:
        """The shorter side."""
        return min(self.height, self.width)
