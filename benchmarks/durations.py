"""Whether bounds of durations hold as often as they say, for whole runs and for what is left of running ones.

Runs are drawn as `core/models/duration.py` thinks of them, and as it does not: a start-up, a first epoch that takes
longer, a speed of each run's own, epochs that waver, and a dependence on the settings that is no product of powers.
Each set of runs is fitted once; the 95 % bound is checked on new runs of settings run and never run, of lengths run and
never run, and after some epochs. How long fitting and predicting take is told in seconds of one core.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from coxswain.core.models import RunRecord, fit_durations

CONFIDENCE = 0.95
SETS = 12
NEW_RUNS = 25
WORKERS, BATCHES = (1.0, 2.0, 4.0, 8.0), (32.0, 64.0, 128.0, 256.0)
CANDIDATES = 1000


@dataclass(frozen=True)
class Case:
    """How many settings are run how often, how long, and how much runs and epochs vary."""

    name: str
    settings: int
    runs: int = 2
    epochs: int = 8
    between_runs: float = 0.08
    between_epochs: float = 0.05


CASES = (
    Case("16 settings twice", 16),
    Case("12 settings once", 12, runs=1),
    Case("4 settings once", 4, runs=1),
    Case("one setting, 30 times", 1, runs=30),
    Case("runs of 2 epochs", 16, epochs=2),
    Case("wavering epochs", 16, between_epochs=0.3),
)


def run() -> None:
    """Print how often bounds hold, and how long it takes."""
    print(
        f"  {'runs':22s} {'whole':>12s} {'2 epochs':>12s} {'40 epochs':>12s} {'after 1':>12s} {'after 4':>12s}  fit s"
    )
    with threadpool_limits(1):
        for case in CASES:
            _report(case)
        _speed()


def _report(case: Case) -> None:
    started = time.process_time()
    found = np.array([list(_held(case, seed)) for seed in range(SETS)])
    seconds = (time.process_time() - started) / SETS
    shown = [
        f"{100 * mean:.1f} ± {100 * error:.1f}"
        for mean, error in zip(found.mean(axis=0), found.std(axis=0) / np.sqrt(SETS), strict=True)
    ]
    print(f"  {case.name:22s} {' '.join(f'{each:>12s}' for each in shown)}  {seconds:5.1f}", flush=True)


def _held(case: Case, seed: int) -> Iterator[float]:
    """The share of new runs within their bound: whole, short, long, and of running ones what is left."""
    rng = np.random.default_rng([seed, case.settings])
    every = [{"workers": workers, "batch_size": batch} for workers in WORKERS for batch in BATCHES]
    chosen = [every[place] for place in rng.permutation(len(every))]
    model = fit_durations(
        [_draw(case, settings, case.epochs, rng) for settings in chosen[: case.settings] for _ in range(case.runs)]
    )
    # Where all settings of the grid were run, those to come lie between them.
    others = chosen[case.settings :] or [{"workers": 3.0, "batch_size": 90.0}, {"workers": 6.0, "batch_size": 48.0}]
    new = chosen[:1] if case.settings == 1 else [*chosen[:2], *others[:4]]
    for epochs, after in ((case.epochs, 0), (2, 0), (40, 0), (12, 1), (12, 4)):
        held = []
        for settings in new:
            at = model.at(settings)
            for _ in range(NEW_RUNS):
                done = _draw(case, settings, epochs, rng)
                left = (0.0 if after else done.startup) + sum(done.epochs[after:])
                held.append(left <= at.one(epochs, done.epochs[:after]).quantile(CONFIDENCE))
        yield float(np.mean(held))


def _draw(case: Case, settings: dict[str, float], epochs: int, rng: np.random.Generator) -> RunRecord:
    pace = 20 * (0.15 + 1 / settings["workers"]) * (1 + 24 / settings["batch_size"])
    seconds = pace * np.exp(rng.normal(0, case.between_runs) + rng.normal(0, case.between_epochs, epochs))
    seconds[0] += 5 * np.exp(rng.normal(0, 0.3))
    return RunRecord(settings, 8 * float(np.exp(rng.normal(0, 0.2))), seconds.tolist())


def _speed() -> None:
    case = Case("speed", 16, runs=4)
    rng = np.random.default_rng(0)
    every = [{"workers": workers, "batch_size": batch} for workers in WORKERS for batch in BATCHES]
    model = fit_durations([_draw(case, settings, 8, rng) for settings in every for _ in range(4)])
    levels = rng.random(100)
    model.predict(every[0], 8).quantile(CONFIDENCE)  # what is computed once is not counted
    started = time.process_time()
    many = model.at(every[3]).many(range(1, CANDIDATES + 1))
    many.quantile(levels)
    quantiles = time.process_time() - started
    started = time.process_time()
    many.cdf(np.array(600.0))
    chances = time.process_time() - started
    print(
        f"  {CANDIDATES} numbers of epochs at one setting: {len(levels)} quantiles of each {1000 * quantiles:.0f} ms, "
        f"chances to be done in time {1000 * chances:.0f} ms"
    )


if __name__ == "__main__":
    run()
