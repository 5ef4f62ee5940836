"""What is counted for many batches at a time is what counting each of them gives."""

import math

import pytest
import torch
from torch.nn import functional

from coxswain.worker.torch import tally


@pytest.mark.parametrize("held", [0, 100, 2**18])
def test_sums_are_those_of_all_samples_however_batches_are_grouped(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "_MOST_HELD", held)
    generator = torch.Generator().manual_seed(0)
    scores, labels = torch.randn(205, 10, generator=generator), torch.randint(10, (205,), generator=generator)
    counted = tally.Tally(torch.device("cpu"))
    for begin in range(0, 205, 20):
        part = slice(begin, begin + 20)
        counted.add(functional.cross_entropy(scores[part], labels[part]), scores[part], labels[part])
    assert counted.samples == 205
    assert counted.correct() == int((scores.argmax(1) == labels).sum())
    assert counted.loss() == pytest.approx(float(functional.cross_entropy(scores, labels, reduction="sum")), rel=1e-6)


def test_a_loss_that_is_no_number_is_noticed() -> None:
    counted = tally.Tally(torch.device("cpu"))
    counted.add(torch.tensor(float("nan")), torch.zeros(2, 3), torch.zeros(2, dtype=torch.int64))
    assert math.isnan(counted.loss())
