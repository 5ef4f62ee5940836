"""The operator's settings: one frozen value, read once when it starts.

They come from a YAML file, which the Helm chart fills from its values and mounts from a ConfigMap, and from `--set`
flags, which have the last word: `--set scrape.intervalSeconds=2`. A key that is unknown or a value out of its bounds
ends the start with one sentence that names it. docs/settings.md lists them all.
"""

import argparse
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from coxswain.core import cost
from coxswain.core.api.parsing import read_as
from coxswain.core.api.values import Label, Model, ObjectName, distinct
from coxswain.core.errors import InputError

_MOST = 1_000_000


def _amount(value: Any) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value == "auto" or (is_number and 0 <= value <= _MOST):
        return value
    raise ValueError(f"give a number from 0 to {_MOST}, or auto for what the nodes offer")


def _distinct_names(queues: "tuple[Queue, ...]") -> "tuple[Queue, ...]":
    distinct(tuple(queue.name for queue in queues), "two queues have the same name; give each its own")
    return queues


Amount = Annotated[float | Literal["auto"], BeforeValidator(_amount)]
Price = Annotated[float, Field(ge=0, le=_MOST)]
Port = Annotated[int, Field(ge=1, le=65535)]
Image = Annotated[str, StringConstraints(min_length=1, max_length=512, pattern=r"^\S+$")]


class LogFormat(StrEnum):
    """How a line of the log is written."""

    JSON = "json"
    TEXT = "text"


class LogLevel(StrEnum):
    """The least important lines that are written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Queue(Model):
    """What the jobs of one queue may hold together; `auto` is what the nodes offer less what others request."""

    name: Label
    cores: Amount = "auto"
    gpus: Amount = "auto"


class Images(Model):
    """The workers' images, for jobs that name none of their own."""

    torch: Image
    spark: Image


class Prices(Model):
    """What the cluster charges, in any one currency."""

    core_hour: Price = 0.0
    gib_hour: Price = 0.0
    gpu_hour: Price = 0.0

    @property
    def table(self) -> cost.Prices:
        """The same as what costs are computed with."""
        return cost.Prices(core_hour=self.core_hour, gib_hour=self.gib_hour, gpu_hour=self.gpu_hour)


class Scrape(Model):
    """How workers are asked for their metrics; a worker that exceeds a limit gives no sample."""

    interval_seconds: Annotated[float, Field(ge=0.5, le=300)] = 5.0
    timeout_seconds: Annotated[float, Field(ge=0.1, le=60)] = 2.0
    max_bytes: Annotated[int, Field(ge=16_384, le=16_777_216)] = 262_144
    max_series: Annotated[int, Field(ge=100, le=100_000)] = 2_000
    concurrency: Annotated[int, Field(ge=1, le=1_024)] = 64


class Ledger(Model):
    """How much is remembered."""

    keep_per_family: Annotated[int, Field(ge=50, le=_MOST)] = 2_000


class Lease(Model):
    """The Lease by which one operator of several leads, with the times that Kubernetes' own controllers use."""

    name: ObjectName = "coxswain"
    namespace: Label = "default"
    duration_seconds: Annotated[int, Field(ge=3, le=300)] = 15
    renew_seconds: Annotated[float, Field(ge=2, le=300)] = 10.0
    retry_seconds: Annotated[float, Field(ge=0.2, le=60)] = 2.0

    @model_validator(mode="after")
    def _in_order(self) -> "Lease":
        if not 2 * self.retry_seconds <= self.renew_seconds < self.duration_seconds:
            raise ValueError("renewSeconds must be less than durationSeconds and at least twice retrySeconds")
        return self


class Settings(Model):
    """All of them; what is not given has the default of its field."""

    namespaces: tuple[Label, ...] = ()
    """Where to look for jobs and experiments; none named means everywhere."""
    queues: Annotated[tuple[Queue, ...], Field(min_length=1, max_length=100), AfterValidator(_distinct_names)] = (
        Queue(name="default"),
    )
    images: Images
    gpu_resource: Annotated[str, StringConstraints(pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$")] = "nvidia.com/gpu"
    prices: Prices = Prices()
    scrape: Scrape = Scrape()
    resync_seconds: Annotated[float, Field(ge=5, le=3_600)] = 60.0
    workers: Annotated[int, Field(ge=1, le=256)] = 8
    model_processes: Annotated[int, Field(ge=1, le=32)] = 1
    refit_debounce_seconds: Annotated[float, Field(ge=0, le=3_600)] = 5.0
    ledger: Ledger = Ledger()
    lease: Lease = Lease()
    metrics_port: Port = 8080
    health_port: Port = 8081
    log_format: LogFormat = LogFormat.JSON
    log_level: LogLevel = LogLevel.INFO

    @model_validator(mode="after")
    def _ports_apart(self) -> "Settings":
        if self.metrics_port == self.health_port:
            raise ValueError("metricsPort and healthPort are the same; give each its own")
        return self


def from_command_line(arguments: Sequence[str]) -> Settings:
    """The settings that a command line asks for; one that argparse cannot read ends the process with its usage.

    Raises:
        InputError: in one sentence that names the setting to mend.
    """
    parser = argparse.ArgumentParser(prog="python -m coxswain", description="The Coxswain operator.")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="a YAML file of settings")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="one setting, in place of the file's: --set logFormat=text --set scrape.intervalSeconds=2",
    )
    given = parser.parse_args(arguments)
    document = _read(given.settings) if given.settings else {}
    for assignment in given.set:
        _assign(document, assignment)
    return parse(document)


def parse(document: Any) -> Settings:
    """The settings that a document describes, read the way manifests are: a null is a field left out.

    Raises:
        InputError: in one sentence that names the setting to mend.
    """
    if not isinstance(document, Mapping):
        raise InputError("the settings are not a mapping; write them as `key: value`.")
    return read_as(Settings, document, "settings")


def _read(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InputError(f"the settings cannot be read from {path}: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(document, dict | None):
        raise InputError(f"{path} does not hold a mapping; write settings as `key: value`.")
    return document or {}


def _assign(document: dict[str, Any], assignment: str) -> None:
    key, equals, text = assignment.partition("=")
    if not key or not equals:
        raise InputError(f"--set {assignment}: give a key and a value, for example --set logFormat=text.")
    *parents, last = key.split(".")
    place = document
    for parent in parents:
        if not isinstance(place.setdefault(parent, {}), dict):
            raise InputError(f"--set {assignment}: {parent} is not a mapping; set it as a whole.")
        place = place[parent]
    try:
        place[last] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"--set {assignment}: the value is not YAML; quote it.") from error
