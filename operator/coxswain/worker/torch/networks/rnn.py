"""A bidirectional recurrent network that reads an image row by row, as BigDL's bi-rnn example does with MNIST."""

from dataclasses import dataclass

import torch
from torch import nn

from coxswain.worker.torch import options
from coxswain.worker.torch.networks.images import Images


@dataclass(frozen=True)
class Options:
    """What a job may set."""

    hidden_size: int = options.whole(128)
    dropout: float = options.real(0.0, 0, 0.95)


class BidirectionalRnn(nn.Module):
    """An LSTM down the rows and one up; what both have seen at their ends tells the class."""

    def __init__(self, images: Images, chosen: Options) -> None:
        super().__init__()
        self.recurrent = nn.LSTM(
            images.channels * images.width, chosen.hidden_size, batch_first=True, bidirectional=True
        )
        self.dropout = nn.Dropout(chosen.dropout)
        self.classify = nn.Linear(2 * chosen.hidden_size, images.classes)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        rows = batch.permute(0, 2, 1, 3).flatten(2)
        _, (last, _) = self.recurrent(rows)
        scores: torch.Tensor = self.classify(self.dropout(torch.cat((last[0], last[1]), dim=1)))
        return scores
