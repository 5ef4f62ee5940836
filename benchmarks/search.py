"""How near to the best a BayesianOptimization gets, and in how many rows, on recorded runs.

FLTK's 108 settings (parallelism, cores, learning rate, batch size) with their running times stand for the truth, with a
noise of 5 % a run. A search is over when it says so; beside it stands what as many rows drawn at random would have
found. The table is read from the folder that COXSWAIN_DATA names, by default ../shared/data.
"""

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from coxswain.core.api import TrainingExperiment, parse_experiment
from coxswain.core.expand import PlannedRun
from coxswain.core.observations import SUCCEEDED, Observation
from coxswain.core.search import Begun, plan_search

DATA = Path(os.environ.get("COXSWAIN_DATA", Path(__file__).parents[2] / "shared" / "data"))
TABLE = "fltk_fashion_108.csv"
FIELDS = {
    "parallelism": "resources.workers",
    "cores": "resources.coresPerWorker",
    "learning_rate": "parameters.learningRate",
    "batch_size": "parameters.batchSize",
}
SEEDS = 20
NOISE = 0.05
MOST_ROWS = 60
Key = tuple[float, ...]


@dataclass(frozen=True)
class Goal:
    """What is searched for, and when to stop."""

    name: str
    expression: str
    limit: float | None
    percent: int
    recurrences: int

    def worth(self, key: Key, taken: float) -> float:
        """What a run at a setting costs that takes so many seconds."""
        return taken if self.name == "time" else taken * key[0] * key[1]


def run() -> None:
    """Search for the least time, and for the least money within a time."""
    path = DATA / TABLE
    if not path.exists():
        print(f"  {path} is not there: set COXSWAIN_DATA to the folder that has it. Left out.")
        return
    seconds = _read(path)
    limit = median(seconds.values())
    money = "parallelism * cores * duration"
    print(f"  {len(seconds)} settings, {SEEDS} searches each; what is found lies above the best by %, mean (worst)")
    print(f"  {'goal':24}{'stop at':>8}{'recurrences':>12}{'rows':>7}{'search':>17}{'at random':>17}")
    for name, expression, bound in (
        ("time", "duration", None),
        ("money", money, None),
        (f"money within {limit:.0f} s", money, limit),
    ):
        for percent, recurrences in ((10, 1), (10, 10), (10, 100), (10, 10_000), (2, 10_000)):
            goal = Goal(name, expression, bound, percent, recurrences)
            _tell(goal, seconds, [_search(seconds, goal, seed) for seed in range(SEEDS)])


def _tell(goal: Goal, seconds: dict[Key, float], found: list[tuple[Key, int]]) -> None:
    truth = {key: goal.worth(key, taken) for key, taken in seconds.items()}
    allowed = {key for key, taken in seconds.items() if goal.limit is None or taken <= goal.limit}
    least = min(truth[key] for key in allowed)
    chance = np.random.default_rng(0)
    lucky = [truth[_at_random(seconds, goal, rows, chance)] for _, rows in found * 10]
    searched, random = (_above(values, least) for values in ([truth[key] for key, _ in found], lucky))
    mean_rows = fmean(rows for _, rows in found)
    broken = sum(key not in allowed for key, _ in found)
    told = f"  {broken} break the limit" if broken else ""
    row = f"{goal.name:24}{goal.percent:>6} %{goal.recurrences:>12}{mean_rows:>7.1f}{searched:>17}{random:>17}{told}"
    print(f"  {row}", flush=True)


def _at_random(seconds: dict[Key, float], goal: Goal, rows: int, chance: np.random.Generator) -> Key:
    """The best of so many settings drawn at random, as far as one noisy run of each can tell."""
    keys = list(seconds)
    measured = {
        keys[place]: seconds[keys[place]] * float(np.exp(NOISE * chance.standard_normal()))
        for place in chance.permutation(len(keys))[:rows].tolist()
    }
    kept = [key for key, taken in measured.items() if goal.limit is None or taken <= goal.limit]
    return min(kept, key=lambda key: goal.worth(key, measured[key]), default=max(seconds, key=seconds.__getitem__))


def _above(values: list[float], least: float) -> str:
    excess = [100 * (value / least - 1) for value in values]
    return f"{fmean(excess):.1f} ({max(excess):.1f})"


def _search(seconds: dict[Key, float], goal: Goal, seed: int) -> tuple[Key, int]:
    """The best setting that a search finds, and after how many rows; the slowest if it finds none."""
    experiment = _experiment(seconds, goal, seed)
    chance = np.random.default_rng(seed)
    begun: list[Begun] = []
    while True:
        plan = plan_search(experiment, begun)
        if plan.course.over is not None:
            best = plan.course.best
            return (tuple(map(float, best.settings)) if best else max(seconds, key=seconds.__getitem__)), len(begun)
        done = {each.row for each in begun}
        for planned in plan.runs:
            if planned.row not in done:
                key = tuple(float(value) for value in planned.settings.values())
                taken = seconds[key] * float(np.exp(NOISE * chance.standard_normal()))
                begun.append(Begun(planned.row, 0, planned.settings, _observed(planned, taken)))


def _observed(planned: PlannedRun, taken: float) -> Observation:
    return Observation(
        experiment="search",
        run=planned.name,
        job=planned.name,
        row=planned.row,
        replicate=0,
        block=0,
        digest="",
        settings=planned.settings,
        responses={"duration": taken},
        state=SUCCEEDED,
        started="",
        finished="",
    )


def _experiment(seconds: dict[Key, float], goal: Goal, seed: int) -> TrainingExperiment:
    levels = [sorted({key[place] for key in seconds}) for place in range(len(FIELDS))]
    search: dict[str, Any] = {
        "minimize": "goal",
        "maxRuns": MOST_ROWS,
        "stopWhenImprovementBelowPercent": goal.percent,
        "recurrences": goal.recurrences,
    }
    if goal.limit is not None:
        search["limit"] = {"response": "duration", "atMost": goal.limit}
    return parse_experiment(
        {
            "apiVersion": "coxswain.dev/v1alpha1",
            "kind": "TrainingExperiment",
            "metadata": {"name": "search"},
            "spec": {
                "factors": [
                    {"name": name, "field": field, "levels": values}
                    for (name, field), values in zip(FIELDS.items(), levels, strict=True)
                ],
                "design": {"type": "BayesianOptimization", "seed": seed, "search": search},
                "template": {"spec": {}},
                "analysis": {"responses": [{"name": "duration"}, {"name": "goal", "expression": goal.expression}]},
            },
        }
    )


def _read(path: Path) -> dict[Key, float]:
    with path.open(newline="") as table:
        return {
            tuple(float(row[name]) for name in FIELDS): float(row["running_time_s"]) for row in csv.DictReader(table)
        }


if __name__ == "__main__":
    run()
