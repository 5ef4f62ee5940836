"""How well training times of settings never run are predicted, and how long fitting takes.

Error: each table is split into five folds by row, with several seeds. What is chosen sees four of them and nothing of
the fifth: families, hyperparameters, bounds, everything. The other models are scored by the same five folds, with the
bounds of a fold calibrated on the others. MAPE, the mean of bound / actual at 95 %, and how many bounds held.

Speed: choosing among all families with 1,000 observations, and fitting the choice again, on one core.

The tables are read from the folder that COXSWAIN_DATA names, by default ../shared/data beside the project.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.calibration import FACTORS, draw
from coxswain.core.dataset import make_dataset
from coxswain.core.models import Observations, fit, from_dataset, refit
from coxswain.core.models.search import assign_folds

DATA = Path(os.environ.get("COXSWAIN_DATA", Path(__file__).parents[2] / "shared" / "data"))
TABLES = {
    "fltk_fashion_108.csv": ("running_time_s", ["parallelism", "cores", "learning_rate", "batch_size"]),
    "fltk_2k4_64.csv": ("est_total_train_s", ["dataset", "parallelism", "cores", "batch_size", "max_epoch"]),
    "fltk_2k5_cellmeans.csv": (
        "cellmean_from_fig20",
        ["cores", "parallelization", "batch_size", "learning_rate", "max_epoch"],
    ),
}
SEEDS = 3
FOLDS = 5
CONFIDENCE = 0.95


def run() -> None:
    """Print error and speed."""
    with threadpool_limits(1):
        for name, (response, factors) in TABLES.items():
            path = DATA / name
            if not path.exists():
                print(f"{name} is not in {DATA}; set COXSWAIN_DATA to the folder that has it.")
                continue
            _error(name, from_dataset(make_dataset(pd.read_csv(path), response, factors)))
        _speed()


def _splits(observations: Observations) -> Iterator[tuple[int, npt.NDArray[np.bool_]]]:
    for seed in range(SEEDS):
        folds = assign_folds(observations.units, FOLDS, np.random.default_rng(seed))
        for fold in range(FOLDS):
            yield seed, folds == fold


def _error(name: str, observations: Observations) -> None:
    rows = len(np.unique(observations.units))
    print(f"\n{name}: {len(observations.y)} runs of {rows} rows, {SEEDS} x {FOLDS} folds by row")
    print(f"  {'model':18s} {'MAPE %':>8s} {'bound / actual':>15s} {'held %':>8s}")
    chosen: Counter[str] = Counter()
    errors, ratios = [], []
    for seed, left_out in _splits(observations):
        model = fit(observations.take(~left_out), seed=seed)
        chosen[model.chosen] += 1
        predicted = model.predict_array(observations.settings[left_out])
        actual = observations.y[left_out]
        errors.append(np.abs(predicted.point / actual - 1))
        ratios.append(predicted.quantile(CONFIDENCE) / actual)
    error, ratio = np.concatenate(errors), np.concatenate(ratios)
    print(_line("chosen", float(error.mean()), float(ratio.mean()), float(np.mean(ratio >= 1))))
    print(f"    chosen in the folds: {', '.join(f'{family} {count}x' for family, count in chosen.most_common())}")
    tables = [{each.name: each for each in fit(observations, seed=seed).models} for seed in range(SEEDS)]
    for family in tables[0]:
        each = [table[family] for table in tables if family in table]
        mape, bound, held = (np.mean([getattr(one, of) for one in each]) for of in ("mape", "bound_ratio", "coverage"))
        print(_line(family, float(mape), float(bound), float(held)))


def _line(name: str, mape: float, ratio: float, held: float) -> str:
    return f"  {name:18s} {100 * mape:8.2f} {ratio:15.3f} {100 * held:8.1f}"


def _speed() -> None:
    print("\nFitting 1,000 observations on one core")
    for shape in ("curved", "interactions"):
        rng = np.random.default_rng(1)
        truth = draw(shape, rng)
        settings = np.column_stack([rng.uniform(factor.levels[0], factor.levels[-1], 1000) for factor in FACTORS])
        y = truth.run(settings, rng)
        observations = Observations(FACTORS, "t", settings, y, np.arange(1000), np.zeros(1000, dtype=bool))
        started = time.perf_counter()
        model = fit(observations)
        chosen = time.perf_counter()
        refit(model, observations)
        seconds, again = chosen - started, time.perf_counter() - chosen
        print(f"  {shape:13s} choosing among all families {seconds:5.1f} s ({model.chosen}), refit {again:4.2f} s")
