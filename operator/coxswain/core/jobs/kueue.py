"""A job that Kueue queues: its Job is created suspended, and Kueue decides when it runs.

While it waits there it can still be steered, by the annotations of its template, which its pods read. When Kueue starts
it, those are fixed by the API server itself: what they say then is what the job runs with, whatever was planned, and
what it is tried again with. The `suspend` of such a Job is Kueue's and is never written again. So

    Kueue suspends a Job that ran     it takes it back: the same Job waits again, and goes on when Kueue starts it
    an attempt has to end             its Job is deleted: one that is left behind suspended is one that Kueue may start
"""

from coxswain.core.api.status import ADMITTED, PLACED, JobStatus
from coxswain.core.jobs import words
from coxswain.core.jobs.actions import Discard, ForgetPods, Retarget
from coxswain.core.jobs.decision import Decision, Note
from coxswain.core.jobs.ending import PREEMPTED
from coxswain.core.jobs.foreseen import with_issued
from coxswain.core.jobs.parameters import parameters_told
from coxswain.core.jobs.view import Child, Snapshot
from coxswain.core.manifests.attempt import KUEUE_LABEL
from coxswain.core.manifests.environment import annotation, variables

WAITS = "WaitsInKueue"


def holds(child: Child) -> bool:
    """Whether Kueue decides when this Job runs, whatever the job's own label says by now."""
    return KUEUE_LABEL in child.labels


def enter(seen: Snapshot, said: JobStatus) -> Decision:
    """Hand a job over to Kueue; `said` is what else there is to say of it."""
    status = said.attempted(seen.job.name, seen.now, queued=True)
    return Decision(_waits(status, seen), notes=(Note(WAITS, "it is handed over to Kueue."),))


def wait(seen: Snapshot, child: Child, said: JobStatus) -> Decision:
    """A job that waits in Kueue: keep what its pods will be told up to date."""
    wanted = {annotation(name): value for name, value in variables(seen.job.effective).items()}
    told = child.template_annotations
    differs = {name: value for name, value in wanted.items() if told.get(name) != value}
    actions = (Retarget(seen.job.status.attempts[-1].job_name, tuple(sorted(differs.items()))),) if differs else ()
    return Decision(_waits(said, seen), actions)


def started(seen: Snapshot, child: Child) -> Decision:
    """Kueue has started it: from now on nothing of it changes."""
    job = seen.job
    update = {
        "state": "Starting",
        "started_parameters": job.status.started_parameters
        or parameters_told(job.effective, child.template_annotations),
        "start_time": job.status.start_time or seen.now,
    }
    status = job.status.with_last_attempt(start_time=seen.now, queued=None).model_copy(update=update)
    status = status.having(ADMITTED, "True", "Started", "Kueue has started it.", now=seen.now)
    status = with_issued(status, seen, starts=True)
    return Decision(status, (ForgetPods(),), (Note("Started", "Kueue has started it."),))


def taken_back(seen: Snapshot, said: JobStatus) -> Decision:
    """Kueue has suspended a Job that ran, and its pods are gone: it waits there as before."""
    message = "Kueue has taken it back, and will start it again."
    status = _waits(said.with_last_attempt(queued=True), seen)
    return Decision(status, notes=(Note(PREEMPTED, message, warning=True),))


def discard(child: Child, job_name: str) -> Discard:
    """Delete a Job as it was seen: if it has ended since, that has to be seen first."""
    return Discard(job_name, child.uid, child.manifest["metadata"].get("resourceVersion"))


def _waits(status: JobStatus, seen: Snapshot) -> JobStatus:
    message = "Kueue decides when it starts."
    status = with_issued(status.model_copy(update={"progress": None}), seen)
    status = status.having(ADMITTED, "False", WAITS, message, now=seen.now)
    if status.condition(PLACED):
        status = status.having(PLACED, "False", WAITS, message, now=seen.now)
    return words.with_columns(status, seen.job)
