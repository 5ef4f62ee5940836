"""The built-in networks by name. Each adapts to the size and channels of its images and the number of classes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from coxswain.core.errors import InputError
from coxswain.worker.torch.networks import cnn, mlp, mobilenet, rnn, vit
from coxswain.worker.torch.networks.images import Images


@dataclass(frozen=True)
class Network:
    """How a network is made, the options a job may set for it, and what it needs."""

    make: Callable[[Images, Any], nn.Module]
    options: type
    smallest_side: int = 1
    augment: bool = False
    """Whether its training images are varied unless the job says otherwise."""


NETWORKS = {
    "fashion-cnn": Network(cnn.fashion_cnn, cnn.Options, smallest_side=4),
    "shallow-cnn": Network(cnn.shallow_cnn, cnn.Options, smallest_side=2),
    "deep-cnn": Network(cnn.deep_cnn, cnn.Options, smallest_side=8),
    "bi-rnn": Network(rnn.BidirectionalRnn, rnn.Options),
    "mlp": Network(mlp.mlp, mlp.Options),
    "vit": Network(vit.VisionTransformer, vit.Options),
    "mobilenet": Network(mobilenet.mobilenet, mobilenet.Options, smallest_side=4, augment=True),
}


def find(name: str) -> Network:
    """The network of this name."""
    if name not in NETWORKS:
        raise InputError(f"network {name} is not known; use one of {', '.join(NETWORKS)}.")
    return NETWORKS[name]


def make(name: str, images: Images, options: Any) -> nn.Module:
    """A fresh network for such images; its weights come from torch's random state."""
    network = find(name)
    if images.side < network.smallest_side:
        raise InputError(
            f"network {name} needs images of at least {network.smallest_side} pixels a side, "
            f"but these have {images.height} × {images.width}."
        )
    return network.make(images, options)
