"""The operator's log: one line for each decision, with the object it is about; as JSON for machines, or as text.

A logger of this module carries an object, and takes what is worth knowing as plain keyword arguments:

    log = logs.about(manifest)
    log.info("Started an attempt.", attempt=1, cores=2)

kopf's own lines carry their objects too and are written by the same formatters. It writes one for every watch event
that a handler has seen; these are left out, except at level debug.
"""

import json
import logging
import sys
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any, TextIO

from coxswain.shell.settings import LogFormat, LogLevel

_KOPF_OBJECTS = "kopf.objects"
_OF_LOGGING = {"exc_info", "stack_info", "stacklevel", "extra"}
_OBJECT, _DETAILS = "k8s_ref", "details"
"""Where a record keeps its object (kopf's own name for it) and its details."""


def configure(form: LogFormat, level: LogLevel, stream: TextIO | None = None) -> None:
    """Write all logs of this process in one form to standard error."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_Json() if form is LogFormat.JSON else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    quiet = logging.NOTSET if level is LogLevel.DEBUG else max(logging.WARNING, root.level)
    for name in (_KOPF_OBJECTS, "asyncio", "aiohttp.access"):
        logging.getLogger(name).setLevel(quiet)


def about(manifest: Mapping[str, Any], name: str = "coxswain") -> "ObjectLog":
    """The log of one object; `name` is that of the logger."""
    metadata = manifest["metadata"]
    place = {"kind": manifest["kind"], "namespace": metadata.get("namespace"), "name": metadata["name"]}
    return ObjectLog(logging.getLogger(name), {key: value for key, value in place.items() if value})


class ObjectLog(logging.LoggerAdapter[logging.Logger]):
    """A logger whose lines name an object; keyword arguments of a call are its details."""

    def __init__(self, logger: logging.Logger, reference: Mapping[str, str]) -> None:
        super().__init__(logger)
        self._reference = reference

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Put the object and the details where the formatters look for them."""
        details = {name: value for name, value in kwargs.items() if name not in _OF_LOGGING}
        rest = {name: value for name, value in kwargs.items() if name in _OF_LOGGING}
        return msg, rest | {"extra": {_OBJECT: self._reference, _DETAILS: details}}


def _object(record: logging.LogRecord) -> dict[str, str]:
    reference = getattr(record, _OBJECT, None) or {}
    return {key: reference[key] for key in ("kind", "namespace", "name") if reference.get(key)}


def _details(record: logging.LogRecord) -> Mapping[str, Any]:
    found: Mapping[str, Any] = getattr(record, _DETAILS, {})
    return found


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if found := _object(record):
            line["object"] = found
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps({**_details(record), **line}, default=str, ensure_ascii=False)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        found = _object(record)
        kind = found.pop("kind", "")
        subject = f"{kind} {'/'.join(found.values())}: ".lstrip() if found else ""
        details = "".join(f" {name}={value}" for name, value in _details(record).items())
        line = f"{time} {record.levelname:<7} {subject}{record.getMessage()}{details}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line
