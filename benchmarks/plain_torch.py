"""The loop a person writes in plain torch, to compare the worker with; also what torchrun starts for two processes.

It does what the worker does and no more: images are floating-point numbers beforehand, and loss and accuracy of the
epoch are counted as people do, batch by batch.

    python -m torch.distributed.run --nproc-per-node 2 -m benchmarks.plain_torch EPOCHS     # settings by environment
"""

import sys
import time

import torch
import torch.distributed as dist
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from coxswain.worker.report import Settings
from coxswain.worker.torch import data, networks
from coxswain.worker.torch.recipe import Recipe


class PlainLoop:
    """One network, Adam, shuffled batches; with a process group, this process's even share of each."""

    def __init__(self, recipe: Recipe, dataset: data.Dataset) -> None:
        mean, deviation = dataset.scale
        self.images, self.labels = (dataset.training.images.float() - mean) / deviation, dataset.training.labels
        torch.manual_seed(recipe.seed)
        self.network = networks.make(recipe.network, dataset.images, recipe.network_options)
        self.rank, self.size = 0, 1
        if dist.is_initialized():
            self.rank, self.size = dist.get_rank(), dist.get_world_size()
            self.network = DistributedDataParallel(self.network)
        self.optimizer = torch.optim.Adam(self.network.parameters(), recipe.learning_rate)
        self.batch_size = recipe.batch_size
        self.loss = self.accuracy = 0.0

    def epoch(self) -> float:
        """Train one epoch and return its seconds."""
        began = time.perf_counter()
        generator = torch.Generator().manual_seed(0)
        order = torch.randperm(len(self.labels), generator=generator)
        self.network.train()
        total, correct = 0.0, 0
        for begin in range(0, len(order), self.batch_size):
            batch = order[begin : begin + self.batch_size]
            mine = batch[self.rank :: self.size]
            labels = self.labels[mine]
            scores = self.network(self.images[mine])
            loss = functional.cross_entropy(scores, labels)
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call] # torch has not typed it
            self.optimizer.step()
            total += loss.item() * len(mine)
            correct += int((scores.argmax(1) == labels).sum())
        self.loss, self.accuracy = total / len(order), correct / len(order)
        return time.perf_counter() - began


def main() -> None:
    """Train in as many processes as torchrun started, and print the mean of the epochs after the first."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    recipe = Recipe.from_settings(Settings.from_environment())
    loop = PlainLoop(recipe, data.load(recipe.dataset, recipe.samples, None, recipe.data_options))
    seconds = [loop.epoch() for _ in range(int(sys.argv[1]))][1:]
    if dist.get_rank() == 0:
        print(sum(seconds) / len(seconds))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
