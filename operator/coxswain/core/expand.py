"""From an experiment to its runs: which jobs each one is, by name, with everything set that tells it from the others.

A run is one replicate of one row. It is one job, or, where the number of jobs at a time is a factor, so many identical
jobs that start together: these are one experimental unit, measured and repeated together. Nothing here is stored; the
same experiment gives the same runs, names and seeds whenever it is expanded.

Each job trains from a random seed of its own. With one seed for all, replicates would be the same training again, and
what looks like a precise accuracy would be a single draw.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from coxswain.core.api import TrainingExperiment, TrainingJob, parse_job
from coxswain.core.api.experiment import MEASURED_RESPONSES, Arrivals
from coxswain.core.api.fields import CONCURRENCY, with_value
from coxswain.core.api.job import JobSpec
from coxswain.core.api.parsing import API_VERSION
from coxswain.core.designs import Design, Row, Run
from coxswain.core.designs.streams import Stream
from coxswain.core.errors import InputError
from coxswain.core.factors import Level

# Kubernetes allows 63 characters in a label; what names an attempt and its pods is appended.
LONGEST_NAME = 50

_SECONDS_PER_HOUR = 3600
# What a measurement depends on. A job may change its priority without becoming another one.
_MATTERS = {"engine", "workload", "parameters", "resources", "data", "output", "node_selector"}


@dataclass(frozen=True)
class PlannedJob:
    """One job of a run."""

    name: str
    spec: JobSpec

    @property
    def digest(self) -> str:
        """A hash over everything that a measurement of this job depends on."""
        content = self.spec.model_dump(mode="json", by_alias=True, include=_MATTERS)
        return f"sha256:{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}"


@dataclass(frozen=True)
class PlannedRun:
    """One replicate of a row: its jobs, and when it arrives, in seconds from the start, if runs arrive by themselves.

    Rows, replicates and blocks are counted from 0, as the design does.
    """

    name: str
    row: int
    replicate: int
    block: int
    settings: Mapping[str, Level]
    jobs: tuple[PlannedJob, ...]
    arrival: float | None = None


def expand(experiment: TrainingExperiment, design: Design) -> tuple[PlannedRun, ...]:
    """The runs of an experiment in the order they are made.

    Raises:
        InputError: in one sentence that names the row whose job cannot be.
    """
    spec = experiment.spec
    for factor in spec.factors:
        if factor.name in MEASURED_RESPONSES:
            raise InputError(f"factor {factor.name} has the name of a response; rename it.")
    specs = [_job_of(experiment, row) for row in design.rows]
    concurrency = next((factor.name for factor in spec.factors if factor.field == CONCURRENCY), None)
    copies = [round(float(row.settings[concurrency])) if concurrency else 1 for row in design.rows]
    name = _cut(experiment.name)
    runs = [_planned(name, design.rows[run.row], run, specs[run.row], copies[run.row]) for run in design.runs]
    if spec.arrivals is None:
        return tuple(runs)
    times = arrival_times(spec.arrivals, len(runs))
    return tuple(replace(run, arrival=time) for run, time in zip(runs, times, strict=True))


def single(job: TrainingJob) -> PlannedRun:
    """A job by itself as a run without factors."""
    return PlannedRun(job.name, 0, 0, 0, {}, (PlannedJob(job.name, job.spec),))


def arrival_times(arrivals: Arrivals, count: int) -> Sequence[float]:
    """When so many runs arrive, in seconds from the start, in ascending order."""
    if arrivals.times is not None:
        if len(arrivals.times) < count:
            raise InputError(
                f"arrivals.times has {len(arrivals.times)} times, but there are {count} runs; give one for each."
            )
        return sorted(arrivals.times)[:count]
    seconds_between = _SECONDS_PER_HOUR / (arrivals.rate_per_hour or 1)
    gaps = -np.log1p(-Stream(arrivals.seed, "arrivals").uniform(count)) * seconds_between
    return [float(time) for time in np.cumsum(gaps)]


def _job_of(experiment: TrainingExperiment, row: Row) -> JobSpec:
    """The template with a row's values set in it."""
    template = experiment.spec.template.spec
    content = template.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for factor in experiment.spec.factors:
        content = with_value(content, factor.field, row.settings[factor.name])
    manifest = {
        "apiVersion": API_VERSION,
        "kind": "TrainingJob",
        "metadata": {"name": experiment.name},
        "spec": content,
    }
    try:
        return parse_job(manifest).spec
    except InputError as error:
        raise InputError(f"row {row.index} ({_told(row.settings)}) makes no valid job: {error}") from error


def _planned(experiment: str, row: Row, run: Run, spec: JobSpec, copies: int) -> PlannedRun:
    name = f"{experiment}-row{run.row}-{run.replicate}"
    names = [name] if copies == 1 else [f"{name}-{copy}" for copy in range(copies)]
    jobs = tuple(PlannedJob(each, _own(spec, run, copy, each)) for copy, each in enumerate(names))
    return PlannedRun(name, run.row, run.replicate, run.block, row.settings, jobs)


def _own(spec: JobSpec, run: Run, copy: int, name: str) -> JobSpec:
    """The job with a seed and an output folder of its own."""
    # From a hash rather than a generator: the seed of a run must never change with a library's next version.
    lot = hashlib.sha256(f"{spec.parameters.seed}/{run.row}/{run.replicate}/{copy}".encode()).digest()
    seed = int.from_bytes(lot[:4], "big")
    changes: dict[str, object] = {"parameters": spec.parameters.model_copy(update={"seed": seed})}
    if spec.output is not None:
        path = f"{spec.output.path}/{name}" if spec.output.path else name
        changes["output"] = spec.output.model_copy(update={"path": path})
    return spec.model_copy(update=changes)


def _cut(name: str) -> str:
    """The experiment's name, or where it is too long its beginning and a hash of the whole."""
    room = LONGEST_NAME - len("-row9999-999-9999")
    return name if len(name) <= room else f"{name[: room - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _told(settings: Mapping[str, Level]) -> str:
    return ", ".join(f"{name}={value if isinstance(value, str) else f'{value:g}'}" for name, value in settings.items())
