"""A small network of MobileNet's inverted residual blocks, with dropout, for photographs such as the Flowers."""

from dataclasses import dataclass

import torch
from torch import nn

from coxswain.worker.torch import options
from coxswain.worker.torch.networks.images import Images

_EXPANSION = 4
_WIDTHS = (16, 24, 40, 64)


@dataclass(frozen=True)
class Options:
    """What a job may set."""

    dropout: float = options.real(0.2, 0, 0.95)


class _InvertedResidual(nn.Module):
    """Widen, filter each channel by itself, narrow again; the input is added where the shape allows."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        wide = before * _EXPANSION
        self.body = nn.Sequential(
            *_convolution(before, wide, 1),
            *_convolution(wide, wide, 3, stride, groups=wide),
            nn.Conv2d(wide, after, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        self.residual = stride == 1 and before == after

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        body: torch.Tensor = self.body(batch)
        return batch + body if self.residual else body


def mobilenet(images: Images, chosen: Options) -> nn.Module:
    """Blocks that halve the image until 4 pixels a side are left, then the mean over the image tells the class."""
    layers: list[nn.Module] = [*_convolution(images.channels, _WIDTHS[0], 3)]
    side, before = images.side, _WIDTHS[0]
    for width in _WIDTHS:
        stride = 2 if side >= 8 else 1
        layers += [_InvertedResidual(before, width, stride), _InvertedResidual(width, width, 1)]
        side, before = -(-side // stride), width
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(chosen.dropout), nn.Linear(before, images.classes)]
    return nn.Sequential(*layers, *head)


def _convolution(before: int, after: int, kernel: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(before, after, kernel, stride, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU6(inplace=True),
    ]
