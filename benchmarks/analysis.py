"""How long an analysis takes: a 2^8 design with three replicates, with every interaction and with those of two factors.

The promise is two seconds for the whole of it: fit, sums of squares, coefficients in both units, checks, Box and Cox's
method, folds. How long it takes to leave out what does not matter is told beside it.
"""

import itertools
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from coxswain.core.analysis import SumsOfSquares, analyze, interactions
from coxswain.core.dataset import Dataset, make_dataset

FACTORS = "abcdefgh"
REPLICATES = 3
REPEATS = 3


def measurements() -> Dataset:
    """A 2^8 design with three replicates: some effects, and noise."""
    rng = np.random.default_rng(1)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=len(FACTORS))) * REPLICATES)
    table = pd.DataFrame(signs, columns=list(FACTORS))
    table["y"] = 100 + 10 * table["a"] - 5 * table["b"] + 3 * table["a"] * table["c"] + rng.normal(0, 2, len(table))
    return make_dataset(table, "y", list(FACTORS))


def run() -> None:
    """Print the best of three times for each kind of analysis."""
    with threadpool_limits(1):
        _run(measurements())


def _run(data: Dataset) -> None:
    print(f"Analysis of a 2^8 design with {REPLICATES} replicates, best of {REPEATS}, seconds of one core:")
    for order in (2, len(FACTORS)):
        terms = interactions(data.factors, order)
        for kind in SumsOfSquares:
            seconds = _best(partial(analyze, data, terms, kind=kind))
            print(f"  interactions up to {order} ({len(terms):3d} terms), type {kind:3s}  {seconds:6.2f} s")
    terms = interactions(data.factors, len(FACTORS))
    seconds = _best(partial(analyze, data, terms, reduce=True))
    print(f"  interactions up to 8 (255 terms), reduced   {seconds:6.2f} s")


def _best(call: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    run()
