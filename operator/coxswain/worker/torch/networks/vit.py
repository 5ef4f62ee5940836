"""A small vision Transformer: the image cut into patches, which attend to each other."""

from dataclasses import dataclass

import torch
from torch import nn

from coxswain.worker.torch import options
from coxswain.worker.torch.networks.images import Images

_HEADS = 4
_TOKENS = 64  # more than this many patches would cost more attention than small images are worth


@dataclass(frozen=True)
class Options:
    """What a job may set."""

    depth: int = options.whole(4)
    hidden_size: int = options.whole(64, 8)
    dropout: float = options.real(0.0, 0, 0.95)


class VisionTransformer(nn.Module):
    """Patches become tokens with learned positions; the mean of what they have become tells the class."""

    def __init__(self, images: Images, chosen: Options) -> None:
        super().__init__()
        patch = _patch(images)
        size = chosen.hidden_size - chosen.hidden_size % _HEADS
        # Padding on the far sides completes the last patches.
        self.pad = nn.ZeroPad2d((0, -images.width % patch, 0, -images.height % patch))
        self.embed = nn.Conv2d(images.channels, size, patch, stride=patch)
        tokens = -(-images.height // patch) * -(-images.width // patch)
        self.positions = nn.Parameter(torch.randn(1, tokens, size) * 0.02)
        layer = nn.TransformerEncoderLayer(
            size, _HEADS, 2 * size, chosen.dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.encode = nn.TransformerEncoder(layer, chosen.depth, nn.LayerNorm(size), enable_nested_tensor=False)
        self.classify = nn.Linear(size, images.classes)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        tokens = self.embed(self.pad(batch)).flatten(2).transpose(1, 2)
        scores: torch.Tensor = self.classify(self.encode(tokens + self.positions).mean(dim=1))
        return scores


def _patch(images: Images) -> int:
    """The smallest patch, of 2 pixels at least, that leaves no more tokens than wanted."""
    patch = 2
    while -(-images.height // patch) * -(-images.width // patch) > _TOKENS:
        patch += 1
    return patch
