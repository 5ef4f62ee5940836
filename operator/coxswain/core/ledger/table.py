"""Entries as CSV: what the ledger exports, and what it takes in.

An exported row has a column for every setting, field and response, which `cox analyze` and people read, and beside
them, in columns that begin with a capital letter, what is needed to read it back as it was. A table that someone else
made has none of those; `measured` reads it.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from coxswain.core.errors import InputError
from coxswain.core.ledger.entry import Entry
from coxswain.core.ledger.measured import Like, Measurements
from coxswain.core.observations import Observation

_UID, _EXPERIMENT_UID, _EXCLUDED = "UID", "ExperimentUID", "Excluded"
_FAMILY, _SETTINGS, _FIELDS, _PROMISED = "Family", "Settings", "Fields", "Promised"


def to_csv(entries: Iterable[Entry]) -> str:
    """The entries as a table, with every column that any of them needs."""
    rows = [_to_row(entry) for entry in entries]
    columns = {name: None for row in rows for name in row}
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _to_row(entry: Entry) -> dict[str, Any]:
    return {
        _UID: entry.uid,
        **entry.fields,
        **entry.observation.to_row(),
        _EXCLUDED: entry.excluded,
        _EXPERIMENT_UID: entry.experiment_uid,
        _FAMILY: _packed(asdict(entry.family)),
        _SETTINGS: _packed(dict(entry.observation.settings)),
        _FIELDS: _packed(dict(entry.fields)),
        _PROMISED: entry.promised_json(),
    }


def _packed(document: Mapping[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def read_csv(text: str, namespace: str, like: Like | None, now: str) -> list[Entry]:
    """The entries that a table holds, as they would be in a namespace; `now` is when runs without a time finished.

    Raises:
        InputError: in one sentence that names the row or the column to mend.
    """
    header, rows = _cells(text)
    if {_UID, _FAMILY} <= set(header):
        return [_exported(row, number, namespace) for number, row in enumerate(rows, start=1)]
    if like is None:
        raise InputError("the table was not exported from a ledger; say by the manifest of a job what was run.")
    return Measurements(namespace, like, now).read(header, rows)


def _cells(text: str) -> tuple[list[str], list[dict[str, str]]]:
    table = csv.reader(io.StringIO(text))
    try:
        header = [name.strip() for name in next(table, [])]
        rows = [row for row in table if row]
    except csv.Error as error:
        raise InputError(f"the table is not CSV ({error}); correct it.") from None
    repeated = [name for name, count in Counter(header).items() if count > 1]
    if repeated:
        raise InputError(f"the table has two columns named {repeated[0]}; rename one.")
    if not rows:
        raise InputError("the table has no rows; give a header and one row a run.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise InputError(f"row {number} has {len(row)} cells, but the header has {len(header)}; correct it.")
    return header, [dict(zip(header, row, strict=True)) for row in rows]


def _exported(row: Mapping[str, str], number: int, namespace: str) -> Entry:
    try:
        observation = asdict(Observation.from_row(row, ()))
        document = {
            "uid": row[_UID],
            "family": json.loads(row[_FAMILY]) | {"namespace": namespace},
            "experiment_uid": row.get(_EXPERIMENT_UID) or None,
            "fields": json.loads(row[_FIELDS]),
            "promised": json.loads(row.get(_PROMISED) or "null"),
            "observation": observation | {"settings": json.loads(row[_SETTINGS])},
        }
        # By way of JSON, as what is read from the cluster is: every value is checked in one place.
        return replace(Entry.from_json(json.dumps(document)), excluded=row.get(_EXCLUDED) or None)
    except KeyError as error:
        raise InputError(f"row {number} lacks column {error.args[0]}; export the table again.") from None
    except (ValueError, TypeError) as error:
        raise InputError(f"row {number}: {error}") from None
