"""A job that Kueue queues: its Job is created suspended, and Kueue decides when it runs.

While it waits there it can still be steered, by the annotations of its template, which its pods read. When Kueue starts
it, those are fixed by the API server itself: what they say then is what the job runs with, whatever was planned. The
`suspend` of such a Job is Kueue's and is never written again.
"""

from coxswain.core.api.status import ADMITTED, Attempt, JobStatus
from coxswain.core.jobs.actions import Retarget
from coxswain.core.jobs.decision import Decision, Note
from coxswain.core.jobs.foreseen import with_issued
from coxswain.core.jobs.parameters import parameters_told
from coxswain.core.jobs.view import Child, Snapshot
from coxswain.core.manifests.environment import annotation, variables

WAITS = "WaitsInKueue"


def enter(seen: Snapshot, said: JobStatus) -> Decision:
    """Hand a job over to Kueue; `said` is what else there is to say of it."""
    job = seen.job
    number = job.status.attempts[-1].number + 1 if job.status.attempts else 1
    attempt = Attempt(number=number, job_name=f"{job.name}-{number}", start_time=seen.now)
    status = said.model_copy(update={"attempts": (*job.status.attempts, attempt)})
    return Decision(_waits(status, seen), notes=(Note(WAITS, "it is handed over to Kueue."),))


def wait(seen: Snapshot, child: Child, said: JobStatus) -> Decision:
    """A job that waits in Kueue: keep what its pods will be told up to date."""
    wanted = {annotation(name): value for name, value in variables(seen.job.effective).items()}
    told = child.template_annotations
    differs = {name: value for name, value in wanted.items() if told.get(name) != value}
    actions = (Retarget(seen.job.status.attempts[-1].job_name, tuple(sorted(differs.items()))),) if differs else ()
    return Decision(_waits(said, seen), actions)


def _waits(status: JobStatus, seen: Snapshot) -> JobStatus:
    return with_issued(status, seen).having(ADMITTED, "False", WAITS, "Kueue decides when it starts.", now=seen.now)


def started(seen: Snapshot, child: Child) -> Decision:
    """Kueue has started it: from now on nothing of it changes."""
    job = seen.job
    told = parameters_told(job.effective, child.template_annotations)
    begun = job.status.attempts[-1].model_copy(update={"start_time": seen.now})
    update = {
        "state": "Starting",
        "started_parameters": told,
        "start_time": job.status.start_time or seen.now,
        "attempts": (*job.status.attempts[:-1], begun),
    }
    status = job.status.model_copy(update=update)
    status = status.having(ADMITTED, "True", "Started", "Kueue has started it.", now=seen.now)
    return Decision(with_issued(status, seen, starts=True), notes=(Note("Started", "Kueue has started it."),))
