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
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Self, get_type_hints

from coxswain.worker.report.contract import Failure, Reason

_MEMORY_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_MEMORY_UNITS |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


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


def _memory(text: str) -> int:
    quantity = re.fullmatch(r"(\d+(?:\.\d+)?)(\w*)", text)
    unit = _MEMORY_UNITS.get(quantity[2]) if quantity else None
    size = int(float(quantity[1]) * unit) if quantity and unit else 0
    if size < 1:
        raise ValueError("bytes, such as 1073741824, 512Mi or 2Gi")
    return size


def _yes_or_no(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower() == "true"


def _moment(text: str) -> datetime:
    wanted = "a time with its zone, such as 2030-01-31T18:00:00Z"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(wanted) from None
    if moment.tzinfo is None:
        raise ValueError(wanted)
    return moment


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
    nodes: Annotated[int, Variable("COXSWAIN_NODES", _whole(1))] = 1
    executors_per_node: Annotated[int, Variable("COXSWAIN_EXECUTORS_PER_NODE", _whole(1))] = 1
    cores_per_executor: Annotated[float, Variable("COXSWAIN_CORES_PER_EXECUTOR", _cores)] = 1.0
    memory_per_executor: Annotated[int, Variable("COXSWAIN_MEMORY_PER_EXECUTOR", _memory)] = 2**30
    spark_secret: Annotated[str, Variable("COXSWAIN_SPARK_SECRET", str)] = field(default="", repr=False)
    pod_ip: Annotated[str, Variable("COXSWAIN_POD_IP", str)] = ""
    worker: Annotated[int, Variable("JOB_COMPLETION_INDEX", _whole(0))] = 0
    rendezvous_host: Annotated[str, Variable("COXSWAIN_RENDEZVOUS_HOST", str)] = "127.0.0.1"
    rendezvous_port: Annotated[int, Variable("COXSWAIN_RENDEZVOUS_PORT", _whole(1))] = 29400
    rendezvous_timeout: Annotated[float, Variable("COXSWAIN_RENDEZVOUS_TIMEOUT_SECONDS", _above_zero)] = 300.0
    stop_at: Annotated[datetime | None, Variable("COXSWAIN_STOP_AT", _moment)] = None
    peer_timeout: Annotated[float, Variable("COXSWAIN_PEER_TIMEOUT_SECONDS", _above_zero)] = 30.0

    ingest_format: Annotated[str, Variable("COXSWAIN_INGEST_FORMAT", str)] = "TFRecord"
    ingest_batches: Annotated[int, Variable("COXSWAIN_INGEST_BATCHES", _whole(1))] = 10
    ingest_repetitions: Annotated[int, Variable("COXSWAIN_INGEST_REPETITIONS", _whole(1))] = 3
    ingest_partitions: Annotated[int, Variable("COXSWAIN_INGEST_PARTITIONS", _whole(1))] = 8
    ingest_cache: Annotated[bool, Variable("COXSWAIN_INGEST_CACHE", _yes_or_no)] = False

    data_path: Annotated[Path | None, Variable("COXSWAIN_DATA_PATH", Path)] = None
    data_url: Annotated[str, Variable("COXSWAIN_DATA_URL", str)] = ""
    output_path: Annotated[Path | None, Variable("COXSWAIN_OUTPUT_PATH", Path)] = None
    metrics_host: Annotated[str, Variable("COXSWAIN_METRICS_HOST", str)] = "0.0.0.0"  # noqa: S104 - pods are scraped
    metrics_port: Annotated[int | None, Variable("COXSWAIN_METRICS_PORT", _whole(0))] = None
    termination_log: Annotated[Path | None, Variable("COXSWAIN_TERMINATION_LOG", Path)] = None

    def __post_init__(self) -> None:
        variable, pods = ("COXSWAIN_NODES", self.nodes) if self.on_spark else ("COXSWAIN_WORKERS", self.workers)
        if self.worker >= pods:
            raise Failure(
                Reason.BAD_PARAMETER,
                f"JOB_COMPLETION_INDEX is {self.worker}, but {variable} says there are {pods} workers.",
            )

    @property
    def on_spark(self) -> bool:
        """Whether the job brings a Spark cluster with it."""
        return self.engine == "Spark"

    @property
    def ingests(self) -> bool:
        """Whether the job measures how fast data are read, in place of training."""
        return self.workload == "Ingest"

    @property
    def planned_epochs(self) -> int:
        """How many epochs the job is to train; for a speed test, how often it reads the data."""
        return self.ingest_repetitions if self.ingests else self.epochs

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
        parameters: dict[str, Any] = {"dataset": self.dataset, "samples": self.samples, "batchSize": self.batch_size}
        parameters |= self._ingest() if self.ingests else self._training()
        parameters |= self._spark() if self.on_spark else self._workers()
        parameters |= {"seed": self.seed, "extra": dict(self.extra)}
        return {name: value for name, value in parameters.items() if value not in (None, "", {})}

    def _training(self) -> dict[str, Any]:
        return {
            "network": self.network,
            "strategy": self.strategy,
            "epochs": self.epochs,
            "learningRate": self.learning_rate,
            "optimizer": self.optimizer,
            "schedule": self.schedule,
        }

    def _ingest(self) -> dict[str, Any]:
        return {
            "format": self.ingest_format,
            "batches": self.ingest_batches,
            "repetitions": self.ingest_repetitions,
            "partitions": self.ingest_partitions,
            "cache": self.ingest_cache,
        }

    def _workers(self) -> dict[str, Any]:
        return {
            "workers": self.workers,
            "processesPerWorker": self.processes_per_worker,
            "coresPerWorker": self.cores_per_worker,
        }

    def _spark(self) -> dict[str, Any]:
        return {
            "nodes": self.nodes,
            "executorsPerNode": self.executors_per_node,
            "coresPerExecutor": self.cores_per_executor,
            "memoryPerExecutor": self.memory_per_executor,
        }


def _variables(settings: type[Settings]) -> dict[str, Variable]:
    hints = get_type_hints(settings, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items()}
