"""What the fields of both resources are made of: names, durations, quantities, and the base of all models.

A duration is held in seconds, cores as a number, memory in bytes; each renders back into the text that Kubernetes
people write (`15m`, `500m`, `1Gi`).
"""

import re
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, StringConstraints
from pydantic.alias_generators import to_camel

GIB = 2**30

_SUFFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SUFFIXES |= {"Ki": 2**10, "Mi": 2**20, "Gi": GIB, "Ti": 2**40}
_DURATION = re.compile(r"^(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,6})s)?$")
_CORES = re.compile(r"^([0-9]{1,7}(?:[.][0-9]{1,3})?)(m?)$")
_MEMORY = re.compile(r"^([0-9]{1,15}(?:[.][0-9]{1,3})?)(k|Ki|M|Mi|G|Gi|T|Ti)?$")
_TIME = re.compile(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})$")


class Model(BaseModel):
    """A frozen value whose fields are spelled in camel case in manifests; unknown fields are refused."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True, extra="forbid", strict=True)


def _duration(value: Any) -> Any:
    match = _DURATION.match(value) if isinstance(value, str) else None
    if not match or not value:
        raise ValueError("give a time such as 15m or 1h30m")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    if hours == minutes == seconds == 0:
        raise ValueError("give a time longer than nothing, for example 15m")
    return hours * 3600 + minutes * 60 + seconds


def _render_duration(seconds: int) -> str:
    parts = ((seconds // 3600, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count)


def _cores(value: Any) -> Any:
    message = "give cores as a quantity from 10m to 1024, for example 2 or 500m"
    if isinstance(value, str):
        match = _CORES.match(value)
        if not match:
            raise ValueError(message)
        number = Decimal(match[1]) / (1000 if match[2] else 1)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = Decimal(value)
    else:
        raise ValueError(message)  # noqa: TRY004 - pydantic takes ValueError alone for bad input
    if not Decimal("0.01") <= number <= 1024:
        raise ValueError(message)
    return float(number)


def render_cores(cores: float) -> int | str:
    """Cores as Kubernetes people write them: 2, or 500m."""
    return int(cores) if cores == int(cores) else f"{round(cores * 1000)}m"


def _memory(value: Any) -> Any:
    message = "give memory as a quantity from 16Mi to 64Ti, for example 512Mi or 4Gi"
    if isinstance(value, str):
        match = _MEMORY.match(value)
        if not match:
            raise ValueError(message)
        number = Decimal(match[1]) * _SUFFIXES[match[2] or ""]
    elif isinstance(value, int) and not isinstance(value, bool):
        number = Decimal(value)
    else:
        raise ValueError(message)  # noqa: TRY004 - pydantic takes ValueError alone for bad input
    if not 16 * 2**20 <= number <= 64 * 2**40:
        raise ValueError(message)
    return int(number)


def render_memory(size: int) -> int | str:
    """Bytes as Kubernetes people write them, in the largest unit that divides them."""
    for suffix in ("Ti", "Gi", "Mi", "Ki"):
        if size % _SUFFIXES[suffix] == 0:
            return f"{size // _SUFFIXES[suffix]}{suffix}"
    return size


def _time(value: Any) -> Any:
    if isinstance(value, str):
        if not _TIME.match(value):
            raise ValueError("give a time such as 2030-01-31T18:00:00Z")
        return datetime.fromisoformat(value)
    return value


def _inside(path: str) -> str:
    if ".." in path.split("/"):
        raise ValueError('a path stays inside its claim and may not contain ".."')
    return path


Seconds = Annotated[int, BeforeValidator(_duration), PlainSerializer(_render_duration)]
Cores = Annotated[float, BeforeValidator(_cores), PlainSerializer(render_cores)]
Memory = Annotated[int, BeforeValidator(_memory), PlainSerializer(render_memory)]
Time = Annotated[
    datetime, BeforeValidator(_time), PlainSerializer(lambda time: time.isoformat().replace("+00:00", "Z"))
]
Seed = Annotated[int, Field(ge=0, le=2**53 - 1)]
Ttl = Annotated[int, Field(ge=0, le=31536000)]
Label = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=63)]
ObjectName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", max_length=253)]
FolderPath = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$", max_length=1024),
    AfterValidator(_inside),
]


def distinct(values: tuple[Any, ...], message: str) -> None:
    """Raise when a value is repeated."""
    if len(set(values)) < len(values):
        raise ValueError(message)
