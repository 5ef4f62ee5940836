"""Random numbers that stay the same: for a seed and a purpose, on every machine and with every version of numpy.

numpy may change how its generators turn raw bits into numbers, but keeps the raw bits of a bit generator. A design is
computed again long after it was started, so the few kinds of draw that designs need are made from the raw bits here.
"""

import numpy as np
from numpy.typing import NDArray


class Stream:
    """Draws for one purpose; streams of different purposes are independent of each other."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence([seed, *purpose.encode()]))

    def uniform(self, size: int) -> NDArray[np.float64]:
        """Numbers from [0, 1)."""
        return (self._bits.random_raw(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def permutation(self, size: int) -> NDArray[np.int64]:
        """The numbers from 0 to size - 1 in random order."""
        return np.argsort(self.uniform(size), kind="stable")
