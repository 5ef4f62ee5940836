"""Deadlines: promised, kept and gained, on recorded runs, on runs whose truth is known, with money, and in queues.

`python -m benchmarks.deadlines` prints every table; `python -m benchmarks planning` adds small queues against every
possibility, and the speed of planning. Seeds are fixed. The recorded runs are read from the folder that COXSWAIN_DATA
names, by default ../shared/data; what is not there is left out, and said.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.deadlines_kept import Kept, drawn, kept_by_confidence
from benchmarks.deadlines_money import ACCURACY_LESS_MONEY, LEAST_COST, priced
from benchmarks.deadlines_queues import queues
from coxswain.core.baselines import Contested, Deadlines, Normal, Recorded, Result, backtest, read_recorded

CONFIDENCES = (0.8, 0.9, 0.95, 0.99)
TABLE_AT = 0.95
OTHERS = ("mean", "courier", "fltk", "random", "minimum", "oracle")
JOBS_A_CONTEXT = 50
PICTURE = Path("out/deadlines.svg")
UTILISATIONS = (0.6, 0.8, 1.0, 1.2)
CROWDED, CONTENTION = (0.6, 0.8, 1.0), 0.5
QUEUES = 3


@dataclass(frozen=True)
class Recording:
    """Recorded runs: the file, its columns, and what may be adjusted."""

    file: str
    time: str
    value: str
    factors: tuple[str, ...]
    adjust: tuple[str, ...]
    deadlines: Deadlines = field(default_factory=Contested)

    @property
    def title(self) -> str:
        """What is tried."""
        return f"{self.file}, adjust {' + '.join(self.adjust)}, deadlines {self.deadlines}"


_FASHION = ("fltk_fashion_108.csv", "running_time_s", "accuracy_pct")
_FASHION_FACTORS = ("parallelism", "cores", "learning_rate", "batch_size")
_BOTH = ("fltk_2k4_64.csv", "est_total_train_s", "avg_accuracy_pct")
_BOTH_FACTORS = ("dataset", "parallelism", "cores", "batch_size", "max_epoch")
_MADE_UP_FACTORS = ("workers", "cores", "batch_size", "epochs")
RECORDINGS = (
    Recording(*_FASHION, _FASHION_FACTORS, ("batch_size",)),
    Recording(*_FASHION, _FASHION_FACTORS, ("parallelism",)),
    Recording(*_FASHION, _FASHION_FACTORS, ("parallelism", "batch_size")),
    Recording(*_FASHION, _FASHION_FACTORS, ("cores",)),  # accuracy hardly depends on it: there is little to gain
    Recording(*_BOTH, _BOTH_FACTORS, ("max_epoch",)),  # two candidates: between them only the faster one is in time
    Recording(*_BOTH, _BOTH_FACTORS, ("max_epoch", "batch_size")),
    Recording(*_BOTH, _BOTH_FACTORS, ("max_epoch", "parallelism")),
    Recording(*_BOTH, _BOTH_FACTORS, ("max_epoch",), Normal(300.0, 100.0)),
    Recording(*_FASHION, _FASHION_FACTORS, ("parallelism", "batch_size"), Normal(100.0, 33.0)),
)


def run() -> None:
    """Print every table, and draw promised against kept."""
    with threadpool_limits(1):
        kept = {"recorded runs": recorded_runs(), **known_truths()}
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(drawn({name: points for name, points in kept.items() if points}))
        print(f"Promised against kept as a picture: {PICTURE}")
        money()
        print("Queues: 200 jobs, Poisson arrivals, 4 servers")
        queues(UTILISATIONS, QUEUES)
        print(f"Multiplexed jobs: the same with a contention c of {CONTENTION:g}")
        queues(CROWDED, QUEUES, CONTENTION)


def recorded_runs() -> list[Kept]:
    """Recorded runs with whole contexts left out; what became of the promises under contested deadlines."""
    contested = []
    for recording in RECORDINGS:
        table = _read(recording.file)
        if table is None:
            continue
        recorded = read_recorded(
            table,
            response=recording.time,
            value=recording.value,
            factors=recording.factors,
            adjust=recording.adjust,
        )
        results = report(recording.title, recorded, recording.deadlines)
        if recording.deadlines == Contested():
            contested += results
    return kept_by_confidence(contested) if contested else []


def known_truths() -> dict[str, list[Kept]]:
    """Runs made up from curves that are known, with noise, and with a drift that runs of one context share."""
    found = {}
    for title, noise, drift in (("noise 5 %", 0.05, 0.0), ("noise 5 %, drift of contexts 5 %", 0.05, 0.05)):
        together: list[Result] = []
        for seed in range(2):
            recorded = read_recorded(
                _made_up(noise, drift, seed),
                response="seconds",
                value="accuracy",
                factors=_MADE_UP_FACTORS,
                adjust=("epochs",),
            )
            together += report(f"known truth, {title}, table {seed + 1}", recorded, Contested())
        found[title] = kept_by_confidence(together)
    return found


def money() -> None:
    """Recorded and made-up runs with money in the value: workers cost, and are what deadlines are met with."""
    results: list[Result] = []
    fashion = _read(_FASHION[0])
    if fashion is not None:
        _, seconds, accuracy = _FASHION
        table = priced(fashion, workers="parallelism", cores="cores", seconds=seconds, accuracy=accuracy)
        for value in (LEAST_COST, ACCURACY_LESS_MONEY):
            for adjust in (("parallelism", "cores"), ("parallelism", "batch_size")):
                recorded = read_recorded(table, response=seconds, value=value, factors=_FASHION_FACTORS, adjust=adjust)
                results += report(f"{value}, {_FASHION[0]}, adjust {' + '.join(adjust)}", recorded, Contested())
    table = priced(
        _made_up(0.05, 0.0, 0, batches=(16.0, 32.0, 64.0, 128.0)),
        workers="workers",
        cores="cores",
        seconds="seconds",
        accuracy="accuracy",
    )
    for value in (LEAST_COST, ACCURACY_LESS_MONEY):
        recorded = read_recorded(
            table, response="seconds", value=value, factors=_MADE_UP_FACTORS, adjust=("workers", "epochs")
        )
        results += report(f"{value}, known truth, noise 5 %, adjust workers + epochs", recorded, Contested())
    kept_by_confidence(results, "all sets of jobs with money in the value")


def report(title: str, recorded: Recorded, deadlines: Deadlines) -> list[Result]:
    """Print what policies make of one set of jobs; ours at every confidence."""
    ours = backtest(
        recorded,
        policies=("coxswain", *OTHERS),
        deadlines=deadlines,
        confidences=CONFIDENCES,
        repetitions=JOBS_A_CONTEXT,
    )
    print(f"{title}: {len(recorded.contexts)} contexts, {ours[0].jobs} jobs")
    print("  policy          in time  of feasible  promised      kept of promised     value    gain")
    shown = [each for each in ours if each.name == "coxswain" or each.confidence == TABLE_AT]
    for each in shown:
        name = f"coxswain {each.confidence:.0%}" if each.name == "coxswain" else each.name
        kept = "–" if each.kept_of_promised is None else f"{each.kept_of_promised:.1%} ± {each.kept_error:.1%}"
        cells = [_share(each.met), _share(each.met_of_feasible), _share(each.promised)]
        value = "–" if each.accuracy is None else f"{each.accuracy:.4g}"
        gain = "–" if each.gain is None else f"{each.gain:.2f}"
        print(
            f"  {name:13s} {cells[0]:>9s} {cells[1]:>12s} {cells[2]:>9s} {kept:>21s} {value:>9s} {gain:>7s}", flush=True
        )
    return [each for each in ours if each.name == "coxswain"]


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _read(file: str) -> pd.DataFrame | None:
    path = Path(os.environ.get("COXSWAIN_DATA", "../shared/data")) / file
    if path.exists():
        return pd.read_csv(path)
    print(f"  {path} is not there: set COXSWAIN_DATA to the folder that has it. Left out.")
    return None


def _made_up(noise: float, drift: float, seed: int, batches: Sequence[float] = (32.0, 128.0)) -> pd.DataFrame:
    rng = np.random.default_rng([seed, int(1000 * drift)])
    rows = []
    for workers in (1.0, 2.0, 4.0, 8.0):
        for cores in (0.5, 1.0, 2.0):
            for batch in batches:
                shared = drift * rng.standard_normal()
                for epochs in (2.0, 4.0, 7.0, 12.0):
                    speed = workers**0.8 * cores**0.9 * (batch / 32) ** 0.2
                    seconds = 5 + 40 * epochs / speed * np.exp(shared + noise * rng.standard_normal())
                    accuracy = 0.95 - 0.4 * epochs**-0.7 - 0.01 * np.log2(batch / 32) + 0.003 * rng.standard_normal()
                    rows.append((workers, cores, batch, epochs, seconds, accuracy))
    return pd.DataFrame(rows, columns=[*_MADE_UP_FACTORS, "seconds", "accuracy"])


if __name__ == "__main__":
    run()
