"""How well training times of settings never run are predicted, and how long fitting takes.

Error: each table is split into five folds by row, with several seeds. Families and their hyperparameters are chosen
anew from four of them, and the bounds of a fold are calibrated on the others: MAPE, the mean of bound / actual at 95 %,
and how many bounds held, for what was chosen and for every family. `--anew` repeats all of it, the calibration too,
for each fold, as if that had never been measured; it takes a quarter of an hour.

Speed: choosing among all families with 1,000 observations, and fitting the choice again, in seconds of one core.

The tables are read where they are: in the folder that is named, or that COXSWAIN_DATA names, by default ../shared/data
beside the project.

    python -m benchmarks.models [--anew] [FOLDER]
"""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.calibration import FACTORS, draw
from coxswain.core.dataset import make_dataset
from coxswain.core.models import Observations, Scores, fit, from_dataset, refit
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


def run(folder: Path = DATA, *, anew: bool = False) -> None:
    """Print error and speed."""
    with threadpool_limits(1):
        for name, (response, factors) in TABLES.items():
            path = folder / name
            if not path.exists():
                print(f"{name} is not in {folder}; name the folder that has it, or set COXSWAIN_DATA to it.")
                continue
            observations = from_dataset(make_dataset(pd.read_csv(path), response, factors))
            rows = len(np.unique(observations.units))
            print(f"\n{name}: {len(observations.y)} runs of {rows} rows, {SEEDS} x {FOLDS} folds by row")
            print(f"  {'model':18s} {'MAPE %':>8s} {'bound / actual':>15s} {'held %':>8s}")
            if anew:
                _error_anew(observations)
            else:
                _error(observations)
        if not anew:
            _speed()


def _error(observations: Observations) -> None:
    """What a fit says about itself: of what it chose in each fold, and of every family."""
    models = [fit(observations, seed=seed, folds=FOLDS) for seed in range(SEEDS)]
    _print("chosen", [_figures(model.nested) for model in models])
    print(f"    in the end: {', '.join(model.chosen for model in models)}")
    tables = [{each.name: _figures(each) for each in model.models} for model in models]
    for family in tables[0]:
        _print(family, [table[family] for table in tables if family in table])


def _error_anew(observations: Observations) -> None:
    """The same for the choice alone, with bounds calibrated without the fold as well."""
    found = []
    for seed in range(SEEDS):
        folds = assign_folds(observations.units, FOLDS, np.random.default_rng(seed))
        point, bound = np.empty(len(folds)), np.empty(len(folds))
        for fold in range(FOLDS):
            own = folds == fold
            predicted = fit(observations.take(~own), seed=seed).predict_array(observations.settings[own])
            point[own], bound[own] = predicted.point, predicted.quantile(CONFIDENCE)
        ratio = bound / observations.y
        error = np.abs(point / observations.y - 1)
        found.append((float(error.mean()), float(ratio.mean()), float(np.mean(ratio >= 1))))
    _print("chosen", found)


def _figures(scores: Scores) -> tuple[float, float, float]:
    return scores.mape, scores.bound_ratio, scores.coverage


def _print(name: str, by_seed: Sequence[tuple[float, float, float]]) -> None:
    mape, ratio, held = np.mean(by_seed, axis=0)
    print(f"  {name:18s} {100 * mape:8.2f} {ratio:15.3f} {100 * held:8.1f}", flush=True)


def _speed() -> None:
    print("\nFitting 1,000 observations, seconds of one core")
    for shape in ("curved", "interactions"):
        rng = np.random.default_rng(1)
        truth = draw(shape, rng)
        settings = np.column_stack([rng.uniform(factor.levels[0], factor.levels[-1], 1000) for factor in FACTORS])
        y = truth.run(settings, rng)
        observations = Observations(FACTORS, "t", settings, y, np.arange(1000), np.zeros(1000, dtype=bool))
        started = time.process_time()
        model = fit(observations)
        chosen = time.process_time()
        refit(model, observations)
        seconds, again = chosen - started, time.process_time() - chosen
        print(
            f"  {shape:13s} choosing among all families {seconds:5.1f} s ({model.chosen}), refit {again:4.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    named = [Path(each) for each in sys.argv[1:] if each != "--anew"]
    run(*named, anew="--anew" in sys.argv)
