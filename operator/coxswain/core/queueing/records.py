"""Records of jobs that queued: when each arrived, started and ended, read from a table and checked.

Times are numbers in any one unit, or ISO 8601 times, which become seconds since the first arrival (without a time zone
they count as UTC). Rows are counted from 1, the header not included.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coxswain.core.errors import InputError

Array = NDArray[np.float64]

COLUMNS = ("arrival", "start", "end")


@dataclass(frozen=True)
class JobRecords:
    """Jobs in the order of their arrival."""

    arrival: Array
    start: Array
    end: Array
    resolution: float = 0.0
    """How exactly the times are known: by so much the end of one job may seem later than the start of the next."""

    @cached_property
    def gaps(self) -> Array:
        """The times between arrivals; one fewer than jobs."""
        return np.diff(self.arrival)

    @cached_property
    def waits(self) -> Array:
        """The times from arrival to start."""
        return self.start - self.arrival

    @cached_property
    def services(self) -> Array:
        """The times from start to end."""
        return self.end - self.start

    @cached_property
    def responses(self) -> Array:
        """The times from arrival to end."""
        return self.end - self.arrival

    @cached_property
    def most_at_once(self) -> int:
        """How many jobs ran at the same time, at most; one that ends as another starts makes room for it."""
        rounding = max(1e-9 * (self.end.max() - self.arrival[0]), self.resolution)
        starts = np.sort(self.start)
        ended = np.searchsorted(np.sort(self.end), starts + rounding, side="right")
        return max(1, int((np.arange(1, len(starts) + 1) - ended).max()))

    @cached_property
    def found_on_arrival(self) -> np.ndarray:
        """How many jobs each one found waiting or running when it came."""
        gone = np.searchsorted(np.sort(self.end), self.arrival, side="right")
        return np.arange(len(self.arrival)) - gone


def job_records(table: pd.DataFrame) -> JobRecords:
    """Read the columns arrival, start and end, one row a finished job.

    Raises:
        InputError: in one sentence that names the column and the row to mend.
    """
    for name in COLUMNS:
        if name not in table.columns:
            raise InputError(f"there is no column {name}; the columns are {', '.join(map(str, table.columns))}.")
    arrival, start, end = _times(table)
    _require_order("start", start, "arrival", arrival)
    _require_order("end", end, "start", start)
    order = np.argsort(arrival, kind="stable")
    return JobRecords(arrival[order], start[order], end[order])


def _times(table: pd.DataFrame) -> list[np.ndarray]:
    """The three columns as numbers; ISO times as seconds since the first of all."""
    columns = [_numbers_or_moments(table[name]) for name in COLUMNS]
    kinds = {
        name: "times" if column.dtype.kind == "M" else "numbers" for name, column in zip(COLUMNS, columns, strict=True)
    }
    if len(set(kinds.values())) > 1:
        told = ", ".join(f"{name} has {kind}" for name, kind in kinds.items())
        raise InputError(f"the columns must be all numbers or all times, but {told}; use one kind.")
    if kinds["arrival"] == "numbers":
        return columns
    first = min(column.min() for column in columns)
    return [(column - first) / np.timedelta64(1, "s") for column in columns]


def _numbers_or_moments(column: pd.Series) -> np.ndarray:
    _require_all(column, column.notna().to_numpy(), "is missing")
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    if not np.isnan(numbers).all():
        _require_all(column, np.isfinite(numbers), "is not a finite number")
        return numbers
    moments = pd.to_datetime(column.astype(str), format="ISO8601", utc=True, errors="coerce")
    _require_all(column, moments.notna().to_numpy(), "is neither a number nor an ISO 8601 time")
    return moments.dt.tz_localize(None).to_numpy()


def _require_all(column: pd.Series, good: np.ndarray, trouble: str) -> None:
    if not good.all():
        row = int(np.argmin(good))
        told = "" if pd.isna(column.iloc[row]) else f" ({column.iloc[row]})"
        raise InputError(
            f"column {column.name}, row {row + 1}: the value{told} {trouble}; correct or leave out that row."
        )


def _require_order(later_name: str, later: np.ndarray, earlier_name: str, earlier: np.ndarray) -> None:
    if (later < earlier).any():
        row = int(np.argmax(later < earlier))
        raise InputError(
            f"column {later_name}, row {row + 1}: the job's {later_name} is before its {earlier_name}; "
            "correct or leave out that row."
        )
