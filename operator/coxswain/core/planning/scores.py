"""Common random numbers: what a job draws depends on the seed and on names alone.

Two plans of the same seed so see the same luck for the same job, whoever else has come or gone meanwhile and whichever
candidate is looked at: what differs between them is what is being decided. Numbers come from a hash (splitmix64 of
name, replicate and seed) rather than from a stream, so that thousands of jobs are drawn in one go.
"""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from coxswain.core.models.types import Floats

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def own_scores(names: Sequence[str], replicates: int, seed: int) -> Floats:
    """Independent standard normal numbers: one row a name."""
    return np.asarray(ndtri(_uniforms(names, replicates, seed)), dtype=float)


def family_scores(names: Sequence[str], replicates: int, seed: int) -> Floats:
    """The same, each row spread evenly over the normal distribution, so that few replicates suffice."""
    order = np.argsort(np.argsort(_uniforms([f"family {name}" for name in names], replicates, seed), axis=1), axis=1)
    return np.asarray(ndtri((order + 0.5) / replicates), dtype=float)


def _uniforms(names: Sequence[str], replicates: int, seed: int) -> Floats:
    keys = np.array([crc32(name.encode()) for name in names], dtype=np.uint64)[:, None]
    keys = _mixed(keys + _mixed(np.array([[seed]], dtype=np.uint64)))
    bits = _mixed(keys + np.arange(1, replicates + 1, dtype=np.uint64) * _GOLDEN)
    return np.asarray(((bits >> np.uint64(11)).astype(float) + 0.5) / 2.0**53, dtype=float)


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))
