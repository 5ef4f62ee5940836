"""A table of measurements, checked once: which column is the response, which are factors, and what a unit is.

Analysis, models and backtests all start from the same checks, so that a missing column or a text among numbers is
told in the same words everywhere. Rows with the same settings are replicates of one row of the design; a `group`
column says otherwise (for example, that jobs which ran at the same time are one experimental unit).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coxswain.core.errors import InputError
from coxswain.core.factors import Coding, Factor


@dataclass(frozen=True)
class Dataset:
    """Measurements with their factors and response; `frame` has exactly those columns, and `unit`."""

    frame: pd.DataFrame
    response: str
    factors: tuple[Factor, ...]
    dropped: int = 0

    @property
    def y(self) -> np.ndarray:
        """The response."""
        return self.frame[self.response].to_numpy(dtype=float)

    @property
    def settings(self) -> pd.DataFrame:
        """The factors' columns."""
        return self.frame[[factor.name for factor in self.factors]]

    @property
    def units(self) -> np.ndarray:
        """The number of the experimental unit each measurement belongs to, counted from 0."""
        return self.frame["unit"].to_numpy()


def make_dataset(
    table: pd.DataFrame,
    response: str,
    factors: Sequence[str],
    *,
    group: str | None = None,
    codings: Mapping[str, Coding] | None = None,
    drop_missing: bool = False,
) -> Dataset:
    """Check a table and give each measurement its unit: the group column's value, else its combination of settings.

    Raises:
        InputError: in one sentence that names the column to mend.
    """
    _require_columns(table, [response, *factors, *([group] if group else [])])
    if response in factors:
        raise InputError(f"column {response} is both the response and a factor; name it once.")
    complete = table
    if drop_missing:
        complete = table.dropna(subset=[response])
    for column in (response, *factors):
        missing = int(complete[column].isna().sum())
        if missing:
            raise InputError(
                f"column {column} has {missing} missing value{'s' if missing > 1 else ''}; "
                "fill them in or leave those rows out."
            )
    if complete.empty:
        raise InputError(f"no rows have a value in column {response}; add measurements.")
    frame = complete[[*factors]].copy()
    frame[response] = _finite_numbers(complete[response])
    unit_keys = [group] if group else list(factors)
    frame["unit"] = complete.groupby(unit_keys, sort=False, dropna=False).ngroup().to_numpy()
    made = tuple(_factor(frame[name], (codings or {}).get(name, Coding.LINEAR)) for name in factors)
    for factor in made:
        frame[factor.name] = frame[factor.name].astype(float if factor.is_numeric else str)
    return Dataset(frame.reset_index(drop=True), response, made, dropped=len(table) - len(complete))


def _require_columns(table: pd.DataFrame, names: Sequence[str]) -> None:
    for name in names:
        if name not in table.columns:
            raise InputError(f"there is no column {name}; the columns are {', '.join(map(str, table.columns))}.")
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    if repeated:
        raise InputError(f"column {repeated[0]} is named twice; name it once.")


def _finite_numbers(column: pd.Series) -> np.ndarray:
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    bad = ~np.isfinite(numbers)
    if bad.any():
        example = column.to_numpy()[bad][0]
        raise InputError(f"column {column.name} must be numbers, but has {example!r}; correct or leave out that row.")
    return numbers


def _factor(column: pd.Series, coding: Coding) -> Factor:
    name = str(column.name)
    if column.nunique() < 2:
        raise InputError(f"factor {name} has only one value ({column.iloc[0]}); leave it out or vary it.")
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        numbers = _finite_numbers(column)
        return Factor(name, levels=tuple(sorted(set(numbers.tolist()))), coding=coding)
    return Factor(name, categories=tuple(sorted(map(str, column.unique()))), coding=coding)
