"""What the worker costs: epoch time under it divided by epoch time of the same loop in plain torch.

One process: many pairs of short epochs in one run, the order within a pair taking turns, so that whatever else the
machine does falls on both alike. What is told is the median of the pairs' ratios with its distribution-free 95 %
interval, of the wall-clock time and of the CPU time of the whole process, on which a busy machine has less influence.
While it is the worker's turn it serves its metrics, and somebody reads them as often as the operator does.

Two processes: whole runs under the worker and under torchrun in turns, the mean epochs of each compared.

    python -m benchmarks.worker_overhead
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import torch
from scipy import stats

from benchmarks.plain_torch import PlainLoop
from coxswain.worker.report import Job, Settings
from coxswain.worker.torch import data
from coxswain.worker.torch.recipe import Recipe
from coxswain.worker.torch.schedules import Pace
from coxswain.worker.torch.trainer import Sums, Trainer
from coxswain.worker.torch.world import Place, World

PAIRS = 400
READ_EVERY_SECONDS = 5.0
RUNS = 3
EPOCHS_A_RUN = 6
CASES = (("fashion-cnn", 1280, 28, 1), ("mobilenet", 256, 64, 3), ("shallow-cnn", 12800, 8, 1))


def run() -> None:
    """Print both comparisons; takes some half an hour."""
    torch.set_num_threads(1)
    print("\n### One process: an epoch under the worker ÷ the same in plain torch\n")
    print(f"(load of the machine before: {os.getloadavg()[0]:.1f})\n")
    print("| network | images | a step, ms | ratio of wall time (95 % interval) | of CPU time |\n|---|---|---|---|---|")
    for case in CASES:
        _one_process(_settings(*case))
    print("\n### Two processes: a mean epoch under the worker ÷ under torchrun\n")
    print("| network | worker, s | torchrun, s | ratio |\n|---|---|---|---|")
    _two_processes(_settings(*CASES[0]))


def _settings(network: str, samples: int, side: int, channels: int) -> Settings:
    extra = {"imageSize": str(side), "channels": str(channels), "augment": "off"}
    return Settings(
        network=network, dataset="synthetic", samples=samples, epochs=100000, extra=extra, cores_per_worker=1
    )


@dataclass(frozen=True)
class Turn:
    """What one epoch took."""

    wall: float
    cpu: float


class _Worker(Trainer):
    """The worker's own training, with an eye on its CPU time."""

    cpu = 0.0

    def _train(self, epoch: int, pace: Pace) -> tuple[Sums, bool]:
        began = time.process_time()
        trained = super()._train(epoch, pace)
        self.cpu = time.process_time() - began
        return trained


class _UnderTheWorker:
    """That training with its metrics, an epoch at a time."""

    def __init__(self, recipe: Recipe, dataset: data.Dataset) -> None:
        self.job = Job(Settings(metrics_host="127.0.0.1", metrics_port=0))
        self.trainer = _Worker(recipe, dataset, World(Place(0, 1, 0, 1)), stop_wanted=lambda: False)
        self._epochs, self._turn = self.trainer.epochs(), threading.Event()
        threading.Thread(target=self._scrape, daemon=True).start()

    def epoch(self) -> Turn:
        """Train one epoch and record it, in the sight of somebody who reads the metrics."""
        self._turn.set()
        epoch = next(self._epochs)
        self.job.record(epoch, self.trainer.samples)
        self._turn.clear()
        return Turn(epoch.seconds, self.trainer.cpu)

    def _scrape(self) -> None:
        while not self.job.stop.wait(READ_EVERY_SECONDS):
            self._turn.wait()
            urlopen(f"http://127.0.0.1:{self.job.metrics_port}/metrics").read()


def _plain(loop: PlainLoop) -> Turn:
    began = time.process_time()
    return Turn(loop.epoch(), time.process_time() - began)


def _one_process(settings: Settings) -> None:
    recipe = Recipe.from_settings(settings)
    dataset = data.load(recipe.dataset, recipe.samples, None, recipe.data_options)
    worker, loop = _UnderTheWorker(recipe, dataset), PlainLoop(recipe, dataset)
    pairs = []
    for pair in range(PAIRS + 1):
        if pair % 2:
            ours, theirs = worker.epoch(), _plain(loop)
        else:
            theirs, ours = _plain(loop), worker.epoch()
        pairs.append((ours, theirs))
    worker.job.stop.set()
    timed = pairs[1:]  # the first one warms up
    step = (
        1000
        * statistics.median(theirs.wall for _, theirs in timed)
        / math.ceil(worker.trainer.samples / recipe.batch_size)
    )
    wall = _ratio([ours.wall / theirs.wall for ours, theirs in timed])
    cpu = _ratio([ours.cpu / theirs.cpu for ours, theirs in timed])
    side = recipe.data_options.image_size
    print(f"| {recipe.network} | {side} × {side} | {step:.2f} | {wall} | {cpu} |", flush=True)


def _ratio(ratios: Sequence[float]) -> str:
    ordered, outside = sorted(ratios), int(stats.binom.ppf(0.025, len(ratios), 0.5))
    return f"{statistics.median(ratios):.4f} ({ordered[outside - 1]:.4f} to {ordered[-outside]:.4f})"


def _two_processes(settings: Settings) -> None:
    variables = {**os.environ, **settings.environment(), "COXSWAIN_EPOCHS": str(EPOCHS_A_RUN)}
    pairs = [(_worker(variables), _torchrun(variables)) for _ in range(RUNS)]
    ours, theirs = (statistics.mean(times) for times in zip(*pairs, strict=True))
    print(f"| {settings.network} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.3f} |", flush=True)


def _worker(variables: Mapping[str, str]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "termination-log")
        layout = {"COXSWAIN_PROCESSES_PER_WORKER": "2", "COXSWAIN_CORES_PER_WORKER": "2"}
        environment = {**variables, **layout, "COXSWAIN_TERMINATION_LOG": str(log)}
        subprocess.run(
            [sys.executable, "-m", "coxswain.worker"], env=environment, check=True, stdout=subprocess.DEVNULL
        )
        seconds: list[float] = json.loads(log.read_text())["curve"]["seconds"]
        return statistics.mean(seconds[1:])


def _torchrun(variables: Mapping[str, str]) -> float:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "benchmarks.plain_torch"]
    answer = subprocess.run([*command, str(EPOCHS_A_RUN)], env=variables, check=True, stdout=subprocess.PIPE, text=True)
    return float(answer.stdout)


if __name__ == "__main__":
    run()
