"""A table of measurements, checked once: which column is the response, which are factors, and what a unit is.

Analysis, models and backtests all start from the same checks, so that a missing column or a text among numbers is
told in the same words everywhere. Rows with the same settings are replicates of one row of the design; a `group`
column says otherwise (for example, that jobs which ran at the same time are one experimental unit). A `block` column
tells which rows were measured in one go: its differences are nobody's effect, but they are no chance either.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from coxswain.core.errors import InputError
from coxswain.core.factors import Coding, Factor


@dataclass(frozen=True, eq=False)
class Dataset:
    """Measurements with their factors and response, and their block if there are blocks; `frame` has those columns.

    `units` has the number of the experimental unit each measurement belongs to, counted from 0; `rows` its place in
    the table it came from, counted from 1. `grouped` says whether a group column defined the units. `dropped` counts
    the rows left out because they had no response.
    """

    frame: pd.DataFrame
    response: str
    factors: tuple[Factor, ...]
    units: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    grouped: bool = False
    dropped: int = 0
    block: Factor | None = None

    @property
    def y(self) -> npt.NDArray[np.float64]:
        """The response."""
        return self.frame[self.response].to_numpy(dtype=float)

    @property
    def settings(self) -> pd.DataFrame:
        """The factors' columns, after that of the blocks."""
        blocks = [self.block.name] if self.block else []
        return self.frame[[*blocks, *(factor.name for factor in self.factors)]]

    @property
    def left_out(self) -> tuple[str, ...]:
        """What to tell of rows left out: nothing, or a sentence."""
        if not self.dropped:
            return ()
        return (f"{self.dropped} row{'' if self.dropped == 1 else 's'} without a value of {self.response} left out.",)


def make_dataset(
    table: pd.DataFrame,
    response: str,
    factors: Sequence[str],
    *,
    group: str | None = None,
    block: str | None = None,
    codings: Mapping[str, Coding] | None = None,
    categories: Collection[str] = (),
    drop_missing: bool = False,
) -> Dataset:
    """Check a table and give each measurement its unit: the group column's value, else its combination of settings.

    Text is a category, and so are the numbers of the factors that `categories` lists, which then have no order.

    Raises:
        InputError: in one sentence that names the column to mend.
    """
    codings = codings or {}
    beside = {role: name for role, name in (("group", group), ("block", block)) if name}
    _check_names(table, response, factors, beside)
    _check_factors(codings, factors, "a coding is given for")
    _check_factors(categories, factors, "categories are said to be in")
    for name in (*categories, *([block] if block else [])):
        table = table.assign(**{name: table[name].map(_category, na_action="ignore")})
    rows = np.arange(1, len(table) + 1, dtype=np.int64)
    complete = table
    if drop_missing:
        measured = table[response].notna().to_numpy()
        complete, rows = table[measured], rows[measured]
    if complete.empty:
        raise InputError(f"no rows have a value in column {response}; add measurements.")
    for column in (response, *factors, *beside.values()):
        _refuse_missing(complete[column])

    made = tuple(_factor(complete[name], codings.get(name, Coding.LINEAR)) for name in factors)
    blocks = _factor(complete[block], Coding.LINEAR) if block else None
    columns = (*made, *([blocks] if blocks else []))
    frame = pd.DataFrame({f.name: complete[f.name].astype(float if f.is_numeric else str) for f in columns})
    frame[response] = _finite_numbers(complete[response])
    units = complete.groupby([group] if group else list(factors), sort=False).ngroup().to_numpy().astype(np.int64)
    return Dataset(
        frame.reset_index(drop=True),
        response,
        made,
        units=units,
        rows=rows,
        grouped=group is not None,
        dropped=len(table) - len(complete),
        block=blocks,
    )


def _check_names(table: pd.DataFrame, response: str, factors: Sequence[str], beside: Mapping[str, str]) -> None:
    if not factors:
        raise InputError("no factor is named; name at least one column that explains the response.")
    for name in (response, *factors, *beside.values()):
        if name not in table.columns:
            raise InputError(f"there is no column {name}; the columns are {', '.join(map(str, table.columns))}.")
    if response in factors:
        raise InputError(f"column {response} is both the response and a factor; name it once.")
    repeated = sorted({name for name in factors if list(factors).count(name) > 1})
    if repeated:
        raise InputError(f"factor {repeated[0]} is named twice; name it once.")
    for role, name in beside.items():
        if name == response:
            raise InputError(f"column {name} is both the response and the {role}; name it once.")
    if beside.get("block") in factors:
        raise InputError(f"column {beside['block']} is both the block and a factor; name it once.")


def _check_factors(names: Iterable[str], factors: Sequence[str], what: str) -> None:
    for name in names:
        if name not in factors:
            raise InputError(f"{what} {name}, which is not a factor; the factors are {', '.join(factors)}.")


def _category(value: object) -> str:
    """A number as the name of a category: 2, not 2.0, which it is only because another row has no number there."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _refuse_missing(column: pd.Series) -> None:
    missing = int(column.isna().sum())
    if missing:
        values, rows = ("values", "those rows") if missing > 1 else ("value", "that row")
        raise InputError(f"column {column.name} has {missing} missing {values}; fill in or drop {rows}.")


def _finite_numbers(column: pd.Series) -> npt.NDArray[np.float64]:
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    bad = ~np.isfinite(numbers)
    if bad.any():
        example = column.to_numpy()[bad][0]
        raise InputError(f"column {column.name} must be numbers, but has {example}; correct or leave out that row.")
    return numbers


def _factor(column: pd.Series, coding: Coding) -> Factor:
    name = str(column.name)
    if column.nunique() < 2:
        raise InputError(f"factor {name} has only one value ({column.iloc[0]}); leave it out or vary it.")
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return Factor(name, levels=tuple(sorted(set(_finite_numbers(column).tolist()))), coding=coding)
    return Factor(name, categories=tuple(sorted(map(str, column.unique()))), coding=coding)
