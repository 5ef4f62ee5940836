"""How long designs take to make, with what is told about them: rows, runs, digest, aliases and power.

The promise is one second for a 2^(11-5) design with its aliases. A design is made again whenever it is needed, so the
slowest kinds (Latin hypercubes and D-optimal designs of many rows) are told beside it.
"""

import time
from collections.abc import Callable

from threadpoolctl import threadpool_limits

from coxswain.core.designs import (
    CentralComposite,
    DefinitiveScreening,
    Design,
    DesignOptions,
    DOptimal,
    FractionalFactorial,
    FullFactorial,
    LatinHypercube,
    Model,
    PlackettBurman,
    build,
    detectable,
)
from coxswain.core.factors import Factor

REPEATS = 3
GENERATORS = ("G=CDE", "H=ABCD", "J=ABF", "K=BDEF", "L=ADEF")


def factors(count: int, levels: tuple[float, ...] = (1, 3)) -> list[Factor]:
    """So many numeric factors."""
    return [Factor(f"f{index}", levels=levels) for index in range(count)]


def told(given: list[Factor], options: DesignOptions, order: int) -> Callable[[], Design]:
    """Make a design and all that is told about it, aliases up to an order."""

    def make() -> Design:
        design = build(given, options)
        _ = design.runs, design.digest, detectable(design, interactions=2)
        if design.fraction:
            design.fraction.aliases(order)
        return design

    return make


def run() -> None:
    """Print the best of three times for each design: seconds of one core, whatever else the machine does."""
    cases = {
        "2^(11-5), aliases up to order 2": told(factors(11), FractionalFactorial(generators=GENERATORS), 2),
        "2^(11-5), all aliases": told(factors(11), FractionalFactorial(generators=GENERATORS), 11),
        "2^11 in 16 blocks": told(factors(11), FullFactorial(blocks=16), 2),
        "Plackett-Burman, 25 factors in 32 rows": told(factors(25), PlackettBurman(size=32), 2),
        "definitive screening, 12 factors": told(factors(12), DefinitiveScreening(), 2),
        "central composite, 8 factors": told(factors(8), CentralComposite(), 2),
        "full factorial, 10 000 rows": told(factors(4, tuple(range(10))), FullFactorial(), 2),
        "Latin hypercube, 8 factors, 100 rows": told(factors(8), LatinHypercube(size=100), 2),
        "Latin hypercube, 10 factors, 1000 rows": told(factors(10), LatinHypercube(size=1000), 2),
        "D-optimal, interactions of 6, 32 rows": told(factors(6), DOptimal(size=32), 2),
        "D-optimal, quadratic of 8, 60 rows": told(factors(8, (1, 2, 3)), DOptimal(size=60, model=Model.QUADRATIC), 2),
    }
    print(f"Designs with runs, digest, aliases and power, best of {REPEATS}, seconds of one core:")
    with threadpool_limits(1):
        for name, make in cases.items():
            print(f"  {name:42s} {len(make().rows):6d} rows  {_best(make):7.3f} s")


def _best(call: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    run()
