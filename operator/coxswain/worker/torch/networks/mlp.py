"""A multi-layer perceptron whose number of hidden layers is a parameter, and so a factor."""

from dataclasses import dataclass

from torch import nn

from coxswain.worker.torch import options
from coxswain.worker.torch.networks.images import Images


@dataclass(frozen=True)
class Options:
    """What a job may set."""

    hidden_layers: int = options.whole(2, 0)
    hidden_size: int = options.whole(128)
    dropout: float = options.real(0.0, 0, 0.95)


def mlp(images: Images, chosen: Options) -> nn.Module:
    """All pixels in, hidden layers of one width, classes out."""
    layers: list[nn.Module] = [nn.Flatten()]
    before = images.channels * images.height * images.width
    for _ in range(chosen.hidden_layers):
        layers += [nn.Linear(before, chosen.hidden_size), nn.ReLU(), nn.Dropout(chosen.dropout)]
        before = chosen.hidden_size
    return nn.Sequential(*layers, nn.Linear(before, images.classes))
