"""What commands that read measurements share: the CSV file, lists of names, and the options that say what is what.

`cox analyze`, `cox fit` and `cox predict` all start from a CSV file with a header and one row a measurement. What is
wrong with the file as a file is told here; what is wrong with its columns is told by `core.dataset`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coxswain.cli.output import Format
from coxswain.core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

# Only these stand for a missing value. "None" or "null" may well be the name of a category.
MISSING = ("", "NA", "NaN", "nan")

DataFile = Annotated[Path, typer.Argument(metavar="DATA.csv", help="Measurements: a header, then one row each.")]
Response = Annotated[
    str, typer.Option("--response", "-r", metavar="Y", help="The column to explain, or an expression: 'log(time)'.")
]
Factors = Annotated[str, typer.Option("--factors", "-f", metavar="A,B,…", help="The columns that explain it.")]
Group = Annotated[
    str | None,
    typer.Option("--group", "-g", metavar="G", help="A column that tells which rows ran together, as one unit."),
]
LogCoded = Annotated[
    str | None, typer.Option("--log", metavar="A,B,…", help="Factors placed by their logarithm rather than linearly.")
]
Categories = Annotated[
    str | None,
    typer.Option("--categories", metavar="A,B,…", help="Factors whose numbers are names without order: node types."),
]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows without a response, such as failed runs.")
]
Output = Annotated[Format, typer.Option("--output", "-o", help="A table for people, JSON or CSV for programs.")]


def read_table(path: Path) -> "pd.DataFrame":
    """Read a CSV file with a header.

    Raises:
        InputError: in one sentence that names the file and what is wrong with it.
    """
    import pandas as pd

    try:
        # The header is read as a row like any other, so that a row longer than it is refused and not shifted.
        cells = pd.read_csv(
            path, header=None, dtype=str, na_values=MISSING, keep_default_na=False, skipinitialspace=True
        )
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check the path.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a CSV file.") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty; give a CSV file with a header.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8; save it as CSV in UTF-8.") from None
    except pd.errors.ParserError as error:
        raise InputError(f"{path} is not a CSV file ({' '.join(str(error).split())}); correct it.") from None
    header = _header(path, cells.iloc[0])
    if len(cells) == 1:
        raise InputError(f"{path} has a header but no rows; add measurements.")
    body = cells.iloc[1:].reset_index(drop=True).set_axis(header, axis="columns")
    return body.apply(_numbers_or_text)


def _header(path: Path, first_row: "pd.Series[str]") -> list[str]:
    if first_row.isna().any():
        raise InputError(f"{path} has a column without a name in its header; name it.")
    names = [str(name).strip() for name in first_row]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"{path} has two columns named {repeated[0]}; rename one.")
    return names


def _numbers_or_text(column: "pd.Series[str]") -> "pd.Series[Any]":
    import pandas as pd

    try:
        return pd.to_numeric(column)
    except ValueError:
        return column.str.strip()


def with_response(table: "pd.DataFrame", response: str) -> "pd.DataFrame":
    """The table with a column for the response where that is an expression over columns, such as `log(duration)`."""
    from coxswain.core.expressions import parse_expression

    if response in table.columns or response.isidentifier():
        return table
    expression = parse_expression(response, map(str, table.columns))
    return table.assign(**{response: expression(table)})


def split_names(text: str | None) -> list[str]:
    """The names in `a,b,c`, in that order; none of them empty."""
    if text is None:
        return []
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f"'{text}' has an empty name; separate names by single commas.")
    return names
