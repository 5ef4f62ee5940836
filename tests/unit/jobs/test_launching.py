"""Attempts whose Job is not there yet: created, refused, found, or given up."""

from coxswain.core.api.status import LONGEST_MESSAGE
from coxswain.core.jobs import actions
from coxswain.core.jobs.life import decide, not_before, not_created
from coxswain.core.jobs.view import Job
from tests.unit.jobs.making import after, begun, child, job, next_job, seen

QUOTA = 'jobs.batch "train-1" is forbidden: exceeded quota: few, requested: count/jobs.batch=1, used: 1, limited: 1'


def refused(known: Job) -> Job:
    return next_job(known, not_created(seen(known), known.status, QUOTA))


def test_a_job_that_the_server_does_not_create_is_told_so_in_its_own_words_and_once() -> None:
    known = begun(uid=None)
    decision = not_created(seen(known), known.status, QUOTA)
    placed = decision.status.condition("Placed")
    assert placed
    assert (placed.status, placed.reason, placed.message) == ("False", "NotCreated", QUOTA)
    assert [(note.reason, note.message, note.warning) for note in decision.notes] == [("NotCreated", QUOTA, True)]
    again = not_created(seen(next_job(known, decision), 61), decision.status, QUOTA)
    assert (again.status, again.notes) == (decision.status, ())


def test_an_attempt_without_a_job_is_over_with_its_time_and_says_why() -> None:
    known = refused(begun(uid=None, startTimeoutSeconds=30))
    early = decide(seen(known, 29))
    assert (early.actions, early.wake_at) == ((actions.Launch(1),), after(30))
    late = decide(seen(known, 30))
    last = late.status.attempts[-1]
    assert (late.status.state, late.status.attempt, last.reason) == ("Pending", None, "StartTimeout")
    assert last.message == f"its Job could not be created within startTimeoutSeconds: {QUOTA}"
    assert actions.Launch(1) not in late.actions
    assert not_before(job(late.status)) == after(40)


def test_what_the_server_says_at_length_is_cut_to_what_it_takes() -> None:
    known = begun(uid=None)
    long = next_job(known, not_created(seen(known), known.status, "no. " * LONGEST_MESSAGE))
    message = decide(seen(long, 9999)).status.attempts[-1].message
    assert message
    assert len(message) == LONGEST_MESSAGE


def test_a_job_that_was_created_but_not_recorded_is_the_attempts_however_late_it_is() -> None:
    late = decide(seen(begun(uid=None), 9999, child=child(uid="found", active=1)))
    attempt = late.status.attempt
    assert attempt
    assert (attempt.jobUID, late.actions) == ("found", ())


def test_a_job_of_the_same_name_that_belongs_to_something_else_is_in_the_way_and_not_the_attempts() -> None:
    other = child(uid="found", metadata={"ownerReferences": [{"uid": "other"}]})
    assert decide(seen(begun(uid=None), 60, child=other)).actions == (actions.Launch(1),)
    assert decide(seen(begun(uid=None), 9999, child=other)).status.attempts[-1].reason == "StartTimeout"


def test_an_attempt_without_a_job_ends_when_the_user_suspends_it() -> None:
    decision = decide(seen(begun(uid=None, suspend=True)))
    assert (decision.status.state, decision.status.attempts[-1].reason) == ("Suspended", "Suspended")
    assert actions.Launch(1) not in decision.actions
