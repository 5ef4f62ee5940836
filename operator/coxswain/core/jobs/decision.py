"""What a decision about a job consists of."""

from dataclasses import dataclass
from datetime import datetime

from coxswain.core.api.status import JobStatus
from coxswain.core.jobs.actions import Action


@dataclass(frozen=True)
class Note:
    """An event for people."""

    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True)
class Decision:
    """What to do, in order; then what to write; then what to tell; and when to look again if nothing happens before."""

    status: JobStatus
    actions: tuple[Action, ...] = ()
    notes: tuple[Note, ...] = ()
    wake_at: datetime | None = None
