"""What a decision may ask of the cluster. Each may be carried out again after a crash and then changes nothing more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coxswain.core.verdict import Verdict


@dataclass(frozen=True)
class Launch:
    """Create the objects of the attempt that is under way."""

    number: int


@dataclass(frozen=True)
class Retarget:
    """Tell the pods of a Job that waits in Kueue to run with something else: annotations of its template."""

    job_name: str
    annotations: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TakeDown:
    """End the pods of an attempt by suspending its Job, which stays as the proof that the attempt was made."""

    job_name: str


@dataclass(frozen=True)
class Discard:
    """Delete the Job of an attempt, if it is still the one that was seen, in the version that was seen."""

    job_name: str
    uid: str
    version: str | None


@dataclass(frozen=True)
class ForgetPods:
    """Forget the pods that are gone: what they said last is of no use any more."""


@dataclass(frozen=True)
class Record:
    """Put what came out into the ledger."""

    verdict: Verdict


@dataclass(frozen=True)
class DropHelpers:
    """Delete the Service and the Secret of an attempt that has ended."""

    job_name: str


@dataclass(frozen=True)
class Probe:
    """Create a short run of the job's own, a TrainingJob, so that the job can be forecast."""

    name: str
    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class Release:
    """Take our finalizer off: nothing of the job can be lost any more."""


@dataclass(frozen=True)
class Remove:
    """Delete the job, whose time to live is over."""


Action = Launch | Retarget | TakeDown | Discard | ForgetPods | Record | DropHelpers | Probe | Release | Remove
