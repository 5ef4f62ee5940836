"""What the worker costs: epoch time under it divided by epoch time of the same loop in plain torch.

One process: in each of many rounds the worker, the plain loop and a second plain loop train short epochs in turns, so
that whatever else the machine does falls on all alike. Each round makes its networks anew, because where one lies in
memory makes it faster or slower than its twin by a few per cent for as long as it lives; so a round is one measurement.
What is told is the median of the rounds' ratios with its distribution-free 95 % interval, of the wall-clock time and of
the CPU time of the whole process, on which a busy machine has less influence. The second plain loop is the control: how
far its ratio to the first is from 1 is what this way of measuring cannot see. While it is the worker's turn it serves
its metrics, and somebody reads them as often as the operator does.

Two processes: whole runs under the worker and under torchrun in turns, the mean epochs of each compared.

    python -m benchmarks.worker_overhead [NETWORK …]       # some three quarters of an hour for all, a quarter for one
"""

import itertools
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
from coxswain.worker.report import Job, Settings, State
from coxswain.worker.torch import data
from coxswain.worker.torch.recipe import Recipe
from coxswain.worker.torch.schedules import Pace
from coxswain.worker.torch.trainer import Sums, Trainer
from coxswain.worker.torch.world import Place, World

ROUNDS = 100
EPOCHS_A_ROUND = 4
READ_EVERY_SECONDS = 5.0
RUNS = 3
EPOCHS_A_RUN = 6
_ORDERS = tuple(itertools.permutations(range(3)))
CASES = (("fashion-cnn", 1280, 28, 1), ("mobilenet", 256, 64, 3), ("shallow-cnn", 12800, 8, 1))


def run(networks: Sequence[str] = ()) -> None:
    """Print both comparisons, of some networks or of all."""
    torch.set_num_threads(1)
    print("\n### One process: an epoch under the worker ÷ the same in plain torch\n")
    print(f"(load of the machine before: {os.getloadavg()[0]:.1f})\n")
    print("| network | images | a step, ms | ratio of wall time (95 % interval) | of CPU time | control: wall | CPU |")
    print("|---|---|---|---|---|---|---|")
    for case in CASES:
        if not networks or case[0] in networks:
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
        self._reader = threading.Thread(target=self._scrape, daemon=True)
        self._reader.start()

    def epoch(self) -> Turn:
        """Train one epoch and record it, in the sight of somebody who reads the metrics."""
        self._turn.set()
        epoch = next(self._epochs)
        self.job.record(epoch, self.trainer.samples)
        self._turn.clear()
        return Turn(epoch.seconds, self.trainer.cpu)

    def close(self) -> None:
        """Serve no longer."""
        self.job.stop.set()
        self._turn.set()
        self._reader.join()
        self.job.end(State.STOPPED)

    def _scrape(self) -> None:
        while not self.job.stop.wait(READ_EVERY_SECONDS):
            self._turn.wait()
            urlopen(f"http://127.0.0.1:{self.job.metrics_port}/metrics").read()


class _Plain:
    """The plain loop, an epoch at a time."""

    def __init__(self, recipe: Recipe, dataset: data.Dataset) -> None:
        self._loop = PlainLoop(recipe, dataset)

    def epoch(self) -> Turn:
        """Train one epoch."""
        began = time.process_time()
        return Turn(self._loop.epoch(), time.process_time() - began)

    def close(self) -> None:
        """Nothing to end."""


def _one_process(settings: Settings) -> None:
    recipe = Recipe.from_settings(settings)
    dataset = data.load(recipe.dataset, recipe.samples, None, recipe.data_options)
    rounds = [_round(recipe, dataset, number) for number in range(ROUNDS)]
    steps = math.ceil(len(dataset.training) / recipe.batch_size)
    step = 1000 * statistics.median(plain.wall for _, plain, _ in rounds) / steps
    ratios = [
        _ratio([getattr(each[mine], kind) / getattr(each[1], kind) for each in rounds])
        for mine in (0, 2)
        for kind in ("wall", "cpu")
    ]
    side = recipe.data_options.image_size
    print(f"| {recipe.network} | {side} × {side} | {step:.2f} | {' | '.join(ratios)} |", flush=True)


def _round(recipe: Recipe, dataset: data.Dataset, number: int) -> list[Turn]:
    """The mean epoch of the worker, of the plain loop and of its twin; the first epoch of each warms up."""
    makers = (_UnderTheWorker, _Plain, _Plain)
    order = list(_ORDERS[number % len(_ORDERS)])
    loops = {place: makers[place](recipe, dataset) for place in order}
    turns = [{place: loops[place].epoch() for place in order} for _ in range(1 + EPOCHS_A_ROUND)][1:]
    for loop in loops.values():
        loop.close()
    return [
        Turn(statistics.mean(turn[place].wall for turn in turns), statistics.mean(turn[place].cpu for turn in turns))
        for place in range(len(makers))
    ]


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
    run(sys.argv[1:])
