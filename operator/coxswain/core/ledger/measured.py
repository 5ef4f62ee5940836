"""Measurements that someone else made: a table of settings and responses, as entries of the ledger.

Columns are fields of a job, by their names in a manifest (`batchSize` or `parameters.batchSize`) or by those of an
experiment's factors, and responses, of which the duration is needed. An empty cell is a field like the given job's.
An entry is known by what it says, so the same table can be read any number of times.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from coxswain.core.api import TrainingExperiment, TrainingJob, parse_job
from coxswain.core.api.experiment import MEASURED_RESPONSES
from coxswain.core.api.fields import CONCURRENCY, EXTRA, FIELDS, Kind, kind_of, with_value
from coxswain.core.api.job import JobSpec
from coxswain.core.api.parsing import API_VERSION
from coxswain.core.errors import InputError
from coxswain.core.factors import Level
from coxswain.core.families import family_of, fields_of
from coxswain.core.ledger.entry import Entry
from coxswain.core.observations import SUCCEEDED, Observation

_DURATION = "duration"
_MATTERS = {"engine", "workload", "parameters", "resources", "data"}
_WORDS = {Kind.CATEGORY, Kind.SWITCH, Kind.TEXT}
# Fields by the names that `families.fields_of` gives them.
_SHORT = {name.partition(".")[2] or name: name for name in FIELDS}
_SHORT_EXTRA = EXTRA.partition(".")[2]


@dataclass(frozen=True)
class Like:
    """What the runs of a table were like in all that its columns do not say."""

    spec: JobSpec
    node_type: str = ""
    factors: Mapping[str, str] = field(default_factory=dict)
    """Further names for columns: an experiment's factors, with the fields that they set."""

    @classmethod
    def of(cls, described: TrainingJob | TrainingExperiment, node_type: str) -> "Like":
        """Like a job, or like the runs of an experiment; an experiment may say itself on which type of node."""
        if isinstance(described, TrainingJob):
            return cls(described.spec, node_type)
        spec = described.spec
        own = spec.learn_from.node_type if spec.learn_from else None
        return cls(spec.template.spec, own or node_type, {factor.name: factor.field for factor in spec.factors})


class Measurements:
    """Reads the rows of one table."""

    def __init__(self, namespace: str, like: Like, now: str) -> None:
        self._namespace = namespace
        self._like = like
        self._now = now
        self._content = like.spec.model_dump(mode="json", by_alias=True, exclude_unset=True, include=_MATTERS)
        self._seen: Counter[str] = Counter()

    def read(self, header: Sequence[str], rows: Sequence[Mapping[str, str]]) -> list[Entry]:
        """The entries that the rows stand for.

        Raises:
            InputError: in one sentence that names the row or the column to mend.
        """
        if _DURATION not in header:
            raise InputError(f"the table has no column {_DURATION}; add it, in seconds.")
        fields = {column: self._field(column) for column in header if column not in MEASURED_RESPONSES}
        entries = []
        for number, row in enumerate(rows, start=1):
            try:
                entries.append(self._entry({column: cell.strip() for column, cell in row.items()}, fields))
            except InputError as error:
                raise InputError(f"row {number}: {error}") from None
        return entries

    def _field(self, column: str) -> str:
        """The field of a job that a column gives."""
        if column in self._like.factors:
            return self._like.factors[column]
        long = EXTRA + column.removeprefix(_SHORT_EXTRA) if column.startswith(_SHORT_EXTRA) else None
        found = long or _SHORT.get(column, column)
        if kind_of(found) is None:
            raise InputError(
                f"column {column} is neither a response ({', '.join(MEASURED_RESPONSES)}) nor a field of a job "
                f"({', '.join(sorted(_SHORT))}, {_SHORT_EXTRA}NAME); rename or remove it."
            )
        return found

    def _entry(self, row: Mapping[str, str], fields: Mapping[str, str]) -> Entry:
        levels = {name: _level(column, name, row[column]) for column, name in fields.items() if row[column]}
        responses = {name: _number(name, row[name]) for name in MEASURED_RESPONSES if row.get(name)}
        if responses.get(_DURATION, 0.0) <= 0:
            raise InputError(f"column {_DURATION} must be a number of seconds above 0.")
        spec = self._spec(levels)
        family, described = family_of(self._namespace, spec, self._like.node_type), fields_of(spec)
        load = float(levels[CONCURRENCY]) if CONCURRENCY in levels else None
        uid = self._uid([asdict(family), described, responses, load])
        observation = Observation(
            experiment="",
            run=uid,
            job=uid,
            row=0,
            replicate=0,
            block=0,
            digest="",
            settings={},
            responses=responses,
            state=SUCCEEDED,
            started=self._now,
            finished=self._now,
            epochs=spec.parameters.epochs,
            load=load,
        )
        return Entry(uid=uid, family=family, fields=described, observation=observation)

    def _spec(self, levels: Mapping[str, Level]) -> JobSpec:
        content = self._content
        for name, level in levels.items():
            content = with_value(content, name, level)
        header = {"apiVersion": API_VERSION, "kind": "TrainingJob", "metadata": {"name": "measured"}}
        return parse_job({**header, "spec": content}).spec

    def _uid(self, said: Sequence[Any]) -> str:
        """A line that is there twice is two runs that measured the same; a table that is read twice is not."""
        text = json.dumps(said, sort_keys=True)
        self._seen[text] += 1
        return "import-" + hashlib.sha256(f"{text}{self._seen[text]}".encode()).hexdigest()[:32]


def _level(column: str, name: str, text: str) -> Level:
    kind = kind_of(name)
    if kind is Kind.SWITCH and text not in {"true", "false"}:
        raise InputError(f"column {column} must be true or false, but is {text[:40]!r}.")
    return text if kind in _WORDS else _number(column, text)


def _number(column: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"column {column} must be a number, but is {text[:40]!r}.") from None
    if not math.isfinite(number):
        raise InputError(f"column {column} must be a finite number, but is {text}.")
    return number
