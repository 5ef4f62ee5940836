"""What the cluster holds about a job, as typed values: the TrainingJob, the Job of an attempt, its pods."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from coxswain.core.api import parse_job
from coxswain.core.api.job import SPARK_ONLY, TORCH_ONLY, JobSpec
from coxswain.core.api.objects import Object
from coxswain.core.api.status import Adjusted, Attempt, Forecast, Issued, JobStatus, parse_job_status, parse_time
from coxswain.core.demand import demand_of
from coxswain.core.errors import InputError
from coxswain.core.factors import Level
from coxswain.core.jobs.parameters import as_started, effective
from coxswain.core.manifests.attempt import ATTEMPT_LABEL, KUEUE_LABEL
from coxswain.core.workloads import problem_of

FINALIZER = "coxswain.dev/ledger"
"""Ours, from a job's start until the ledger has its result."""
EXPERIMENT_LABEL = "coxswain.dev/experiment"
RUN_ANNOTATION = "coxswain.dev/run"
"""Which run of its experiment a job is, as JSON: run, row, replicate, block, settings."""


@dataclass(frozen=True)
class Job(Object):
    """A TrainingJob as the cluster holds it; `problem` is the sentence about a spec that makes no sense."""

    @property
    def has_finalizer(self) -> bool:
        """Whether our finalizer is on it."""
        return FINALIZER in self.manifest["metadata"].get("finalizers", ())

    @property
    def in_kueue(self) -> bool:
        """Whether Kueue decides when it starts."""
        return KUEUE_LABEL in self.labels

    @cached_property
    def experiment(self) -> tuple[str, str] | None:
        """The name and UID of the experiment it is a run of."""
        for owner in self.manifest["metadata"].get("ownerReferences", ()):
            if owner.get("kind") == "TrainingExperiment" and owner.get("controller"):
                return owner["name"], owner["uid"]
        return None

    @property
    def probe_of(self) -> str | None:
        """The UID of the job that it is a probe of."""
        for owner in self.manifest["metadata"].get("ownerReferences", ()):
            if owner.get("kind") == "TrainingJob" and owner.get("controller"):
                return str(owner["uid"])
        return None

    @cached_property
    def _parsed(self) -> tuple[JobSpec | None, str | None]:
        try:
            return parse_job(self.manifest).spec, None
        except InputError as error:
            return None, str(error)

    @property
    def problem(self) -> str | None:
        """What is wrong with its spec."""
        return self._parsed[1]

    @property
    def spec(self) -> JobSpec:
        """What it asks for.

        Raises:
            InputError: if that makes no sense; `problem` tells beforehand.
        """
        spec, problem = self._parsed
        if spec is None:
            raise InputError(problem or "")
        return spec

    @cached_property
    def effective(self) -> JobSpec:
        """The job as it would start, or as it was started."""
        started = self.status.started_parameters
        return effective(self.spec) if started is None else as_started(self.spec, started)

    @cached_property
    def status(self) -> JobStatus:
        """What has been said about it so far."""
        return parse_job_status(self.manifest)

    @property
    def begun(self) -> bool:
        """Whether an attempt has been started, so that what it runs with is fixed."""
        return self.status.started_parameters is not None

    @property
    def deadline(self) -> datetime | None:
        """When it has to be finished."""
        wanted = self.spec.deadline
        if wanted is None:
            return None
        return wanted.at or self.created + timedelta(seconds=wanted.within or 0)

    @property
    def stop_at(self) -> datetime | None:
        """When its workers stop by themselves and leave the best they have, if it asks for that."""
        wanted = self.spec.deadline
        return self.deadline if wanted is not None and wanted.enforce == "Stop" else None

    @property
    def pod_count(self) -> int:
        """How many pods an attempt has."""
        return demand_of(self.effective).pods

    @property
    def holds_capacity(self) -> bool:
        """Whether an attempt is under way, or has just been promised its cores."""
        return self.status.attempt is not None and not self.in_kueue

    @property
    def waits(self) -> bool:
        """Whether it would start if there were room: it can run, and nobody but the operator decides when."""
        return self._able and not self.in_kueue and self.status.attempt is None

    @property
    def waits_in_kueue(self) -> bool:
        """Whether Kueue has yet to start it: until then it can be steered."""
        return self._able and self.in_kueue and not self.begun

    @property
    def _able(self) -> bool:
        return not (
            self.deleting or self.status.finished or self.problem or self.spec.suspend or self.refusal is not None
        )

    @property
    def refusal(self) -> str | None:
        """What only the operator knows to be wrong with its spec."""
        counted = [each.field for each in self.spec.adjust or () if each.field in TORCH_ONLY | SPARK_ONLY]
        if self.in_kueue and counted:
            return f"Kueue counts what a job needs when it comes, so {counted[0]} cannot be adjusted; leave it out."
        return problem_of(self.spec)


@dataclass(frozen=True)
class Child(Object):
    """The Job of an attempt."""

    @property
    def suspended(self) -> bool:
        """Whether its pods may not run."""
        return bool(self.manifest["spec"].get("suspend"))

    def belongs_to(self, job: Job) -> bool:
        """Whether it was created for this very job."""
        return any(owner["uid"] == job.uid for owner in self.manifest["metadata"].get("ownerReferences", ()))

    @property
    def template_annotations(self) -> Mapping[str, str]:
        """What its pods are told."""
        return self.manifest["spec"].get("template", {}).get("metadata", {}).get("annotations") or {}

    def condition(self, kind: str) -> Mapping[str, Any] | None:
        """A condition that holds."""
        for each in self.manifest.get("status", {}).get("conditions", ()):
            if each["type"] == kind and each["status"] == "True":
                found: Mapping[str, Any] = each
                return found
        return None

    @property
    def ended(self) -> bool:
        """Whether it will never run again, and all its pods have ended."""
        return self.condition("Complete") is not None or self.condition("Failed") is not None

    @property
    def ended_at(self) -> datetime | None:
        """When it ended, by the cluster's own clock."""
        condition = self.condition("Complete") or self.condition("Failed") or {}
        moment = condition.get("lastTransitionTime")
        return parse_time(moment) if moment else None

    @property
    def overdue(self) -> bool:
        """Whether it ended no sooner than it had to."""
        began = self.manifest.get("status", {}).get("startTime")
        allowed = self.manifest["spec"].get("activeDeadlineSeconds")
        if began is None or allowed is None or self.ended_at is None:
            return False
        return self.ended_at >= parse_time(began) + timedelta(seconds=allowed)

    @property
    def pods_left(self) -> int:
        """How many of its pods still run or are about to end."""
        status = self.manifest.get("status", {})
        return int(status.get("active", 0)) + int(status.get("terminating") or 0)


@dataclass(frozen=True)
class Pod(Object):
    """A pod of an attempt."""

    @property
    def index(self) -> int:
        """Which worker it is."""
        return int(self.labels.get("batch.kubernetes.io/job-completion-index", 0))

    @property
    def attempt(self) -> int:
        """Which attempt it belongs to."""
        return int(self.labels.get(ATTEMPT_LABEL, 0))

    @property
    def address(self) -> str | None:
        """Its address, once it has one."""
        address: str | None = self.manifest.get("status", {}).get("podIP")
        return address

    @property
    def node(self) -> str | None:
        """Where it was placed."""
        node: str | None = self.manifest["spec"].get("nodeName")
        return node

    @property
    def running(self) -> bool:
        """Whether its worker runs."""
        return "running" in self._container

    @property
    def terminated(self) -> Mapping[str, Any] | None:
        """How its worker ended."""
        found: Mapping[str, Any] | None = self._container.get("terminated")
        return found

    @property
    def word(self) -> dict[str, Any]:
        """The worker's termination message, as far as it is one of the contract."""
        try:
            word = json.loads((self.terminated or {}).get("message") or "")
        except ValueError:
            return {}
        return word if isinstance(word, dict) else {}

    @property
    def disruption(self) -> tuple[str, str] | None:
        """Why the cluster ended it, if the cluster did: a reason and a sentence."""
        status = self.manifest.get("status", {})
        if status.get("reason") == "Evicted":
            return "Evicted", status.get("message") or "the node evicted the pod."
        for each in status.get("conditions", ()):
            if each["type"] == "DisruptionTarget" and each["status"] == "True":
                return each.get("reason") or "Disrupted", each.get("message") or "the cluster ended the pod."
        return None

    @property
    def complaint(self) -> tuple[str, str] | None:
        """Why it does not run yet, in the cluster's own words: a reason and a sentence."""
        waiting = self._container.get("waiting") or {}
        if waiting.get("reason") and waiting["reason"] not in {"ContainerCreating", "PodInitializing"}:
            return waiting["reason"], waiting.get("message") or waiting["reason"]
        for each in self.manifest.get("status", {}).get("conditions", ()):
            if each["type"] == "PodScheduled" and each["status"] == "False":
                return each.get("reason") or "Unschedulable", each.get("message") or "no node takes the pod."
        return None

    @property
    def _container(self) -> Mapping[str, Any]:
        statuses = self.manifest.get("status", {}).get("containerStatuses") or [{}]
        state: Mapping[str, Any] = statuses[0].get("state") or {}
        return state


@dataclass(frozen=True)
class Snapshot:
    """All that a decision about a job rests on."""

    job: Job
    now: datetime
    child: Child | None = None
    """The Job of the attempt that is under way; None if it has none, or it is gone."""
    pods: tuple[Pod, ...] = ()
    complaints: tuple[tuple[str, str], ...] = ()
    """Why pods could not even be created, in the cluster's words: reasons and sentences."""
    progress: "Trained | None" = None
    outlook: "Outlook | None" = None
    advice: "Advice | None" = None
    invalid: str | None = None
    """What only the operator knows to be wrong with the spec."""
    probes: "tuple[Job, ...]" = ()
    """The probes of its family."""
    crowded: str | None = None
    """Why pods that are not ours leave no room for it."""
    never: str | None = None
    """Why the queue could not start it even if nothing else ran."""
    past: tuple[Child, ...] = ()
    """The Jobs of its attempts that are over, as far as they are still there."""

    @property
    def attempt(self) -> Attempt | None:
        """The attempt that is under way."""
        return self.job.status.attempt

    @property
    def ended_at(self) -> datetime:
        """When the attempt ended: not when that is noticed, which may be much later, unless nothing else is known."""
        return (self.child.ended_at if self.child else None) or self.now


@dataclass(frozen=True)
class Outlook:
    """A job's forecast, or why there is none: a reason and a sentence."""

    forecast: Forecast | None
    reason: str
    message: str
    issued: Issued | None = None
    """The same as it is kept to be scored; of a job that has not begun to train."""
    missing: int = 0
    """How many more finished runs like it are needed before it can be forecast."""
    observed: tuple[Mapping[str, Level], ...] = ()
    """What these ran with, while they are too few."""


@dataclass(frozen=True)
class Advice:
    """What the last plan said of a job that waits."""

    adjusted: tuple[Adjusted, ...] = ()
    """What it changes, or would."""
    attainable: bool | None = None
    reason: str = ""
    remedy: str | None = None
    """Of a job that will not make it: what would do."""


@dataclass(frozen=True)
class Trained:
    """How far a running job is, as its first worker said when it was last asked."""

    at: datetime
    state: str
    epochs: int
    planned: int
    seconds_per_epoch: float | None = None
    loss: float | None = None
    accuracy: float | None = None
    epoch_seconds: tuple[float, ...] = ()
    """The seconds of each epoch seen so far."""
