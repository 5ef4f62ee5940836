"""The decision about one job: given all that is seen of it, what to do next and what to say.

The rules are asked in turn and the first that has an answer decides. What is to be done is done before the status is
written, so that a status never claims what has not happened; and each thing to be done may be done twice, so that a
crash in between costs nothing. The one exception is the start: it is the status that makes it, by fixing the
parameters (`start`), and only then are the attempt's objects created.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from coxswain.core.api.status import (
    ADMITTED,
    COMPLETE,
    FAILED,
    LONGEST_MESSAGE,
    PLACED,
    SUSPENDED,
    Attempt,
    JobState,
    JobStatus,
)
from coxswain.core.jobs import cold, kueue, words
from coxswain.core.jobs.actions import Action, DropHelpers, Launch, Record, Release, Remove, TakeDown
from coxswain.core.jobs.decision import Decision, Note
from coxswain.core.jobs.ending import PREEMPTED, START_TIMEOUT, SUSPENSION, missing, verdict_of
from coxswain.core.jobs.foreseen import with_advice, with_issued, with_outlook
from coxswain.core.jobs.parameters import started_parameters
from coxswain.core.jobs.view import Advice, Child, Job, Outlook, Snapshot
from coxswain.core.observations import FAILED as RUN_FAILED
from coxswain.core.verdict import Verdict

NOT_CREATED = "NotCreated"
"""Why pods are not placed whose Job, or what it needs, the API server does not create."""
INFEASIBLE, COLD_START, NO_ROOM = "Infeasible", "ColdStart", "NoRoom"
# Why a job is not admitted, as long as that is so; it waits as usual when it is no longer.
_WHILE = {"InvalidSpec", "TooLarge", INFEASIBLE, COLD_START, NO_ROOM}
_NO_FAULT = {SUSPENSION, START_TIMEOUT, PREEMPTED}
_NO_PAUSE = {SUSPENSION, PREEMPTED}
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=10), timedelta(minutes=5)


def decide(snapshot: Snapshot) -> Decision:
    """The decision."""
    decision = _decided(snapshot)
    # An operator that wakes up late may create a Job for an attempt that is over.
    strays = tuple(kueue.discard(each, each.name) for each in snapshot.past if _is_stray(each, snapshot.job))
    return replace(decision, actions=(*strays, *decision.actions)) if strays else decision


def _decided(snapshot: Snapshot) -> Decision:
    for rule in (_deleted, _finished, _under_way, _refused, _suspended, _cold, _hopeless):
        decision = rule(snapshot)
        if decision is not None:
            return decision
    return _waiting(snapshot)


def _is_stray(past: Child, job: Job) -> bool:
    """Whether the Job of an attempt that is over runs, or might be started by Kueue."""
    return past.belongs_to(job) and not past.ended and (not past.suspended or kueue.holds(past))


def start(job: Job, now: datetime, advice: Advice | None = None, outlook: Outlook | None = None) -> JobStatus:
    """The status that starts a job: its parameters are fixed, and its next attempt has begun.

    `advice` is what the plan said that it starts by, and `outlook` its forecast if it starts at once; there is no
    later moment to record them.
    """
    status = job.status.attempted(job.name, now)
    number = status.attempts[-1].number
    status = status.model_copy(
        update={
            "state": "Starting",
            "started_parameters": job.status.started_parameters or started_parameters(job.effective),
            "start_time": job.status.start_time or now,
            "observed_generation": job.generation,
        }
    )
    status = status.having(ADMITTED, "True", "Started", f"attempt {number} has begun.", now=now)
    status = status.having(SUSPENDED, "False", "Started", "it may run.", now=now)
    seen = Snapshot(job, now, advice=advice, outlook=outlook)
    status = with_outlook(with_advice(status, seen), seen)
    return words.with_columns(with_issued(status, seen, starts=True), job)


def not_before(job: Job) -> datetime | None:
    """The earliest time of the next attempt: each failure doubles the pause."""
    last = job.status.attempts[-1] if job.status.attempts else None
    if last is None or last.completion_time is None or last.reason in _NO_PAUSE:
        return None
    failures = sum(each.reason not in _NO_PAUSE for each in job.status.attempts)
    pause = min(_FIRST_PAUSE * 2.0 ** (failures - 1), _LONGEST_PAUSE)
    return last.completion_time + pause


def start_due(job: Job, attempt: Attempt) -> datetime:
    """When all pods of an attempt have to run, or it is taken down."""
    return attempt.start_time + timedelta(seconds=job.spec.start_timeout_seconds)


def not_created(seen: Snapshot, status: JobStatus, sentence: str) -> Decision:
    """What to say when the API server does not create what an attempt needs, in its own words."""
    before = status.condition(PLACED)
    news = before is None or (before.reason, before.message) != (NOT_CREATED, sentence[:LONGEST_MESSAGE])
    status = status.having(PLACED, "False", NOT_CREATED, sentence, now=seen.now)
    return Decision(status, notes=(Note(NOT_CREATED, sentence, warning=True),) if news else ())


def _deleted(seen: Snapshot) -> Decision | None:
    job = seen.job
    if not job.deleting:
        return None
    actions: list[Action] = []
    attempt = seen.attempt
    if attempt is not None and seen.child is not None and seen.child.uid == attempt.jobUID and seen.child.ended:
        verdict = verdict_of(seen.child, seen.pods, job.pod_count, job.stop_at)
        if not verdict.retry:
            actions.append(Record(verdict))
    if job.has_finalizer:
        actions.append(Release())
    return Decision(job.status, tuple(actions))


def _finished(seen: Snapshot) -> Decision | None:
    job, status = seen.job, seen.job.status
    if not status.finished:
        return None
    actions: tuple[Action, ...] = ()
    if job.has_finalizer:
        last = [DropHelpers(status.attempts[-1].job_name)] if status.attempts else []
        actions = (*last, Release())
    seconds = None if job.problem else job.spec.ttl_seconds_after_finished
    if seconds is None or status.completion_time is None:
        return Decision(status, actions)
    due = status.completion_time + timedelta(seconds=seconds)
    if seen.now >= due and not actions:
        return Decision(status, (Remove(),))
    return Decision(status, actions, wake_at=max(due, seen.now))


def _under_way(seen: Snapshot) -> Decision | None:  # noqa: PLR0911 - one for each thing that may be the case
    attempt, child = seen.attempt, seen.child
    if attempt is None:
        return None
    if attempt.jobUID is None:
        return _unlaunched(seen, attempt)
    if child is None or child.uid != attempt.jobUID:
        return _gone(seen, attempt)
    if child.ended:
        return _over(seen, attempt, child)
    if kueue.holds(child) and (decision := _in_kueue(seen, attempt, child)) is not None:
        return decision
    if child.suspended:
        return _taken_down(seen, pods_left=child.pods_left)
    if seen.job.spec.suspend:
        return _stopping(seen, SUSPENSION, "suspend is true: the attempt ends, another goes on from its checkpoint.")
    due = start_due(seen.job, attempt)
    running = len(seen.pods) >= seen.job.pod_count and all(pod.running or pod.terminated for pod in seen.pods)
    if not running and seen.now >= due:
        _, why = words.placement(seen)
        return _stopping(seen, START_TIMEOUT, f"its pods did not all start within startTimeoutSeconds: {why}")
    return _running(seen, running=running, due=due)


def _unlaunched(seen: Snapshot, attempt: Attempt) -> Decision:
    """An attempt of whose Job nothing is known: it is created, unless it is too late for that.

    Then the API server has been asked, and the attempt is over only if there is none.
    """
    if seen.child is not None and seen.child.belongs_to(seen.job):
        # An operator created it that ended before it could say so.
        return Decision(_said(seen, "Starting").with_last_attempt(jobUID=seen.child.uid))
    if seen.job.spec.suspend:
        return _back_to_the_queue(seen, SUSPENSION, "suspend is true, and its Job had not been created.")
    due = start_due(seen.job, attempt)
    if seen.now >= due:
        placed = seen.job.status.condition(PLACED)
        why = placed.message if placed and placed.reason == NOT_CREATED else "no operator was there to do so."
        message = f"its Job could not be created within startTimeoutSeconds: {why}"
        return _back_to_the_queue(seen, START_TIMEOUT, message, warning=True)
    return Decision(_said(seen, "Starting"), (Launch(attempt.number),), wake_at=due)


def _gone(seen: Snapshot, attempt: Attempt) -> Decision:
    """The attempt's Job is gone: we have deleted it, if the attempt had to end, else somebody else has."""
    if attempt.reason is None:
        return _ended(seen, missing())
    return _taken_down(seen, pods_left=sum(pod.terminated is None for pod in seen.pods))


def _over(seen: Snapshot, attempt: Attempt, child: Child) -> Decision:
    verdict = verdict_of(child, seen.pods, seen.job.pod_count, seen.job.stop_at)
    reason = attempt.reason or (PREEMPTED if child.suspended and kueue.holds(child) else None)
    if verdict.retry and reason:
        # It was taken down, and its workers were quick to go.
        return _back_to_the_queue(seen, reason, attempt.message or "the attempt was taken down.")
    return _ended(seen, verdict)


def _in_kueue(seen: Snapshot, attempt: Attempt, child: Child) -> Decision | None:
    """What is special about an attempt whose Job is Kueue's; nothing while it runs and may."""
    if attempt.reason:
        # Said before it is done: without its Job nothing else would tell why the attempt is over.
        return Decision(_said(seen, "Stopping"), (kueue.discard(child, attempt.job_name),))
    if not child.suspended:
        return kueue.started(seen, child) if attempt.queued or not seen.job.begun else None
    if seen.job.spec.suspend:
        return _stopping(seen, SUSPENSION, "suspend is true: it does not wait in Kueue any longer.")
    if attempt.queued:
        return kueue.wait(seen, child, _said(seen, "Pending"))
    if child.pods_left:
        return Decision(_said(seen, "Stopping"))
    return kueue.taken_back(seen, _said(seen, "Pending"))


def _running(seen: Snapshot, *, running: bool, due: datetime) -> Decision:
    state: JobState = "Running" if running or seen.job.status.state == "Running" else "Starting"
    reason, message = words.placement(seen)
    status = _said(seen, state)
    placed = seen.job.status.condition(PLACED)
    if running:
        status = status.having(PLACED, "True", "AllRun", "all pods have been placed and started.", now=seen.now)
    else:
        status = status.having(PLACED, "False", reason, message, now=seen.now)
    notes: tuple[Note, ...] = ()
    if running and (placed is None or placed.status != "True"):
        notes = (Note("Running", f"all pods of attempt {status.attempts[-1].number} run."),)
    elif not running and reason not in {"Creating", placed.reason if placed else ""}:
        notes = (Note(reason, message, warning=True),)
    # When its deadline passes that is told, though its workers say nothing then.
    ahead = [moment for moment in (None if running else due, seen.job.deadline) if moment and moment > seen.now]
    return Decision(status, notes=notes, wake_at=min(ahead, default=None))


def _stopping(seen: Snapshot, reason: str, message: str) -> Decision:
    status = _said(seen, "Stopping").with_last_attempt(reason=reason, message=message[:LONGEST_MESSAGE])
    notes = (Note(reason, message, warning=reason == START_TIMEOUT),)
    if seen.child is not None and kueue.holds(seen.child):
        return Decision(status, notes=notes)
    return Decision(status, (TakeDown(status.attempts[-1].job_name),), notes)


def _taken_down(seen: Snapshot, *, pods_left: int) -> Decision:
    """The Job is suspended or deleted, by us: when its pods are gone, the attempt is over and the job waits again."""
    if pods_left:
        return Decision(_said(seen, "Stopping"))
    last = seen.job.status.attempts[-1]
    reason = last.reason or (SUSPENSION if seen.job.spec.suspend else START_TIMEOUT)
    return _back_to_the_queue(seen, reason, last.message or "the attempt was taken down.")


def _ended(seen: Snapshot, verdict: Verdict) -> Decision:
    job = seen.job
    faults = sum(each.reason not in _NO_FAULT for each in job.status.attempts)
    sentence = verdict.message or "it ended without a reason."
    if verdict.retry and faults <= job.spec.max_retries:
        return _back_to_the_queue(seen, verdict.reason or "Failed", sentence, warning=True)
    attempt = job.status.attempts[-1]
    if verdict.retry:
        sentence = f"after {faults} attempts: {sentence}"
    closed = _closed(job.status, seen.ended_at, verdict.reason or "Succeeded", verdict.message)
    succeeded = verdict.state != RUN_FAILED
    status = closed.model_copy(
        update={
            "state": "Succeeded" if succeeded else "Failed",
            "completion_time": seen.ended_at,
            "progress": words.last_progress(job, verdict) or closed.progress,
            "result": words.result_of(job, verdict, sentence),
        }
    )
    if succeeded:
        note = Note("Completed", words.summary(status))
        status = status.having(COMPLETE, "True", "Completed", note.message, now=seen.now)
    else:
        note = Note(verdict.reason or "Failed", sentence, warning=True)
        status = status.having(FAILED, "True", note.reason, sentence, now=seen.now)
    status = words.with_columns(status, job)
    return Decision(status, (Record(verdict), DropHelpers(attempt.job_name)), (note,))


def _back_to_the_queue(seen: Snapshot, reason: str, message: str, *, warning: bool = False) -> Decision:
    job = seen.job
    status = _closed(job.status, seen.now, reason, message)
    suspended = job.spec.suspend
    status = status.model_copy(update={"state": "Suspended" if suspended else "Pending", "progress": None})
    if suspended:
        status = status.having(SUSPENDED, "True", SUSPENSION, "suspend is true.", now=seen.now)
    told = f"attempt {status.attempts[-1].number} is over: {message}"
    status = status.having(ADMITTED, "False", reason, told, now=seen.now)
    notes = (Note(reason, told, warning=True),) if warning else ()
    drop = DropHelpers(status.attempts[-1].job_name)
    return Decision(words.with_columns(status, job), (drop,), notes)


def _closed(status: JobStatus, now: datetime, reason: str, message: str | None) -> JobStatus:
    cut = None if message is None else message[:LONGEST_MESSAGE]
    return status.with_last_attempt(completion_time=now, reason=reason, message=cut)


def _refused(seen: Snapshot) -> Decision | None:
    invalid = seen.job.problem or seen.invalid
    problem = invalid or seen.never
    if problem is None:
        return None
    reason = "InvalidSpec" if invalid else "TooLarge"
    status = _said(seen, "Held")
    before = seen.job.status.condition(ADMITTED)
    status = status.having(ADMITTED, "False", reason, problem, now=seen.now)
    new = before is None or (before.reason, before.message) != (reason, problem)
    return Decision(status, notes=(Note(reason, problem, warning=True),) if new else ())


def _suspended(seen: Snapshot) -> Decision | None:
    if not seen.job.spec.suspend:
        return None
    # What was forecast of it did not know that it would be held back.
    status = _said(seen, "Suspended").model_copy(update={"issued": None})
    return Decision(status.having(SUSPENDED, "True", SUSPENSION, "suspend is true.", now=seen.now))


def _cold(seen: Snapshot) -> Decision | None:
    """A job that does not start before enough is known of runs like it, if it says so."""
    if not cold.waits(seen.job, seen.outlook, seen.probes):
        return None
    message = cold.told(seen.job, seen.outlook, seen.probes)
    status = _said(seen, "Held").having(ADMITTED, "False", COLD_START, message, now=seen.now)
    probe = cold.next_probe(seen.job, seen.outlook, seen.probes)
    if probe is None:
        return Decision(status)
    return Decision(status, (probe,), (Note("Probing", f"{probe.name} runs first, so that it can be forecast."),))


def _hopeless(seen: Snapshot) -> Decision | None:
    """A job that cannot be in time is held or fails, if it says so; without saying so it runs as well as it can."""
    job, advice = seen.job, seen.advice
    if advice is None or advice.attainable is not False or job.spec.steering.when_infeasible == "RunAnyway":
        return None
    message = f"it cannot meet its deadline. {advice.remedy or ''}".strip()
    if job.spec.steering.when_infeasible == "Hold":
        status = _said(seen, "Held")
        return Decision(status.having(ADMITTED, "False", INFEASIBLE, message, now=seen.now))
    verdict = Verdict(RUN_FAILED, INFEASIBLE, message)
    update = {"completion_time": seen.now, "result": words.result_of(job, verdict, message)}
    status = _said(seen, "Failed").model_copy(update=update)
    status = status.having(FAILED, "True", INFEASIBLE, message, now=seen.now)
    note = Note(INFEASIBLE, message, warning=True)
    return Decision(words.with_columns(status, job), (Record(verdict),), (note,))


def _waiting(seen: Snapshot) -> Decision:
    job = seen.job
    status = with_issued(_said(seen, "Pending"), seen)
    if status.condition(SUSPENDED):
        status = status.having(SUSPENDED, "False", "Resumed", "it may run.", now=seen.now)
    pause = not_before(job)
    paused = pause is not None and pause > seen.now
    if job.in_kueue and not paused:
        return kueue.enter(seen, status)
    before = status.condition(ADMITTED)
    if seen.crowded:
        status = status.having(ADMITTED, "False", NO_ROOM, seen.crowded, now=seen.now)
    elif before is None or before.status == "True" or before.reason in _WHILE:
        message = f"it waits in queue {job.spec.queue_name} for its turn and for room."
        status = status.having(ADMITTED, "False", "Waiting", message, now=seen.now)
    return Decision(status, wake_at=pause if paused else None)


def _said(seen: Snapshot, state: JobState) -> JobStatus:
    """What holds of a job in any state that is not final."""
    job = seen.job
    deadline = None if job.problem else job.deadline
    update = {"state": state, "observed_generation": job.generation, "deadline_time": deadline}
    status = job.status.model_copy(update=update)
    status = with_outlook(words.with_progress(status, seen), seen)
    return words.with_columns(with_advice(status, seen), job) if not job.problem else status
