"""Plain convolutional networks: FLTK's for Fashion-MNIST, and a shallow and a deep one to compare as Courier does."""

from dataclasses import dataclass

from torch import nn

from coxswain.worker.torch import options
from coxswain.worker.torch.networks.images import Images


@dataclass(frozen=True)
class Options:
    """What a job may set."""

    dropout: float = options.real(0.0, 0, 0.95)


def fashion_cnn(images: Images, chosen: Options) -> nn.Module:
    """FLTK's network for Fashion-MNIST: two blocks of 5 × 5 convolutions with batch normalisation."""
    blocks = [*_block(images.channels, 16, kernel=5, normalise=True), *_block(16, 32, kernel=5, normalise=True)]
    return nn.Sequential(*blocks, *_classifier(32, 2, images, chosen))


def shallow_cnn(images: Images, chosen: Options) -> nn.Module:
    """One convolution. Without batch normalisation, so that replicas together compute what one would alone."""
    return nn.Sequential(*_block(images.channels, 16, kernel=3), *_classifier(16, 1, images, chosen))


def deep_cnn(images: Images, chosen: Options) -> nn.Module:
    """Six convolutions in three blocks."""
    layers: list[nn.Module] = []
    before = images.channels
    for width in (16, 32, 64):
        layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU(), *_block(width, width, kernel=3)]
        before = width
    return nn.Sequential(*layers, *_classifier(before, 3, images, chosen))


def _block(before: int, after: int, *, kernel: int, normalise: bool = False) -> list[nn.Module]:
    """A convolution that keeps the size, then pooling that halves it."""
    convolution = nn.Conv2d(before, after, kernel, padding=kernel // 2)
    return [convolution, *([nn.BatchNorm2d(after)] if normalise else []), nn.ReLU(), nn.MaxPool2d(2)]


def _classifier(width: int, halvings: int, images: Images, chosen: Options) -> list[nn.Module]:
    features = width * (images.height >> halvings) * (images.width >> halvings)
    return [nn.Flatten(), nn.Dropout(chosen.dropout), nn.Linear(features, images.classes)]
