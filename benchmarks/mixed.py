"""Whether bounds hold over tables of all sorts, as people have them, rather than shape by shape.

`calibration.py` asks shape by shape, all of the same four factors. Few rows cannot tell shapes apart, so no bound is
right for each of them; it should be right on average over what there may be. Here everything is drawn anew for each
table: two to five factors, numbers and at times a category; 8 to 40 rows, once or several times; effects of all
sizes; noise from one per cent to a quarter; factors that multiply, interact, bend, or are parts of a sum. The families
that usually win compete, or all of them:

    python -m benchmarks.mixed 200
    FIRST_TABLE=1000 python -m benchmarks.mixed 60 all
"""

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from benchmarks.calibration import FIRST_TABLE, HEADINGS, UNSEEN, Array, Holds, check, summary
from coxswain.core.factors import Factor
from coxswain.core.models import FAMILIES, Observations, fit
from coxswain.core.models.families import Family
from coxswain.core.models.families.gaussian import GAUSSIAN_PROCESS, LOG_LOG
from coxswain.core.models.families.parts import PARTS

TABLES = 24
USUAL = (LOG_LOG, GAUSSIAN_PROCESS, PARTS)
SIZES = ((8, 11), (12, 18), (19, 23), (24, 40))
FEWEST_ROWS, MOST_ROWS = SIZES[0][0], SIZES[-1][1]
SORTS = ("product", "interacting", "bent", "sum")


@dataclass(frozen=True)
class World:
    """Jobs over some factors; of a sum there are three parts, of anything else there is one."""

    factors: tuple[Factor, ...]
    sort: str
    sizes: Array
    """Of each part, as logarithms."""
    effects: Array
    """Of each factor on the logarithm of each part; the first part of a sum is a start, which has none."""
    pairs: Array
    bend: float
    phase: float
    noise: float

    def expected(self, settings: Array) -> Array:
        """The expected log duration."""
        z = self._coded(settings)
        parts = self.sizes + z @ self.effects.T
        bent = self.bend * np.cos(2 * z[:, 0] + self.phase)
        return np.asarray(
            np.logaddexp.reduce(parts, axis=1) + np.einsum("ni,ij,nj->n", z, self.pairs, z) + bent, dtype=float
        )

    def holds(self, settings: Array, bounds: Array) -> Array:
        """The probability that a new run stays within a bound."""
        return np.asarray(stats.norm.cdf((np.log(bounds) - self.expected(settings)) / self.noise))

    def _coded(self, settings: Array) -> Array:
        columns = []
        for factor, column in zip(self.factors, settings.T, strict=True):
            values = np.log(column) if factor.is_numeric else column
            most = np.log(factor.levels[-1]) if factor.is_numeric else len(factor.categories) - 1
            columns.append(2 * values / most - 1)
        return np.stack(columns, axis=1)


def draw(rng: np.random.Generator) -> tuple[World, Array]:
    """Some jobs, and all their settings in random order."""
    while True:
        factors = [
            Factor(f"x{number}", levels=tuple(2.0 ** np.arange(rng.choice([3, 4, 6, 8]))))
            for number in range(rng.integers(2, 6))
        ]
        if rng.random() < 0.4:
            factors[-1] = Factor("network", categories=("deep", "shallow", "wide")[: rng.integers(2, 4)])
        axes = [one.levels if one.is_numeric else np.arange(float(len(one.categories))) for one in factors]
        grid = np.array(list(itertools.product(*axes)))
        if len(grid) >= MOST_ROWS + UNSEEN:
            break
    sort = str(rng.choice(SORTS))
    count = len(factors)
    parts = 3 if sort == "sum" else 1
    effects = rng.normal(size=(parts, count)) * np.exp(rng.normal(-0.7, 0.7, (parts, count)))
    if sort == "sum":
        effects[0] = 0.0
    interacting = rng.uniform(0.1, 0.6) * float(np.abs(effects).mean()) if sort == "interacting" else 0.0
    return World(
        factors=tuple(factors),
        sort=sort,
        sizes=rng.normal(3, 1, parts),
        effects=effects,
        pairs=np.triu(rng.normal(0, 1, (count, count)), 1) * interacting,
        bend=rng.uniform(0.1, 0.5) if sort == "bent" else 0.0,
        phase=rng.uniform(0, 2 * np.pi),
        noise=float(np.exp(rng.uniform(np.log(0.01), np.log(0.25)))),
    ), rng.permutation(grid)


def measure(seed: int, families: Sequence[Family]) -> tuple[str, int, Holds]:
    """Fit one table and check its bounds: of which sort and of how many rows it is, and how often they hold."""
    rng = np.random.default_rng([seed, MOST_ROWS])
    world, settings = draw(rng)
    rows, runs = int(rng.integers(FEWEST_ROWS, MOST_ROWS + 1)), int(rng.choice([1, 1, 2, 3]))
    units = np.repeat(np.arange(rows), runs)
    run = settings[units]
    y = np.exp(world.expected(run) + world.noise * rng.standard_normal(len(run)))
    observations = Observations(world.factors, "t", run, y, units, np.zeros(len(y), dtype=bool))
    model = fit(observations, families=families, seed=seed)
    return world.sort, rows, check(model, world, settings[rows : rows + UNSEEN])


def run(tables: int = TABLES, families: Sequence[Family] = USUAL) -> None:
    """Print how often bounds hold over all tables, by their size and by their sort."""
    print(f"  {'tables':14s} {'number':>6s} {HEADINGS}")
    found = []
    with threadpool_limits(1):
        for number in range(tables):
            found.append(measure(FIRST_TABLE + number, families))
            print(f"  {number + 1} of {tables}", end="\r", file=sys.stderr, flush=True)
    _report("all", [holds for _, _, holds in found])
    for low, high in SIZES:
        _report(f"{low} to {high} rows", [holds for _, rows, holds in found if low <= rows <= high])
    for sort in SORTS:
        _report(sort, [holds for own, _, holds in found if own == sort])


def _report(name: str, found: Sequence[Holds]) -> None:
    if found:
        print(f"  {name:14s} {len(found):6d} {summary(found)}", flush=True)


if __name__ == "__main__":
    run(int(sys.argv[1]), FAMILIES if "all" in sys.argv else USUAL)
