"""One observation in the ledger, with what it is known by.

The UID of its TrainingJob makes an entry unique: whoever records the same run again, after a crash or as a second
operator, records the same entry. An entry is written as one line of JSON. Whether it is excluded is not part of that
line: it can change, and the line never does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from coxswain.core.api.status import Issued, Moment
from coxswain.core.errors import InputError
from coxswain.core.factors import Level
from coxswain.core.families import Family
from coxswain.core.observations import Observation

Key = tuple[str, str]
"""Namespace and UID of an entry: UIDs in different namespaces have nothing to do with each other."""

# What can be part of an object's name, as a UID of Kubernetes can.
_UID = re.compile(r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")


@dataclass(frozen=True, kw_only=True)
class Promised:
    """What was forecast of a run, and when it came to its end and was to."""

    first: Issued | None = None
    """The first forecast with the settings that it ran with."""
    at_start: Issued | None = None
    ended: Moment
    deadline: Moment | None = None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An observation, the run it is of, and what models of its family are fitted on."""

    uid: str
    """Of the TrainingJob; of an observation that was imported, a hash of what it says."""
    family: Family
    experiment_uid: str | None = None
    fields: Mapping[str, Level] = field(default_factory=dict)
    """What the job ran with, as `families.fields_of` names it."""
    observation: Observation
    promised: Promised | None = None
    """None for a run of which nothing was forecast, or that was recorded before forecasts were kept."""
    excluded: str | None = None
    """Why nothing is to be learnt from it; None for all that count."""

    def __post_init__(self) -> None:
        if not _UID.match(self.uid):
            raise InputError(f"the UID {self.uid[:70]!r} cannot name an object; use small letters, digits and hyphens.")

    @property
    def key(self) -> Key:
        """What makes the entry unique."""
        return self.family.namespace, self.uid

    @property
    def job(self) -> str:
        """The name of the job."""
        return self.observation.job

    @property
    def namespace(self) -> str:
        """Where the job ran, and where its entry is kept."""
        return self.family.namespace

    def to_json(self) -> str:
        """The entry as one line of JSON, without the exclusion."""
        return _ADAPTER.dump_json(self, exclude={"excluded"}).decode()

    def promised_json(self) -> str | None:
        """What was forecast by itself, as the line has it."""
        return None if self.promised is None else _PROMISED_ADAPTER.dump_json(self.promised, exclude_none=True).decode()

    @classmethod
    def from_json(cls, line: str | bytes) -> "Entry":
        """The entry that a line of JSON holds.

        Raises:
            InputError: if it does not hold one, every value of its type and every number finite.
        """
        try:
            return _ADAPTER.validate_python(from_json(line, allow_inf_nan=False))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or "the line"
            raise InputError(f"this is no entry of the ledger: {place}: {first['msg']}") from None
        except ValueError as error:
            raise InputError(f"this is no entry of the ledger: {error}") from None


_ADAPTER = TypeAdapter(Entry)
_PROMISED_ADAPTER = TypeAdapter(Promised)
