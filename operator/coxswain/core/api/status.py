"""What the operator says about jobs and experiments: read back from the cluster, changed by decisions, written whole.

Times have whole seconds, as everywhere in Kubernetes. What was never set is left out.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer

from coxswain.core.api.design import Setting
from coxswain.core.api.values import Model

Side = Literal["True", "False", "Unknown"]
JobState = Literal["Pending", "Suspended", "Held", "Starting", "Running", "Stopping", "Succeeded", "Failed"]

ExperimentState = Literal["Pending", "Running", "Suspended", "Analysing", "Succeeded", "Failed"]

COMPLETE, FAILED, SUSPENDED, ADMITTED = "Complete", "Failed", "Suspended", "Admitted"
PLACED = "Placed"
"""The condition that tells whether all pods of the attempt run, and if not, why."""
MODEL_READY, DEADLINE_ATTAINABLE = "ModelReady", "DeadlineAttainable"

LONGEST_MESSAGE = 4096
MOST_ATTEMPTS = 16


def parse_time(value: Any) -> datetime:
    """A time as the API server writes it."""
    if isinstance(value, datetime):
        return value
    return datetime.fromisoformat(value)


def render_time(moment: datetime) -> str:
    """A time as the API server writes it."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


Moment = Annotated[datetime, BeforeValidator(parse_time), PlainSerializer(render_time)]


class Part(Model):
    """A part of a status. What a newer version of the operator wrote beside it is not in the way."""

    model_config = ConfigDict(extra="ignore", strict=False, populate_by_name=True)


class Condition(Part):
    """One aspect of an object's state."""

    type: str
    status: Side
    reason: str
    message: str
    last_transition_time: Moment
    observed_generation: int = 0


class Attempt(Part):
    """One try to run a job. One without a completion time is under way and holds its resources."""

    number: int
    job_name: str
    jobUID: str | None = None  # noqa: N815 - spelled so in the API
    start_time: Moment
    completion_time: Moment | None = None
    queued: bool | None = None
    """Whether its Job waits in Kueue, which has yet to start it or has taken it back."""
    reason: str | None = None
    """Why it ended, or has to."""
    message: str | None = None


class Interval(Part):
    """An expected value with its interval."""

    low: float
    expected: float
    high: float


class Forecast(Part):
    """When a job is expected to start and finish, and how good it gets."""

    time: Moment
    confidence_percent: float
    wait_seconds: Interval | None = None
    duration_seconds: Interval | None = None
    accuracy: Interval | None = None
    finish_time: Moment | None = None
    latest_finish_time: Moment | None = None
    chance_percent: float | None = None
    basis: str | None = None
    model: str | None = None


class Issued(Part):
    """A forecast as it was when it was made, with as much of its distribution as is needed to score it."""

    time: Moment
    settings: str
    """A hash of what it is a forecast of."""
    learned: Moment | None = None
    """When the last run ended that it was learned from."""
    confidence_percent: float
    wait_seconds: Interval | None = None
    duration_seconds: Interval
    finish_time: Moment
    latest_finish_time: Moment
    chance_percent: float | None = None
    basis: str = ""
    quantiles: tuple[float, ...]
    """The seconds that the model gave, as `core.forecasts.fan` has them."""
    adapted: tuple[float, ...] | None = None
    """The scores at which these were read in place of -3 to 3, where bounds had been adapted."""


class IssuedForecasts(Part):
    """The forecasts of a job that are scored once it is finished."""

    first: Issued | None = None
    """The first with the settings that it has."""
    at_start: Issued | None = None


class Adjusted(Part):
    """One change of a parameter by the operator."""

    time: Moment
    field: str
    before: float = Field(alias="from")
    to: float
    reason: str
    finish_before: Moment | None = None
    finish_after: Moment | None = None


class Progress(Part):
    """How far a running job is."""

    epoch: int
    epochs: int
    seconds_per_epoch: float | None = None
    loss: float | None = None
    accuracy: float | None = None
    expected_finish_time: Moment | None = None
    last_scrape_time: Moment | None = None


class Result(Part):
    """What came out of a finished job."""

    outcome: Literal["Completed", "Stopped", "Failed", "Lost"]
    duration_seconds: float | None = None
    startup_seconds: float | None = None
    epochs: int | None = None
    loss: float | None = None
    accuracy: float | None = None
    samples_per_second: float | None = None
    cost: float | None = None
    model: str | None = None
    observation: str | None = None
    message: str | None = None


class Columns(Part):
    """What `kubectl get` shows."""

    epochs: str | None = None
    forecast: str | None = None
    deadline: str | None = None
    chance: str | None = None
    adjusted: str | None = None


class Status(Part):
    """What is known about an object of either kind."""

    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        """The condition of a type."""
        return next((each for each in self.conditions if each.type == kind), None)

    def having(self, kind: str, side: Side, reason: str, message: str, *, now: datetime) -> Self:
        """The status with a condition set; the time of its last transition moves only when it changes sides."""
        before = self.condition(kind)
        condition = Condition(
            type=kind,
            status=side,
            reason=reason,
            message=message[:LONGEST_MESSAGE],
            last_transition_time=before.last_transition_time if before and before.status == side else now,
            observed_generation=self.observed_generation,
        )
        if before is None:
            return self.model_copy(update={"conditions": (*self.conditions, condition)})
        conditions = tuple(condition if each.type == kind else each for each in self.conditions)
        return self.model_copy(update={"conditions": conditions})

    def render(self) -> dict[str, Any]:
        """The status as the API server takes it."""
        rendered = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {name: value for name, value in rendered.items() if value not in ([], {})}


class JobStatus(Status):
    """What is known about a job."""

    state: JobState = "Pending"
    columns: Columns | None = None
    started_parameters: dict[str, Any] | None = None
    forecast: Forecast | None = None
    issued: IssuedForecasts | None = None
    adjustments: tuple[Adjusted, ...] = ()
    progress: Progress | None = None
    result: Result | None = None
    attempts: tuple[Attempt, ...] = ()
    deadline_time: Moment | None = None
    start_time: Moment | None = None
    completion_time: Moment | None = None

    @property
    def finished(self) -> bool:
        """Whether the job has ended for good."""
        return self.state in {"Succeeded", "Failed"}

    @property
    def attempt(self) -> Attempt | None:
        """The attempt that is under way."""
        last = self.attempts[-1] if self.attempts else None
        return last if last is not None and last.completion_time is None else None

    def attempted(self, name: str, now: datetime, *, queued: bool | None = None) -> Self:
        """The status with another attempt of the job of this name, in place of the oldest if there are too many."""
        number = self.attempts[-1].number + 1 if self.attempts else 1
        attempt = Attempt(number=number, job_name=f"{name}-{number}", start_time=now, queued=queued)
        return self.model_copy(update={"attempts": (*self.attempts, attempt)[-MOST_ATTEMPTS:]})

    def with_last_attempt(self, **changed: Any) -> Self:
        """The status with its last attempt changed in some fields."""
        last = self.attempts[-1].model_copy(update=changed)
        return self.model_copy(update={"attempts": (*self.attempts[:-1], last)})


def parse_job_status(manifest: Mapping[str, Any]) -> JobStatus:
    """The status of a job as the cluster holds it."""
    return JobStatus.model_validate(manifest.get("status") or {})


class DesignSummary(Part):
    """A design in short."""

    rows: int
    runs: int
    resolution: str | None = None
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class SearchSummary(Part):
    """What a search has found so far."""

    message: str
    best: tuple[Setting, ...] = ()
    row: int | None = None
    response: float | None = None
    standard_error: float | None = None


class Counts(Part):
    """How many runs are in which state."""

    total: int = 0
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    lost: int = 0


class Promises(Part):
    """Deadlines that were promised, and how many of those were kept."""

    promised: int
    kept: int


class QueueSummary(Part):
    """The queue as the runs saw it; no wait is expected of a queue that grows without end."""

    arrivals_per_hour: float
    mean_service_seconds: float
    utilization: float
    mean_wait_seconds: float
    expected_wait_seconds: float | None = None


class Effect(Part):
    """One effect on one response."""

    response: str
    term: str
    effect: float | None = None
    percent: float | None = None
    p: float | None = None


class ResponseFit(Part):
    """How well one response is explained and predicted."""

    response: str
    r2: float | None = None
    r2_predicted: float | None = Field(None, alias="r2Predicted")
    model: str | None = None
    mape_percent: float | None = None
    coverage_percent: float | None = None


class ExperimentColumns(Part):
    """What `kubectl get` shows."""

    runs: str | None = None
    largest_effect: str | None = None
    forecast: str | None = None


class ExperimentStatus(Status):
    """What is known about an experiment."""

    state: ExperimentState = "Pending"
    columns: ExperimentColumns | None = None
    design_hash: str | None = None
    design: DesignSummary | None = None
    search: SearchSummary | None = None
    counts: Counts | None = None
    effects: tuple[Effect, ...] = ()
    fits: tuple[ResponseFit, ...] = ()
    promises: Promises | None = None
    queue: QueueSummary | None = None
    results: str | None = None
    start_time: Moment | None = None
    completion_time: Moment | None = None

    @property
    def finished(self) -> bool:
        """Whether the experiment has ended."""
        return self.state in {"Succeeded", "Failed"}


def parse_experiment_status(manifest: Mapping[str, Any]) -> ExperimentStatus:
    """The status of an experiment as the cluster holds it."""
    return ExperimentStatus.model_validate(manifest.get("status") or {})
