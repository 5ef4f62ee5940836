"""TrainingExperiment: what is varied, by which design, on which job, and how the runs are made and analysed."""

import math
import re
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from coxswain.core.api.design import MOST_RUNS, DesignOptions, FactorSpec, ResponseName
from coxswain.core.api.fields import CONCURRENCY
from coxswain.core.api.job import JobSpec
from coxswain.core.api.values import Model, ObjectName, Seconds, Seed, Ttl, distinct
from coxswain.core.factors import letters

MEASURED_RESPONSES = (
    "duration",
    "accuracy",
    "loss",
    "samplesPerSecond",
    "imagesWrittenPerSecond",
    "startup",
    "wait",
    "money",
)


class TemplateMetadata(Model):
    """Labels and annotations of every run's job."""

    labels: dict[str, Annotated[str, StringConstraints(max_length=63)]] | None = Field(None, max_length=32)
    annotations: dict[str, Annotated[str, StringConstraints(max_length=4096)]] | None = Field(None, max_length=32)


class Template(Model):
    """The job of every run, before the factors' values are set in it."""

    metadata: TemplateMetadata | None = None
    spec: JobSpec

    @model_validator(mode="after")
    def _never_steered(self) -> Self:
        if self.spec.adjust is not None or self.spec.steered is not None:
            raise ValueError("the runs of an experiment are never steered; leave out adjust and steered")
        return self


class Arrivals(Model):
    """When runs arrive in the queue."""

    type: Literal["Poisson", "Trace"]
    rate_per_hour: float | None = Field(None, gt=0, le=1000000)
    seed: Seed = 0
    times: tuple[Annotated[float, Field(ge=0, le=31536000)], ...] | None = Field(None, min_length=1, max_length=10000)

    @model_validator(mode="after")
    def _rate_or_times(self) -> Self:
        needed = "rate_per_hour" if self.type == "Poisson" else "times"
        if {name for name in ("rate_per_hour", "times") if getattr(self, name) is not None} != {needed}:
            raise ValueError("Poisson arrivals need ratePerHour, a Trace needs times")
        return self


class Response(Model):
    """A response that is analysed: a measured one, or an expression over those."""

    name: ResponseName
    expression: str | None = Field(None, min_length=1, max_length=256)

    @model_validator(mode="after")
    def _measured_or_computed(self) -> Self:
        if self.expression is None and self.name not in MEASURED_RESPONSES:
            known = ", ".join(MEASURED_RESPONSES[:-1]) + f" and {MEASURED_RESPONSES[-1]}"
            raise ValueError(f"a response without an expression must be one of {known}")
        return self


class AnalysisOptions(Model):
    """What is analysed once the runs are done."""

    responses: tuple[Response, ...] = Field(
        (Response(name="duration"), Response(name="accuracy")), min_length=1, max_length=16
    )
    interactions: int = Field(2, ge=1, le=4)
    alpha: float = Field(0.05, ge=0.0001, le=0.5)

    @field_validator("responses")
    @classmethod
    def _names_differ(cls, responses: tuple[Response, ...]) -> tuple[Response, ...]:
        distinct(tuple(response.name for response in responses), "Duplicate value: a response is listed twice")
        return responses


class Budget(Model):
    """What the experiment may use."""

    cost: float | None = Field(None, gt=0, le=10**9)
    duration: Seconds | None = None

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.cost is None and self.duration is None:
            raise ValueError("should have at least 1 properties: give cost or duration")
        return self


class LearnFrom(Model):
    """Measurements made elsewhere, as a CSV table in a ConfigMap of the same namespace."""

    config_map: ObjectName
    key: str = Field("data.csv", pattern=r"^[a-zA-Z0-9._-]+$", max_length=253)
    node_type: str | None = Field(None, pattern=r"^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$", max_length=63)


class ExperimentSpec(Model):
    """What is varied, by which design, on which job, and how the runs are made and analysed."""

    factors: tuple[FactorSpec, ...] = Field(min_length=1, max_length=25)
    design: DesignOptions
    template: Template
    parallelism: int = Field(1, ge=1, le=1000)
    arrivals: Arrivals | None = None
    analysis: AnalysisOptions = AnalysisOptions()
    budget: Budget | None = None
    learn_from: LearnFrom | None = None
    max_failed_runs: int = Field(3, ge=0, le=10000)
    suspend: bool = False
    ttl_seconds_after_finished: Ttl | None = None

    @field_validator("factors")
    @classmethod
    def _factors_differ(cls, factors: tuple[FactorSpec, ...]) -> tuple[FactorSpec, ...]:
        distinct(tuple(factor.name for factor in factors), "Duplicate value: two factors have the same name")
        distinct(tuple(factor.field for factor in factors), "two factors must not set the same field")
        return factors

    @model_validator(mode="after")
    def _factors_fit_the_template(self) -> Self:
        job = self.template.spec
        fields = [factor.field for factor in self.factors]
        torch_only = {
            f"resources.{name}" for name in ("workers", "processesPerWorker", "coresPerWorker", "memoryPerWorker")
        }
        if job.engine != "Spark" and any(field.startswith("resources.spark.") for field in fields):
            raise ValueError("factors of resources.spark need engine Spark in the template")
        if job.engine == "Spark" and torch_only & set(fields):
            raise ValueError(
                "with engine Spark vary resources.spark.nodes, executorsPerNode, coresPerExecutor and memoryPerExecutor"
            )
        if job.workload.type != "Ingest" and any(field.startswith("workload.ingest.") for field in fields):
            raise ValueError("factors of workload.ingest need a workload of type Ingest in the template")
        return self

    @model_validator(mode="after")
    def _design_fits_the_factors(self) -> Self:
        names = {factor.name for factor in self.factors}
        known = names | set(letters(len(self.factors)))
        for generator in self.design.generators or ():
            if not set(_words(generator)) <= known:
                raise ValueError(
                    "generators must refer to existing factors: by name, or by the letters A, B, C, … (without I) "
                    "in the order of factors"
                )
        if len(self.design.generators or ()) >= len(self.factors):
            raise ValueError("there must be fewer generators than factors")
        if self.design.fold_over not in {None, "All", *names}:
            raise ValueError("foldOver must be All or the name of a factor")
        if any({setting.name for setting in row.settings} != names for row in self.design.rows or ()):
            raise ValueError("every row must give a value for every factor and for nothing else")
        if self._fewest_rows() * self.design.replications > MOST_RUNS:
            raise ValueError(
                f"a design may have at most {MOST_RUNS} runs (rows × replications): "
                "use fewer levels, a fraction or fewer replications"
            )
        return self

    @model_validator(mode="after")
    def _search_fits_the_responses(self) -> Self:
        search = self.design.search
        listed = {response.name for response in self.analysis.responses}
        if search and not {search.minimize, search.limit.response if search.limit else search.minimize} <= listed:
            raise ValueError("search may name only responses that analysis lists")
        return self

    @property
    def names_in_expressions(self) -> tuple[str, ...]:
        """What the expression of a response may name: what is measured, and the factors that are numbers."""
        return (*MEASURED_RESPONSES, *(factor.name for factor in self.factors if factor.levels))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is allowed but may not be meant, in sentences."""
        together = next((factor.name for factor in self.factors if factor.field == CONCURRENCY), None)
        if together is None or self.parallelism == 1:
            return ()
        note = (
            f"Up to {self.parallelism} runs are made at a time, each with as many jobs as {together} says, so that is "
            "not how many jobs run at a time; set parallelism 1 if it should be."
        )
        return (note,)

    def _fewest_rows(self) -> int:
        """The rows of the design as far as they follow from the spec without building it."""
        design = self.design
        if design.type == "FullFactorial":
            return math.prod(len(factor.levels or factor.categories or ()) for factor in self.factors)
        if design.generators:
            return int(2 ** (len(self.factors) - len(design.generators)))
        return design.runs or len(design.rows or ()) or 1


def _words(generator: str) -> list[str]:
    """The factors that a generator names."""
    bare = generator.replace("+", "").replace("-", "")
    return re.split(r"[=*]", bare) if bare[0].islower() else list(bare.replace("=", ""))


class TrainingExperiment(Model):
    """A designed experiment of TrainingJobs."""

    name: str
    namespace: str | None
    spec: ExperimentSpec
