"""Training images varied a little, so that a network sees them never twice the same."""

import torch
from torch.nn import functional

_SHIFT_SHARE = 8  # shift by at most an eighth of the side


def vary(batch: torch.Tensor) -> torch.Tensor:
    """Shift every image by its own few pixels; mirror half of those in colour, which are photographs, not letters."""
    count, channels, height, width = batch.shape
    if channels > 1:
        mirrored = torch.rand(count, device=batch.device) < 0.5
        batch = torch.where(mirrored[:, None, None, None], batch.flip(3), batch)
    reach = max(1, min(height, width) // _SHIFT_SHARE)
    padded = functional.pad(batch, (reach, reach, reach, reach))
    down, right = torch.randint(0, 2 * reach + 1, (2, count, 1), device=batch.device)
    rows = (torch.arange(height, device=batch.device) + down)[:, None, :, None]
    columns = (torch.arange(width, device=batch.device) + right)[:, None, None, :]
    images = torch.arange(count, device=batch.device)[:, None, None, None]
    every_channel = torch.arange(channels, device=batch.device)[None, :, None, None]
    return padded[images, every_channel, rows, columns]
