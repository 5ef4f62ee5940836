"""What a model is fitted to: one value for each experimental unit, and what is known of the error beside it.

Usually that is the table row by row. Two things may change it:

- Rows that ran together are one experimental unit. If they share their settings, their mean is analysed: the jobs of
  one unit saw the same cluster at the same time, so they are no independent replicates. If settings differ within
  units, the rows stay and the analysis has two errors, as in a split plot: one between units, one within.
- Only the means of the replicates may be known, with the pure error published beside them. A mean of n replicates
  weighs n times as much as one measurement.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from coxswain.core.analysis.matrix import Array
from coxswain.core.dataset import Dataset
from coxswain.core.errors import InputError


@dataclass(frozen=True)
class Means:
    """How rows that are means were got: from how many replicates each, which varied by how much among themselves.

    `pure_error` is the sum of squares of all replicates around their row's mean.
    """

    replicates: int
    pure_error: float

    def __post_init__(self) -> None:
        if self.replicates < 2 or not self.pure_error > 0:
            raise InputError("means are of 2 replicates or more, with a pure error above 0; correct one of them.")


@dataclass(frozen=True)
class PureError:
    """What is known of the variation within values that are means: a sum of squares and its degrees of freedom."""

    sum_sq: float = 0.0
    df: int = 0


@dataclass(frozen=True, eq=False)
class Sample:
    """The values to fit, each with its settings and its unit; `labels` name them in sentences.

    `weight` is the number of replicates whose mean each value is.
    """

    settings: pd.DataFrame
    y: Array
    units: npt.NDArray[np.int64]
    labels: tuple[str, ...]
    noun: str = "rows"
    weight: float = 1.0
    pure_error: PureError = PureError()
    split_plot: bool = False
    block: str | None = None
    """The column of the settings that has the block: runs of one cell in different blocks are still its replicates."""

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """The number of the combination of factors' settings each value belongs to."""
        factors = [name for name in self.settings.columns if name != self.block]
        return self.settings.groupby(factors, sort=False).ngroup().to_numpy().astype(np.int64)

    @property
    def is_of_means(self) -> bool:
        """Whether the values are means of replicates that are not themselves known."""
        return self.pure_error.df > 0

    @property
    def total_sum_sq(self) -> float:
        """The corrected total: all variation around the mean, that within replicates included."""
        return self.weight * float(np.sum((self.y - self.y.mean()) ** 2)) + self.pure_error.sum_sq


def rows_as_sample(data: Dataset) -> Sample:
    """Every row is a value; with a group column whose rows share their settings, every group is."""
    labels = tuple(f"row {row}" for row in data.rows)
    block = data.block.name if data.block else None
    sample = Sample(data.settings, data.y, data.units, labels, block=block)
    if not data.grouped:
        return sample
    by_unit = data.settings.groupby(data.units)
    if (by_unit.transform("first") != data.settings).to_numpy().any():
        return replace(sample, split_plot=True)
    means = np.bincount(data.units, data.y) / np.bincount(data.units)
    first = pd.Series(data.rows).groupby(data.units).first()
    return Sample(
        by_unit.first().reset_index(drop=True),
        means,
        np.arange(len(means), dtype=np.int64),
        tuple(f"the unit of row {row}" for row in first),
        noun="units",
        block=block,
    )


def means_as_sample(data: Dataset, means: Means) -> Sample:
    """Every row is the mean of some replicates."""
    sample = rows_as_sample(data)
    pure_error = PureError(means.pure_error, len(sample.y) * (means.replicates - 1))
    return replace(sample, weight=float(means.replicates), pure_error=pure_error)
