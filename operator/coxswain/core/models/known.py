"""Settings that were run before: what their own runs say, and how sure that makes a prediction.

The mean of a row's own runs is shrunk towards what the model predicts for the row without having seen it, by the ratio
of the variance between rows to that between runs. Errors are measured by leaving out one run of a row at a time. They
are smaller than errors at settings never run, and calibrated apart from them.
"""

from dataclasses import dataclass

import numpy as np

from coxswain.core.models.calibration import Calibration, calibrate
from coxswain.core.models.observations import Rows
from coxswain.core.models.types import Bools, Floats, Ints

# With fewer rows that were run twice, nothing can be said about running one again.
FEWEST_REPLICATED = 5


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows that were run, in the order of `settings`, with the location and spread of another run of them."""

    settings: Floats
    location: Floats
    spread: Floats
    shared: Floats
    """The share in the variance of not knowing the row's own mean, which all its runs have in common."""
    calibration: Calibration

    def find(self, settings: Floats) -> Ints:
        """The number of the row with the same settings; -1 for a setting never run."""
        places = {row.tobytes(): index for index, row in enumerate(_rounded(self.settings))}
        return np.array([places.get(row.tobytes(), -1) for row in _rounded(settings)], dtype=np.int64)


def _rounded(settings: Floats) -> Floats:
    """Settings to nine significant digits: 0.1 + 0.2 is the setting 0.3."""
    size = np.where(settings == 0, 1.0, np.abs(settings))
    unit = 10.0 ** (np.floor(np.log10(size)) - 8)
    return np.ascontiguousarray(np.round(settings / unit) * unit)


def learn_known(rows: Rows, left_out: Floats, spread: Floats, censored: Bools) -> KnownRows | None:
    """What another run of each row would give; None where too few rows were run twice, or units are not rows.

    `left_out` is the prediction of each row by a model that did not see it, `spread` the standard deviation of a
    single run around it.
    """
    replicated = rows.count >= 2
    if np.sum(replicated) < FEWEST_REPLICATED or len(np.unique(rows.units)) < len(rows):
        return None
    within = max(rows.within, rows.least_noise)
    between = np.maximum(spread**2 - within, 0.0)

    def shrunk(mean: Floats, count: Floats, which: Ints) -> tuple[Floats, Floats, Floats]:
        own = between[which] * count / (between[which] * count + within)
        location = left_out[which] + own * (mean - left_out[which])
        unknown = between[which] * (1 - own)
        return location, np.sqrt(within + unknown), unknown / (within + unknown)

    again = replicated[rows.row_of]
    which = rows.row_of[again]
    others = rows.count[which] - 1
    mean_of_others = (rows.mean[which] * rows.count[which] - rows.values[again]) / others
    location, expected, _ = shrunk(mean_of_others, others, which)
    scores = (rows.values[again] - location) / expected
    dof = float(np.sum(rows.count - 1))
    calibration = calibrate(scores, which, censored[again], dof)
    return KnownRows(rows.settings, *shrunk(rows.mean, rows.count, np.arange(len(rows))), calibration)
