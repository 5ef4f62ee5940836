"""What a job is to do, read from the environment.

Every parameter is one variable with a fixed name, so that the operator can declare the variables once and fill them
from annotations (which may change while a job waits; a pod's variables may not). What a user names freely arrives
together in one of them, COXSWAIN_EXTRA, as a JSON object. An empty variable counts as one that is not there.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self, get_type_hints

from coxswain.worker.report.contract import Failure, Reason


def termination_log(environment: Mapping[str, str]) -> Path | None:
    """Where the last word goes: the file that is named, else the kubelet's, else nowhere."""
    named = environment.get("COXSWAIN_TERMINATION_LOG", "").strip()
    if named:
        return Path(named)
    # The kubelet makes this file; where it is missing there is no kubelet, and nothing should appear in /dev.
    usual = Path("/dev/termination-log")
    return usual if usual.exists() else None


@dataclass(frozen=True)
class Variable:
    """The environment variable of a field, and how its text is read; a ValueError says what it must be."""

    name: str
    parse: Callable[[str], Any]


def _whole(minimum: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"\d+", text) or int(text) < minimum:
            raise ValueError(f"a whole number of at least {minimum}")
        return int(text)

    return parse


def _above_zero(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise ValueError("a number above 0")
    return number


def _cores(text: str) -> float:
    try:
        return _above_zero(text.removesuffix("m")) / (1000 if text.endswith("m") else 1)
    except ValueError:
        raise ValueError("cores, such as 2, 0.5 or 500m") from None


def _extra(text: str) -> dict[str, str]:
    try:
        pairs = json.loads(text)
    except ValueError:
        pairs = None
    if not isinstance(pairs, dict) or not all(isinstance(value, str) for value in pairs.values()):
        raise ValueError('a JSON object of strings, such as {"dropout": "0.2"}')
    return pairs


@dataclass(frozen=True)
class Settings:
    """The environment of a worker as typed values."""

    job_uid: Annotated[str, Variable("COXSWAIN_JOB_UID", str)] = ""
    attempt: Annotated[int, Variable("COXSWAIN_ATTEMPT", _whole(1))] = 1
    engine: Annotated[str, Variable("COXSWAIN_ENGINE", str)] = "Torch"
    workload: Annotated[str, Variable("COXSWAIN_WORKLOAD", str)] = "Train"
    network: Annotated[str, Variable("COXSWAIN_NETWORK", str)] = ""
    dataset: Annotated[str, Variable("COXSWAIN_DATASET", str)] = ""
    samples: Annotated[int | None, Variable("COXSWAIN_SAMPLES", _whole(1))] = None
    strategy: Annotated[str, Variable("COXSWAIN_STRATEGY", str)] = "DataParallel"

    epochs: Annotated[int, Variable("COXSWAIN_EPOCHS", _whole(1))] = 1
    batch_size: Annotated[int, Variable("COXSWAIN_BATCH_SIZE", _whole(1))] = 64
    learning_rate: Annotated[float, Variable("COXSWAIN_LEARNING_RATE", _above_zero)] = 0.01
    optimizer: Annotated[str, Variable("COXSWAIN_OPTIMIZER", str)] = "Adam"
    schedule: Annotated[str, Variable("COXSWAIN_SCHEDULE", str)] = "Constant"
    seed: Annotated[int, Variable("COXSWAIN_SEED", _whole(0))] = 0
    extra: Annotated[Mapping[str, str], Variable("COXSWAIN_EXTRA", _extra)] = field(default_factory=dict)

    workers: Annotated[int, Variable("COXSWAIN_WORKERS", _whole(1))] = 1
    processes_per_worker: Annotated[int, Variable("COXSWAIN_PROCESSES_PER_WORKER", _whole(1))] = 1
    cores_per_worker: Annotated[float | None, Variable("COXSWAIN_CORES_PER_WORKER", _cores)] = None
    worker: Annotated[int, Variable("JOB_COMPLETION_INDEX", _whole(0))] = 0
    rendezvous_host: Annotated[str, Variable("COXSWAIN_RENDEZVOUS_HOST", str)] = "127.0.0.1"
    rendezvous_port: Annotated[int, Variable("COXSWAIN_RENDEZVOUS_PORT", _whole(1))] = 29400
    rendezvous_timeout: Annotated[float, Variable("COXSWAIN_RENDEZVOUS_TIMEOUT_SECONDS", _above_zero)] = 300.0
    peer_timeout: Annotated[float, Variable("COXSWAIN_PEER_TIMEOUT_SECONDS", _above_zero)] = 30.0

    data_path: Annotated[Path | None, Variable("COXSWAIN_DATA_PATH", Path)] = None
    output_path: Annotated[Path | None, Variable("COXSWAIN_OUTPUT_PATH", Path)] = None
    metrics_host: Annotated[str, Variable("COXSWAIN_METRICS_HOST", str)] = "0.0.0.0"  # noqa: S104 - pods are scraped
    metrics_port: Annotated[int | None, Variable("COXSWAIN_METRICS_PORT", _whole(0))] = None
    termination_log: Annotated[Path | None, Variable("COXSWAIN_TERMINATION_LOG", Path)] = None

    def __post_init__(self) -> None:
        if self.worker >= self.workers:
            raise Failure(
                Reason.BAD_PARAMETER,
                f"JOB_COMPLETION_INDEX is {self.worker}, but COXSWAIN_WORKERS says there are {self.workers} workers.",
            )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read and check every variable; the first bad one is a Failure that names it."""
        values = {}
        for attribute, variable in _variables(cls).items():
            text = environment.get(variable.name, "").strip()
            if not text:
                continue
            try:
                values[attribute] = variable.parse(text)
            except ValueError as error:
                raise Failure(Reason.BAD_PARAMETER, f"{variable.name} is {text!r}; it must be {error}.") from None
        return cls(**{"termination_log": termination_log(environment), **values})

    def environment(self) -> dict[str, str]:
        """The variables that give these settings again: what a worker is started with."""
        values = {variable.name: getattr(self, name) for name, variable in _variables(type(self)).items()}
        return {
            name: json.dumps(value) if isinstance(value, Mapping) else str(value)
            for name, value in values.items()
            if value is not None
        }

    def parameters(self) -> dict[str, Any]:
        """What the job ran with, in the words of the API, for the operator to compare with what it asked for."""
        parameters = {
            "network": self.network,
            "dataset": self.dataset,
            "samples": self.samples,
            "strategy": self.strategy,
            "epochs": self.epochs,
            "batchSize": self.batch_size,
            "learningRate": self.learning_rate,
            "optimizer": self.optimizer,
            "schedule": self.schedule,
            "seed": self.seed,
            "workers": self.workers,
            "processesPerWorker": self.processes_per_worker,
            "coresPerWorker": self.cores_per_worker,
            "extra": dict(self.extra),
        }
        return {name: value for name, value in parameters.items() if value not in (None, "", {})}


def _variables(settings: type[Settings]) -> dict[str, Variable]:
    hints = get_type_hints(settings, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items()}
