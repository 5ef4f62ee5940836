"""An experiment as the cluster holds it, and what has become of each of its runs.

Which runs are done is told by the ledger alone: a job may be gone, deleted or past its time to live, and its
observation still counts. A run whose job vanished without an observation is to be made again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from functools import cached_property

from coxswain.core.api import TrainingExperiment, parse_experiment
from coxswain.core.api.objects import Object
from coxswain.core.api.status import ExperimentStatus, parse_experiment_status
from coxswain.core.cost import Prices
from coxswain.core.designs import Design
from coxswain.core.errors import InputError
from coxswain.core.expand import PlannedRun
from coxswain.core.jobs.view import Job
from coxswain.core.ledger.entry import Entry
from coxswain.core.observations import FAILED
from coxswain.core.search import SearchPlan


@dataclass(frozen=True)
class Experiment(Object):
    """A TrainingExperiment; `problem` is the sentence about a spec that makes no sense."""

    @cached_property
    def parsed(self) -> TrainingExperiment:
        """What it asks for.

        Raises:
            InputError: if that makes no sense.
        """
        return parse_experiment(self.manifest)

    @cached_property
    def problem(self) -> str | None:
        """What is wrong with its spec, as far as the spec alone tells."""
        try:
            _ = self.parsed
        except InputError as error:
            return str(error)
        return None

    @cached_property
    def status(self) -> ExperimentStatus:
        """What has been said about it so far."""
        return parse_experiment_status(self.manifest)


class RunState(Enum):
    """Where a run is."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True)
class Plan:
    """The design and its runs, which follow from the spec alone; of a search, as far as it has come."""

    design: Design
    runs: tuple[PlannedRun, ...]
    search: SearchPlan | None = None

    @property
    def digest(self) -> str:
        """The hash of what is fixed before the first run."""
        return self.search.digest if self.search else self.design.digest


@dataclass(frozen=True)
class Snapshot:
    """All that a decision about an experiment rests on; `plan` is a sentence where the spec allows none."""

    experiment: Experiment
    now: datetime
    plan: Plan | str
    entries: Mapping[str, Entry]
    """What the ledger has of this experiment's jobs, by their names."""
    jobs: Mapping[str, Job]
    """Its jobs that exist, by their names."""
    results_ready: bool = False
    """Whether the results of exactly these observations have been stored."""
    prices: Prices = field(default_factory=Prices)
    """By which runs spend the budget."""

    def state_of(self, run: PlannedRun) -> RunState:
        """Where a run is: done when every job of it is in the ledger, under way when any is or exists."""
        found = [self.entries.get(job.name) for job in run.jobs]
        if all(found):
            failed = any(entry is not None and entry.observation.state == FAILED for entry in found)
            return RunState.FAILED if failed else RunState.SUCCEEDED
        if any(found) or any(job.name in self.jobs for job in run.jobs):
            return RunState.RUNNING
        return RunState.PENDING

    def open_jobs(self, run: PlannedRun) -> list[Job]:
        """The jobs of a run that exist and have yet to be observed."""
        return [self.jobs[job.name] for job in run.jobs if job.name in self.jobs and job.name not in self.entries]

    @property
    def spent(self) -> float:
        """What the runs so far have cost."""
        return sum(entry.observation.responses.get("money", 0.0) for entry in self.entries.values())

    @property
    def elapsed(self) -> timedelta:
        """How long ago the first run was due."""
        start = self.experiment.status.start_time
        return self.now - start if start else timedelta()
