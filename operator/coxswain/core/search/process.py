"""A Gaussian process for a handful of rows, which knows how little they tell.

The models that forecast jobs settle for the most plausible parameters, which with dozens of rows is right. The first
rows of a search leave open how fast the response changes and how much of it is noise; the one most plausible answer
would be far too sure, and the search over before it began. So many answers are drawn from what is plausible beforehand
(Matérn's kernel with ν = 5/2, a length a factor, as in CherryPick), and those that the rows make the most likely are
averaged, each by its likelihood.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from coxswain.core.designs.streams import Stream
from coxswain.core.factors import Factor
from coxswain.core.models.encoding import Encoding
from coxswain.core.models.types import Floats

DRAWS, MEMBERS = 512, 32
"""How many models are drawn, and how many of them are kept."""

# Before any row, for a response of variance 1 and factors from -1 to +1: logarithms of the variance of what depends on
# settings, of a length, and of the noise of a run, each with its standard deviation.
_SIZE, _LENGTH, _NOISE = (0.5, 1.0), (0.0, 0.8), (-4.5, 2.0)
# Of the mean over all settings, in the same unit: wide enough not to matter.
_INTERCEPT = 10.0
_JITTER = 1e-9
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Rows:
    """Settings as columns of numbers, and the values of the runs at each."""

    encoding: Encoding
    columns: Floats
    values: Sequence[Sequence[float]]

    @cached_property
    def count(self) -> Floats:
        """How many runs each row has."""
        return np.array([len(row) for row in self.values], dtype=float)

    @cached_property
    def mean(self) -> Floats:
        """The mean of each row."""
        return np.array([np.mean(row) for row in self.values])

    @cached_property
    def within(self) -> float:
        """The variance between runs of a row, pooled; 0 where no row was run twice."""
        spare = float(np.sum(self.count - 1))
        return sum(float(np.sum((np.array(row) - np.mean(row)) ** 2)) for row in self.values) / spare if spare else 0.0


@dataclass(frozen=True, eq=False)
class Process:
    """The models that are left, one an entry of each array: their parameters, what they make of the rows, weights."""

    rows: Rows
    centre: float
    unit: float
    size: Floats
    lengths: Floats
    noise: Floats
    factors: Floats
    """Cholesky's factor of the rows' covariance."""
    solved: Floats
    """That covariance's inverse times the rows' means."""
    weights: Floats

    def average(self, settings: Floats, value: Callable[[Floats, Floats, Floats], Floats]) -> Floats:
        """The average of a value that follows from mean, variance and a run's noise variance at settings."""
        cross = _covariance(self.rows.encoding.columns(settings), self.rows.columns, self.size, self.lengths)
        mean = self.centre + self.unit * np.einsum("mij,mj->mi", cross, self.solved)
        half = np.linalg.solve(self.factors, cross.transpose(0, 2, 1))
        known = self.size[:, None] + _INTERCEPT - np.sum(half**2, axis=1)
        variance = np.maximum(known, _LEAST_VARIANCE) * self.unit**2
        noise = self.noise[:, None] * self.unit**2 + self.rows.within
        return np.asarray(self.weights @ value(mean, variance, noise), dtype=float)


def fit_process(factors: tuple[Factor, ...], settings: Floats, values: Sequence[Sequence[float]]) -> Process:
    """The models that the values of each setting's runs make plausible."""
    encoding = Encoding(factors, log=True)
    rows = Rows(encoding, encoding.columns(settings), values)
    centre, unit = float(np.mean(rows.mean)), float(np.std(rows.mean)) or 1.0
    standard = (rows.mean - centre) / unit
    size, noise, lengths = _draws(encoding)
    of_rows = (noise[:, None] + rows.within / unit**2) / rows.count + _JITTER
    covariance = _covariance(rows.columns, rows.columns, size, lengths) + of_rows[:, :, None] * np.eye(len(standard))
    factor: Floats = np.linalg.cholesky(covariance).astype(np.float64)
    solved: Floats = np.linalg.solve(covariance, standard[:, None])[:, :, 0].astype(np.float64)
    likelihood = -0.5 * solved @ standard - np.sum(np.log(np.diagonal(factor, axis1=1, axis2=2)), axis=1)
    kept = np.argsort(-likelihood, kind="stable")[:MEMBERS]
    weights = np.exp(likelihood[kept] - likelihood[kept[0]])
    return Process(
        rows,
        centre,
        unit,
        size=size[kept],
        lengths=lengths[kept],
        noise=noise[kept],
        factors=factor[kept],
        solved=solved[kept],
        weights=weights / weights.sum(),
    )


def _covariance(left: Floats, right: Floats, size: Floats, lengths: Floats) -> Floats:
    """The covariance between settings, one matrix a model; `lengths` has one for each column."""
    apart = (left[:, None, :] - right[None, :, :]) ** 2
    far = np.sqrt(5 * np.einsum("ijc,mc->mij", apart, lengths**-2))
    return np.asarray(_INTERCEPT + size[:, None, None] * (1 + far + far**2 / 3) * np.exp(-far), dtype=float)


def _draws(encoding: Encoding) -> tuple[Floats, Floats, Floats]:
    """Size, noise, and a length for each column, that of its factor; always the same ones."""
    mean, spread = np.array([_SIZE, _NOISE, *[_LENGTH] * len(encoding.factors)]).T
    uniform = Stream(0, "parameters").uniform(DRAWS * len(mean)).reshape(DRAWS, len(mean))
    drawn = np.exp(mean + spread * ndtri(np.clip(uniform, 1e-9, 1 - 1e-9)))
    return drawn[:, 0], drawn[:, 1], drawn[:, 2 + encoding.owner]
