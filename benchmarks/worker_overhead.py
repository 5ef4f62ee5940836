"""What the worker costs: epoch time under it divided by epoch time of the same loop in plain torch.

One process: pairs of epochs in one run, the order within a pair taking turns, so that whatever else the machine does
falls on both alike; the ratio's 95 % interval comes from the pairs' logarithms. Meanwhile the worker serves its
metrics and somebody reads them once a second.

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
from collections.abc import Mapping
from pathlib import Path
from urllib.request import urlopen

import torch
from scipy import stats

from benchmarks.plain_torch import PlainLoop
from coxswain.worker.report import Job, Settings
from coxswain.worker.torch import data
from coxswain.worker.torch.recipe import Recipe
from coxswain.worker.torch.trainer import Trainer
from coxswain.worker.torch.world import Place, World

PAIRS = 20
RUNS = 3
EPOCHS_A_RUN = 6
CASES = (("fashion-cnn", 2000, 28, 1), ("mobilenet", 400, 64, 3), ("shallow-cnn", 8000, 8, 1))


def run() -> None:
    """Print both comparisons; takes some ten minutes."""
    torch.set_num_threads(1)
    print("\n### One process: an epoch under the worker ÷ the same in plain torch\n")
    print("| network | images | a step, ms | ratio | 95 % interval |\n|---|---|---|---|---|")
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


def _one_process(settings: Settings) -> None:
    recipe = Recipe.from_settings(settings)
    dataset = data.load(recipe.dataset, recipe.samples, None, recipe.data_options)
    job = Job(Settings(metrics_host="127.0.0.1", metrics_port=0))
    threading.Thread(target=_scrape, args=(job,), daemon=True).start()
    trainer = Trainer(recipe, dataset, World(Place(0, 1, 0, 1)), stop_wanted=lambda: False)
    epochs, plain = trainer.epochs(), PlainLoop(recipe, dataset)

    def under_the_worker() -> float:
        epoch = next(epochs)
        job.record(epoch, trainer.samples)
        return epoch.seconds

    ratios, theirs = [], 0.0
    for pair in range(PAIRS + 1):
        if pair % 2:
            ours, theirs = under_the_worker(), plain.epoch()
        else:
            theirs, ours = plain.epoch(), under_the_worker()
        if pair:  # the first pair warms up
            ratios.append(math.log(ours / theirs))
    job.stop.set()
    mean, half = statistics.mean(ratios), stats.t.ppf(0.975, PAIRS - 1) * stats.sem(ratios)
    low, middle, high = (math.exp(value) for value in (mean - half, mean, mean + half))
    side, step = recipe.data_options.image_size, 1000 * theirs / math.ceil(trainer.samples / recipe.batch_size)
    print(f"| {recipe.network} | {side} × {side} | {step:.2f} | {middle:.4f} | {low:.4f} to {high:.4f} |", flush=True)


def _scrape(job: Job) -> None:
    while not job.stop.wait(1.0):
        urlopen(f"http://127.0.0.1:{job.metrics_port}/metrics").read()


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
