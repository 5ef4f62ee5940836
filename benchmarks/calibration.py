"""Whether bounds hold as often as they say, on synthetic jobs whose truth is known.

For each shape of truth, tables of runs are drawn and fitted; the bound at 95 % is checked at forty settings never run,
and at the best of ten, four times a table, or of all forty: the one with the smallest bound is picked, once by bounds
taken one by one and once by those that allow for the pick. The noise of the new run is not drawn but integrated over,
so that every figure is a mean of exact probabilities; its standard error comes from the tables. Beside them: the mean
of bound / expected, and by how much predictions differ from what is expected. Rows are random ones of all settings, but
for the 8s: these are a screening design. Where runs are marked by a +, those of a row share as much noise as each has
for itself.

Most shapes are fitted by one family without a search, so that many tables can be drawn. That choosing among all
families keeps the promise is checked on fewer tables, and not by `make bench`, because each takes a quarter of a
minute. The numbers of tables of either kind can be given, and the shapes, of all sizes or of one:

    python -m benchmarks.calibration 500 60
    python -m benchmarks.calibration 500 0 "fixed jitter" heteroscedastic "plain 8"

Tables are numbered from 0. Who has chosen something by how it does on these should judge it by others:

    FIRST_TABLE=1000 python -m benchmarks.calibration 250 0 "plain 12"
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import stats
from threadpoolctl import threadpool_limits

from coxswain.core.factors import Factor
from coxswain.core.models import FAMILIES, FittedModel, Observations, fit
from coxswain.core.models.families import Family
from coxswain.core.models.families.gaussian import GAUSSIAN_PROCESS, LOG_LOG
from coxswain.core.models.families.parts import PARTS
from coxswain.core.models.scales import Scale

Array = npt.NDArray[np.float64]

CONFIDENCE = 0.95
UNSEEN = 40
TABLES = 50
HEADINGS = (
    f"{'new settings':>14s} {'best of them':>14s} {'unadjusted':>14s} {'seen':>14s} {'bound':>6s} {'error %':>7s}"
)
FIRST_TABLE = int(os.environ.get("FIRST_TABLE", "0"))

LEVELS = {
    "workers": (1.0, 2.0, 4.0, 8.0),
    "cores": (0.5, 1.0, 2.0),
    "batch_size": (32.0, 64.0, 128.0, 256.0),
    "epochs": (1.0, 3.0, 10.0, 30.0),
}
FACTORS = tuple(Factor(name, levels=levels) for name, levels in LEVELS.items())
GRID = np.stack(np.meshgrid(*LEVELS.values(), indexing="ij"), axis=-1).reshape(-1, len(LEVELS))

REGRESSION = replace(LOG_LOG, orders=(2,))
MAIN_EFFECTS = replace(LOG_LOG, name="main_effects", orders=(1,))
PROCESS = replace(GAUSSIAN_PROCESS, scales=(Scale.LOG,))


class Known(Protocol):
    """Jobs of which it is known how long they are expected to take, and how likely they stay within a bound."""

    def expected(self, settings: Array) -> Array:
        """The expected log duration."""

    def holds(self, settings: Array, bounds: Array) -> Array:
        """The probability that a new run stays within a bound."""


@dataclass(frozen=True)
class Costs:
    """What a job takes as a sum of parts, in seconds."""

    start: float
    work: float
    """Of an epoch on one core of one worker."""
    serial: float
    """The share of it that more cores do not help with."""
    speedup: float
    step: float
    """Of all steps of an epoch at a batch size of 1."""
    talk: float
    """What these take longer each time that the number of workers is doubled."""

    def seconds(self, settings: Array) -> Array:
        """Of jobs with these settings."""
        workers, cores, batch, epochs = settings.T
        work = self.work * (self.serial + (1 - self.serial) * cores**-self.speedup)
        steps = (self.step + self.talk * np.log2(workers)) / batch
        return np.asarray(self.start + epochs * (work + steps) / workers, dtype=float)


def _costs(rng: np.random.Generator) -> Costs:
    """A start of some 15 s, a minute of work an epoch, steps of a few seconds."""
    start, work, step, talk = (15, 60, 600, 300) * np.exp(0.6 * rng.standard_normal(4))
    return Costs(start, work, rng.uniform(0, 0.3), rng.uniform(0.4, 1), step, talk)


@dataclass(frozen=True)
class Truth:
    """Log durations over coded log settings: main effects, interactions, waves; and the noise around them.

    Or, where `costs` are given, the logarithm of a sum of parts.
    """

    main: Array
    pairs: Array
    wave: float
    phases: Array
    noise: float
    noisier: Array
    """How the logarithm of the noise depends on the coded settings."""
    jitter: float
    """Noise of a fixed number of seconds, as a share of a typical duration."""
    shape: Any
    """The distribution of the noise."""
    costs: Costs | None = None

    def expected(self, settings: Array) -> Array:
        """The expected log duration."""
        if self.costs:
            return np.log(self.costs.seconds(settings))
        z = _coded(settings)
        smooth = self.wave * (
            np.cos(2 * z[:, 0] + self.phases[0]) + 0.6 * np.sin(2 * z[:, 2] * z[:, 3] + self.phases[1])
        )
        return np.asarray(4 + z @ self.main + np.einsum("ni,ij,nj->n", z, self.pairs, z) + smooth, dtype=float)

    def spread(self, settings: Array) -> Array:
        """The scale of the noise of the log duration."""
        relative = self.noise * np.exp(_coded(settings) @ self.noisier)
        return np.asarray(np.hypot(relative, self.jitter * np.exp(4 - self.expected(settings))), dtype=float)

    def run(self, settings: Array, rng: np.random.Generator) -> Array:
        """Durations of runs."""
        noise = self.shape.rvs(size=len(settings), random_state=rng)
        return np.asarray(np.exp(self.expected(settings) + self.spread(settings) * noise), dtype=float)

    def holds(self, settings: Array, bounds: Array) -> Array:
        """The probability that a new run stays within a bound."""
        return np.asarray(self.shape.cdf((np.log(bounds) - self.expected(settings)) / self.spread(settings)))


def _coded(settings: Array) -> Array:
    low, high = np.log(GRID.min(axis=0)), np.log(GRID.max(axis=0))
    return np.asarray((2 * np.log(settings) - low - high) / (high - low), dtype=float)


CORNERS = np.all(np.abs(_coded(GRID)) > 1 - 1e-9, axis=1)
SCREENING = np.flatnonzero(CORNERS & (np.prod(_coded(GRID), axis=1) > 0))


def draw(shape: str, rng: np.random.Generator) -> Truth:
    """A random truth of a shape."""
    plain = Truth(
        main=rng.normal(size=4) * (0.6, 0.4, 0.3, 0.8),
        pairs=np.zeros((4, 4)),
        wave=0.0,
        phases=rng.uniform(0, 2 * np.pi, 2),
        noise=0.1,
        noisier=np.zeros(4),
        jitter=0.0,
        shape=stats.norm(),
    )
    changes: dict[str, dict[str, Any]] = {
        "plain": {},
        "interactions": {"pairs": np.triu(rng.normal(0, 0.2, (4, 4)), 1)},
        "curved": {"wave": 0.5},
        "heteroscedastic": {"noise": 0.08, "noisier": 0.7 * np.eye(4)[rng.integers(4)]},
        "fixed jitter": {"noise": 0.01, "jitter": 0.05},
        "heavy tails": {"noise": 0.06, "shape": stats.t(3)},
        "sum of parts": {"noise": 0.05, "costs": _costs(rng.spawn(1)[0])},
        "all alike": {"main": 0.02 * plain.main},
        "very noisy": {"noise": 0.5},
    }
    return replace(plain, **changes[shape])


@dataclass(frozen=True)
class Case:
    """A shape of truth, how many rows and runs a row there are, and which families compete."""

    shape: str
    rows: int
    families: tuple[Family, ...] = (REGRESSION,)
    runs: int = 1
    killed: float = 0.0
    """The share of runs killed because they take too long."""
    candidates: int = 10
    """Among how many settings the best is picked."""
    screening: bool = False
    """Whether the rows are those of a screening design, 2^(4-1) of the extremes, in place of random ones."""
    shared: bool = False
    """Whether runs of a row share as much noise as each has for itself."""


CASES = (
    Case("plain", 48),
    Case("plain", 24),
    Case("plain", 12),
    Case("plain", 8),
    Case("interactions", 48),
    Case("interactions", 40),
    Case("interactions", 30),
    Case("interactions", 12),
    Case("interactions", 8),
    Case("plain", 8, (MAIN_EFFECTS,)),
    Case("interactions", 8, (MAIN_EFFECTS,)),
    Case("plain", 8, screening=True),
    Case("interactions", 8, screening=True),
    Case("sum of parts", 8, screening=True),
    Case("plain", 8, runs=3, screening=True),
    Case("interactions", 8, runs=3, screening=True),
    Case("sum of parts", 8, runs=3, screening=True),
    Case("all alike", 8, runs=3, screening=True),
    Case("plain", 8, runs=3, screening=True, shared=True),
    Case("plain", 12, runs=2),
    Case("interactions", 12, runs=2),
    Case("plain", 12, runs=2, shared=True),
    Case("interactions", 12, runs=2, shared=True),
    Case("heteroscedastic", 30),
    Case("heteroscedastic", 48),
    Case("heteroscedastic", 96),
    Case("fixed jitter", 48),
    Case("heavy tails", 48),
    Case("all alike", 24),
    Case("all alike", 12),
    Case("all alike", 8),
    Case("very noisy", 24),
    Case("very noisy", 12),
    Case("plain", 32, runs=2),
    Case("plain", 48, killed=0.15),
    Case("plain", 12, (PROCESS,)),
    Case("plain", 24, (PROCESS,)),
    Case("curved", 64, (PROCESS,)),
    Case("sum of parts", 10, (PROCESS,)),
    Case("sum of parts", 14, (PROCESS,)),
    Case("sum of parts", 32, (PARTS,)),
    Case("sum of parts", 32, (PROCESS,)),
    Case("sum of parts", 32),
    Case("sum of parts", 48, (PARTS,)),
    Case("sum of parts", 48, (PROCESS,)),
    Case("sum of parts", 48),
    Case("plain", 12, candidates=UNSEEN),
    Case("interactions", 30, candidates=UNSEEN),
    Case("interactions", 48, candidates=UNSEEN),
    Case("all alike", 24, candidates=UNSEEN),
)
CASES_OF_ALL = (
    Case("interactions", 40, FAMILIES),
    Case("curved", 64, FAMILIES),
    Case("plain", 14, FAMILIES),
    Case("interactions", 14, FAMILIES),
    Case("sum of parts", 32, FAMILIES),
)


def run(tables: int = TABLES, tables_of_all: int = 0, *, shapes: Sequence[str] = ()) -> None:
    """Print how often bounds hold, for all shapes or those named."""
    several = [(case, tables) for case in CASES] + [(case, tables_of_all) for case in CASES_OF_ALL]
    print(
        f"  {'shape':17s} {'rows':>4s} {'runs':>4s} {'killed':>6s} {'families':>16s} {'best of':>7s} {'tables':>6s}",
        end="",
    )
    print(f" {HEADINGS}")
    with threadpool_limits(1):
        for case, count in several:
            named = {case.shape, f"{case.shape} {case.rows}"}
            if count and (not shapes or named & set(shapes)):
                _report(case, count)


@dataclass(frozen=True)
class Holds:
    """Probabilities that bounds hold, one a table, the mean of bound / expected, and the relative error of points."""

    new: float
    best: float
    unadjusted: float
    seen: float
    ratio: float
    error: float


def measure(case: Case, seed: int) -> Holds:
    """Fit one table and check its bounds."""
    rng = np.random.default_rng([seed, case.rows, case.runs])
    truth = draw(case.shape, rng)
    order = rng.permutation(len(GRID))
    if case.screening:
        order = np.concatenate([SCREENING, order[~np.isin(order, SCREENING)]])
    run, unseen = GRID[order[: case.rows]], GRID[order[case.rows :]][:UNSEEN]
    units = np.repeat(np.arange(case.rows), case.runs)
    y = truth.run(run[units], rng)
    if case.shared:
        y = y * np.exp(truth.noise * rng.standard_normal(case.rows))[units]
        truth = replace(truth, noise=np.sqrt(2) * truth.noise)
    limit = np.quantile(y, 1 - case.killed)
    observations = Observations(FACTORS, "t", run[units], np.minimum(y, limit), units, y > limit)
    model = fit(observations, families=case.families, seed=seed)
    # Whether one more run of a row would share the noise of those before is another question.
    repeated = case.runs > 1 and not case.shared
    return check(model, truth, unseen, candidates=case.candidates, seen=run if repeated else None)


def check(model: FittedModel, truth: Known, unseen: Array, *, candidates: int = 10, seen: Array | None = None) -> Holds:
    """How often bounds hold at settings never run, at the best of some of them, and at settings run before."""
    predicted, expected = model.predict_array(unseen), np.exp(truth.expected(unseen))
    bounds = predicted.quantile(CONFIDENCE)
    best, unadjusted = [], []
    sets = len(unseen) // candidates
    for some, alone in zip(np.split(unseen, sets), np.split(bounds, sets), strict=True):
        picked = model.best_of_array(some, CONFIDENCE)
        best.append(truth.holds(some[[picked.best]], picked.bounds[[picked.best]])[0])
        hopeful = int(np.argmin(alone))
        unadjusted.append(truth.holds(some[[hopeful]], alone[[hopeful]])[0])
    again = np.nan if seen is None else np.mean(truth.holds(seen, model.predict_array(seen).quantile(CONFIDENCE)))
    return Holds(
        new=float(np.mean(truth.holds(unseen, bounds))),
        best=float(np.mean(best)),
        unadjusted=float(np.mean(unadjusted)),
        seen=float(again),
        ratio=float(np.mean(bounds / expected)),
        error=float(np.mean(np.abs(predicted.point / expected - 1))),
    )


def _report(case: Case, tables: int) -> None:
    found = [measure(case, FIRST_TABLE + number) for number in range(tables)]
    families = case.families[0].name if len(case.families) == 1 else f"all {len(case.families)}"
    rows = f"{case.rows}s" if case.screening else f"{case.rows}"
    runs = f"{case.runs}+" if case.shared else f"{case.runs}"
    print(f"  {case.shape:17s} {rows:>4s} {runs:>4s} {case.killed:6.2f} {families:>16s}", end="")
    print(f" {case.candidates:7d} {tables:6d} {summary(found)}", flush=True)


def summary(found: Sequence[Holds]) -> str:
    """Means over tables, those of what held with their standard errors."""
    shown = []
    for name in ("new", "best", "unadjusted", "seen"):
        held = 100 * np.array([getattr(one, name) for one in found])
        shown.append("–" if np.isnan(held).any() else f"{held.mean():.1f} ± {held.std() / np.sqrt(len(held)):.1f}")
    ratio, error = (np.mean([getattr(one, name) for one in found]) for name in ("ratio", "error"))
    return " ".join(f"{held:>14s}" for held in shown) + f" {ratio:6.2f} {100 * error:7.2f}"


if __name__ == "__main__":
    run(*map(int, sys.argv[1:3]), shapes=sys.argv[3:])
