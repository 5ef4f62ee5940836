"""TrainingJob: one distributed training job, what it may be changed to, and when it has to be finished."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from coxswain.core.api.values import (
    GIB,
    Cores,
    FolderPath,
    Label,
    Memory,
    Model,
    ObjectName,
    Seconds,
    Seed,
    Time,
    Ttl,
    distinct,
)

Positive = Annotated[float, Field(gt=0, le=2**20)]
AdjustableField = Literal[
    "epochs",
    "batchSize",
    "learningRate",
    "workers",
    "coresPerWorker",
    "nodes",
    "executorsPerNode",
    "coresPerExecutor",
]
TORCH_ONLY = frozenset({"workers", "coresPerWorker"})
SPARK_ONLY = frozenset({"nodes", "executorsPerNode", "coresPerExecutor"})
FRACTIONAL = frozenset({"learningRate", "coresPerWorker", "coresPerExecutor"})


class Ingest(Model):
    """How the speed test of an Ingest job reads and writes."""

    format: Literal["Images", "TFRecord", "Parquet"] = "TFRecord"
    batches: int = Field(10, ge=1, le=1000000)
    repetitions: int = Field(3, ge=1, le=1000)
    partitions: int = Field(8, ge=1, le=100000)
    cache: bool = False


class Workload(Model):
    """What is run."""

    type: Literal["Train", "Ingest", "Custom"] = "Train"
    network: Label = "fashion-cnn"
    dataset: Label = "digits"
    samples: int | None = Field(None, ge=1, le=10**9)
    strategy: Literal["DataParallel", "FederatedAveraging"] = "DataParallel"
    ingest: Ingest | None = None
    image: str | None = Field(None, min_length=1, max_length=512)
    command: tuple[Annotated[str, StringConstraints(max_length=4096)], ...] | None = Field(
        None, min_length=1, max_length=64
    )

    @model_validator(mode="after")
    def _fits_its_type(self) -> Self:
        if self.type == "Custom" and self.image is None:
            raise ValueError("a workload of type Custom needs an image")
        if self.type != "Custom" and self.command is not None:
            raise ValueError("a command is only for a workload of type Custom")
        if self.type != "Ingest" and self.ingest is not None:
            raise ValueError("ingest is only for a workload of type Ingest")
        return self


class ExtraParameter(Model):
    """A further parameter, for the network, the schedule or a user's own script."""

    name: str = Field(pattern=r"^[a-zA-Z][a-zA-Z0-9_]*$", max_length=63)
    value: str = Field(max_length=1024)


class Parameters(Model):
    """The training parameters asked for."""

    epochs: int = Field(1, ge=1, le=100000)
    batch_size: int = Field(64, ge=1, le=2**20)
    learning_rate: float = Field(0.01, gt=0, le=1000)
    optimizer: Literal["SGD", "Adam"] = "Adam"
    schedule: Literal["Constant", "Step", "Cosine", "GrowingBatch"] = "Constant"
    seed: Seed = 0
    extra: tuple[ExtraParameter, ...] | None = Field(None, max_length=32)

    @field_validator("extra")
    @classmethod
    def _names_differ(cls, extra: tuple[ExtraParameter, ...] | None) -> tuple[ExtraParameter, ...] | None:
        distinct(tuple(item.name for item in extra or ()), "Duplicate value: two extra parameters have the same name")
        return extra


class SparkResources(Model):
    """The shape of the Spark cluster that an engine Spark job brings with it."""

    nodes: int = Field(1, ge=1, le=1024)
    executors_per_node: int = Field(1, ge=1, le=64)
    cores_per_executor: Cores = 1.0
    memory_per_executor: Memory = GIB


class Resources(Model):
    """How many workers there are and what each may use."""

    workers: int = Field(1, ge=1, le=1024)
    processes_per_worker: int = Field(1, ge=1, le=64)
    cores_per_worker: Cores = 1.0
    memory_per_worker: Memory = GIB
    gpus_per_worker: int = Field(0, ge=0, le=64)
    spark: SparkResources | None = None


class Data(Model):
    """Where the data set is read from."""

    claim: ObjectName | None = None
    path: FolderPath | None = None
    url: str | None = Field(None, pattern=r"^[a-z][a-z0-9+.-]*://[^ ]+$", max_length=2048)

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.claim is None) == (self.url is None):
            raise ValueError("give exactly one of claim and url")
        if self.path is not None and self.claim is None:
            raise ValueError("a path is only for a claim; write it into the url")
        return self


class Output(Model):
    """Where the trained model and its checkpoints are kept."""

    claim: ObjectName
    path: FolderPath | None = None


class Deadline(Model):
    """When the job has to be finished."""

    within: Seconds | None = None
    at: Time | None = None
    enforce: Literal["None", "Stop"] = "None"

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if (self.within is None) == (self.at is None):
            raise ValueError("give exactly one of within and at")
        return self


class Adjustment(Model):
    """One parameter that may be changed, by a range or by a list of values."""

    field: AdjustableField
    min: Positive | None = None
    max: Positive | None = None
    step: Positive | None = None
    values: tuple[Positive, ...] | None = Field(None, min_length=1, max_length=64)

    @model_validator(mode="after")
    def _bounds_make_sense(self) -> Self:
        if self.values is not None:
            if (self.min, self.max, self.step) != (None, None, None):
                raise ValueError("give either values, or min and max")
            distinct(self.values, "values must be distinct")
        elif self.min is None or self.max is None:
            raise ValueError("give either values, or min and max")
        elif self.min > self.max:
            raise ValueError("min must not be above max")
        elif (self.max - self.min) / (self.step or 1) > 1000:
            raise ValueError("a range may have at most 1001 values: give a larger step")
        numbers = (self.min, self.max, self.step, *(self.values or ()))
        if self.field not in FRACTIONAL and any(number != int(number) for number in numbers if number is not None):
            raise ValueError("this field takes whole numbers only")
        return self

    def allows(self, value: float) -> bool:
        """Whether a value is within the bounds."""
        if self.values is not None:
            return value in self.values
        return self.min is not None and self.max is not None and self.min <= value <= self.max


class Steering(Model):
    """How Coxswain chooses when it changes what `adjust` allows."""

    mode: Literal["Auto", "DryRun", "Disabled"] = "Auto"
    confidence_percent: int = Field(95, ge=50, le=99)
    objective: Literal["Accuracy", "MostWork", "LeastCost"] = "Accuracy"
    when_infeasible: Literal["RunAnyway", "Hold", "Fail"] = "RunAnyway"
    cold_start: Literal["Run", "Probe", "Hold"] = "Run"
    explore_percent: int = Field(0, ge=0, le=20)


class Steered(Model):
    """What Coxswain chose in place of what was asked for."""

    epochs: int | None = Field(None, ge=1, le=100000)
    batch_size: int | None = Field(None, ge=1, le=2**20)
    learning_rate: float | None = Field(None, gt=0, le=1000)
    workers: int | None = Field(None, ge=1, le=1024)
    cores_per_worker: float | None = Field(None, ge=0.01, le=1024)
    nodes: int | None = Field(None, ge=1, le=1024)
    executors_per_node: int | None = Field(None, ge=1, le=64)
    cores_per_executor: float | None = Field(None, ge=0.01, le=1024)


class Toleration(Model):
    """One node taint that is tolerated."""

    key: str | None = Field(None, max_length=317)
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str | None = Field(None, max_length=63)
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    toleration_seconds: int | None = Field(None, ge=0, le=31536000)


class ImagePullSecret(Model):
    """One secret that private images are pulled with."""

    name: ObjectName


class JobSpec(Model):
    """What to run, with which parameters and resources, and by when it has to be finished."""

    engine: Literal["Torch", "Spark"] = "Torch"
    workload: Workload = Workload()
    parameters: Parameters = Parameters()
    resources: Resources = Resources()
    data: Data | None = None
    output: Output | None = None
    queue_name: Label = "default"
    priority: int = Field(0, ge=-1000000, le=1000000)
    deadline: Deadline | None = None
    adjust: tuple[Adjustment, ...] | None = Field(None, max_length=8)
    steering: Steering = Steering()
    steered: Steered | None = None
    active_deadline_seconds: int | None = Field(None, ge=1, le=31536000)
    start_timeout_seconds: int = Field(600, ge=10, le=86400)
    max_retries: int = Field(2, ge=0, le=10)
    ttl_seconds_after_finished: Ttl | None = None
    suspend: bool = False
    node_selector: dict[str, Annotated[str, StringConstraints(max_length=63)]] | None = Field(None, max_length=16)
    tolerations: tuple[Toleration, ...] | None = Field(None, max_length=16)
    priority_class_name: ObjectName | None = None
    image_pull_secrets: tuple[ImagePullSecret, ...] | None = Field(None, max_length=8)

    @model_validator(mode="after")
    def _engine_fits(self) -> Self:
        spark = self.engine == "Spark"
        if self.resources.spark is not None and not spark:
            raise ValueError("resources.spark is only for engine Spark")
        if spark and (self.resources.workers, self.resources.processes_per_worker) != (1, 1):
            raise ValueError(
                "with engine Spark give resources.spark.nodes and executorsPerNode "
                "in place of workers and processesPerWorker"
            )
        if self.workload.type == "Ingest" and not spark:
            raise ValueError("a workload of type Ingest needs engine Spark")
        if self.workload.type == "Custom" and spark:
            raise ValueError("a workload of type Custom needs engine Torch")
        if self.resources.workers * self.resources.processes_per_worker > self.parameters.batch_size:
            raise ValueError(
                "batchSize must be at least the number of training processes (workers × processesPerWorker)"
            )
        return self

    @model_validator(mode="after")
    def _adjustments_fit(self) -> Self:
        adjust = self.adjust or ()
        fields = tuple(adjustment.field for adjustment in adjust)
        distinct(fields, "Duplicate value: adjust lists the same field twice")
        if set(fields) & (TORCH_ONLY if self.engine == "Spark" else SPARK_ONLY):
            raise ValueError(
                "workers and coresPerWorker can be adjusted with engine Torch only, "
                "nodes, executorsPerNode and coresPerExecutor with engine Spark only"
            )
        steered: dict[str, Any] = {}
        if self.steered is not None:
            steered = self.steered.model_dump(by_alias=True, exclude_none=True)
        if not steered.keys() <= set(fields):
            raise ValueError("steered may name only fields that adjust lists")
        if not all(
            adjustment.allows(steered[adjustment.field]) for adjustment in adjust if adjustment.field in steered
        ):
            raise ValueError("steered must stay within the bounds of adjust")
        return self

    @field_validator("image_pull_secrets")
    @classmethod
    def _secrets_differ(cls, secrets: tuple[ImagePullSecret, ...] | None) -> tuple[ImagePullSecret, ...] | None:
        distinct(tuple(item.name for item in secrets or ()), "Duplicate value: a secret is named twice")
        return secrets


class TrainingJob(Model):
    """One distributed training job."""

    name: str
    namespace: str | None
    spec: JobSpec
