"""How results leave `cox`: a table for people, JSON or CSV for programs.

A result is a list of `Table`s, which people see one below the other, and one JSON document with stable names. CSV has
room for one table only, so a command says which of its tables that is: the first.
"""

import csv
import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable


class Format(StrEnum):
    """What -o takes."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


@dataclass(frozen=True)
class Table:
    """Named columns and rows of plain values, with sentences below that a reader should not miss.

    `shown` tells how the values of a column are written for people, where that differs from what programs get.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = field(default=())
    shown: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)


def emit(output: Format, tables: Sequence[Table], document: Mapping[str, Any]) -> None:
    """Print a result in the asked-for form to standard output."""
    if output is Format.JSON:
        print(json.dumps(_jsonable(document), indent=2, ensure_ascii=False, allow_nan=False))
    elif output is Format.CSV:
        writer = csv.writer(sys.stdout)
        writer.writerow(tables[0].columns)
        writer.writerows(tables[0].rows)
    else:
        # A console of its own, made now: it measures the terminal as it is, and tests may capture it.
        console = Console()
        for place, table in enumerate(tables):
            if place:
                console.print()
            _print_table(console, table)


def _print_table(console: Console, table: Table) -> None:
    columns = [_column(table, index) for index in range(len(table.columns))]
    padding, widths = _layout(columns, console.width)
    rich_table = RichTable(title=table.title, title_justify="left", title_style="bold", padding=(0, padding))
    for column, width in zip(columns, widths, strict=True):
        justify: Literal["left", "right"] = "right" if column.numeric else "left"
        rich_table.add_column(column.title_within(width), justify=justify, overflow="fold", width=width)
    for row in zip(*(column.cells for column in columns), strict=True):
        rich_table.add_row(*row)
    console.print(rich_table)
    for note in table.notes:
        console.print(note, markup=False, highlight=False)


@dataclass(frozen=True)
class _Column:
    """A column as it is printed."""

    title: str
    numeric: bool
    cells: Sequence[str]

    @property
    def longest_word(self) -> int:
        words = [word for text in self.cells for word in text.split()]
        return max(len(word) for word in (*words, *_words(self.title)))

    @property
    def longest_line(self) -> int:
        return max((len(line) for text in (self.title, *self.cells) for line in text.splitlines()), default=1)

    def title_within(self, width: int | None) -> str:
        """The title with a new line wherever the next of its words has no room."""
        if width is None:
            return self.title
        lines = [""]
        for word in _words(self.title):
            if lines[-1] and len(lines[-1] + word) > width:
                lines.append("")
            lines[-1] += word
        return "\n".join(lines)


def _words(title: str) -> list[str]:
    """What a title may be broken into: it is the name that programs know, underscores and all."""
    return re.split(r"(?<=[_ ])", title)


def _layout(columns: Sequence[_Column], terminal: int) -> tuple[int, Sequence[int | None]]:
    """How many blanks stand beside each cell, and how wide it is, so that lines are broken between words only.

    Blanks are the first to go where there is little room. Where even that is not enough, rich breaks words.
    """
    words = [column.longest_word for column in columns]
    missing = [column.longest_line - word for column, word in zip(columns, words, strict=True)]
    for padding in (1, 0):
        spare = terminal - (1 + 2 * padding) * len(columns) - 1 - sum(words)
        if spare >= sum(missing):
            return padding, [None] * len(columns)
        if spare >= 0:
            return padding, [word + spare * more // sum(missing) for word, more in zip(words, missing, strict=True)]
    return 1, [None] * len(columns)


def _column(table: Table, index: int) -> _Column:
    name = table.columns[index]
    values = [row[index] for row in table.rows]
    numeric = bool(values) and all(isinstance(value, (int, float)) or value is None for value in values)
    return _Column(name, numeric, [_cell(value, table.shown.get(name)) for value in values])


def _cell(value: Any, write: Callable[[Any], str] | None) -> str:
    match value:
        case None:
            return ""
        case _ if write:
            return escape(write(value))
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}" if abs(value) < 9999.5 else f"{value:.0f}"
        case _:
            return escape(str(value))  # a name may have brackets, which rich would take for a style


def _jsonable(value: Any) -> Any:
    """Plain JSON values; what is not a number (an F without error degrees of freedom) becomes null."""
    match value:
        case Mapping():
            return {str(key): _jsonable(item) for key, item in value.items()}
        case str() | bool() | int() | None:
            return value
        case float():
            return value if math.isfinite(value) else None
        case Sequence():
            return [_jsonable(item) for item in value]
        case _ if hasattr(value, "item"):  # a number of numpy's
            return _jsonable(value.item())
        case _:
            return str(value)
