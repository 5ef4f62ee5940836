from datetime import timedelta
from typing import Any

import pytest

from coxswain.core.api.status import Adjusted, Forecast, JobStatus
from coxswain.core.jobs import actions
from coxswain.core.jobs.life import decide, not_before, start
from coxswain.core.jobs.view import FINALIZER, Advice, Job, Outlook, Trained
from tests.unit.jobs.making import NOON, after, begun, child, ended, job, next_job, pod, running, seen

SUCCESS = {"state": "succeeded", "epochs": 1, "seconds": {"total": 9.0}, "result": {"accuracy": 0.9}}
COMPLETE, FAILED = child(("Complete", "CompletionsReached")), child(("Failed", "PodFailurePolicy"))
PEER_LOST = {"state": "failed", "reason": "PeerLost", "message": "worker 1 is gone."}
BAD = {"state": "failed", "reason": "BadParameter", "message": "no network x."}


def test_a_new_job_waits_and_says_for_what() -> None:
    decision = decide(seen(job()))
    assert (decision.status.state, decision.actions) == ("Pending", ())
    admitted = decision.status.condition("Admitted")
    assert admitted
    assert (admitted.status, admitted.reason) == ("False", "Waiting")


def test_nothing_changes_when_nothing_happens() -> None:
    first = next_job(job(), decide(seen(job())))
    second = decide(seen(first, 3600))
    assert second.status == first.status
    assert second.notes == ()


def test_the_start_fixes_what_was_asked_for_overlaid_with_what_was_steered() -> None:
    adjust = [{"field": "epochs", "min": 1, "max": 20}]
    status = start(job(parameters={"epochs": 20, "batchSize": 32}, adjust=adjust, steered={"epochs": 12}), NOON)
    assert status.started_parameters
    assert (status.started_parameters["epochs"], status.started_parameters["batchSize"]) == (12, 32)
    assert status.attempt
    assert (status.state, status.attempt.number, status.attempt.job_name) == ("Starting", 1, "train-1")


def test_what_the_plan_changed_is_recorded_with_the_start() -> None:
    assert start(job(**STEERABLE, steered={"epochs": 12}), NOON, ADVICE).adjustments == (CHANGE,)
    assert start(job(), NOON).adjustments == ()
    dry = start(job(steering={"mode": "DryRun"}), NOON, ADVICE)
    told = dry.condition("Steered")
    assert told
    assert (dry.adjustments, told.message) == ((), "it would change epochs 20 → 12: to be done in time")


CHANGE = Adjusted(
    time=NOON + timedelta(microseconds=123_456), field="epochs", before=20, to=12, reason="to be done in time"
)
ADVICE = Advice((CHANGE,), attainable=True, reason=CHANGE.reason)
STEERABLE: dict[str, Any] = {"parameters": {"epochs": 20}, "adjust": [{"field": "epochs", "min": 1, "max": 40}]}


def changes(known: Job) -> list[tuple[float, float, str]]:
    return [(each.before, each.to, each.reason) for each in known.status.adjustments]


def test_an_adjustment_is_recorded_once_however_often_it_is_seen() -> None:
    known = job(start(job(**STEERABLE, steered={"epochs": 12}), NOON, ADVICE), **STEERABLE, steered={"epochs": 12})
    for _ in range(2):
        known = next_job(known, decide(seen(known, advice=ADVICE)))
        assert changes(known) == [(20, 12, CHANGE.reason)]


def test_an_adjustment_is_recorded_only_once_it_is_written() -> None:
    asked = job(**STEERABLE)
    assert decide(seen(asked, advice=ADVICE)).status.adjustments == ()


def test_an_adjustment_is_recorded_though_the_operator_that_made_it_is_gone() -> None:
    known = job(**STEERABLE, steered={"epochs": 12})
    for _ in range(2):
        known = next_job(known, decide(seen(known)))
        ((before, to, reason),) = changes(known)
        assert (before, to) == (20, 12)
        assert reason.startswith("found so")


def test_what_is_steered_no_longer_is_on_record_too() -> None:
    known = next_job(job(**STEERABLE), decide(seen(job(**STEERABLE, steered={"epochs": 12}), advice=ADVICE)))
    known = next_job(known, decide(seen(known)))
    assert [change[:2] for change in changes(known)] == [(20, 12), (12, 20)]


def test_a_begun_attempt_is_launched_until_its_job_is_known() -> None:
    assert decide(seen(begun(uid=None))).actions == (actions.Launch(1),)
    assert decide(seen(begun(), child=child(active=1))).actions == ()


def test_a_job_that_belongs_to_somebody_else_is_not_the_attempts() -> None:
    decision = decide(seen(begun(), child=child(uid="another")))
    assert decision.status.attempts[-1].reason == "JobMissing"


def test_a_missing_job_means_a_lost_attempt_and_never_a_silent_second_one() -> None:
    decision = decide(seen(begun()))
    assert decision.status.state == "Pending"
    assert decision.status.attempts[-1].completion_time == after(60)
    assert not any(isinstance(action, actions.Launch) for action in decision.actions)


def test_it_runs_once_all_pods_run() -> None:
    two: dict[str, Any] = {"resources": {"workers": 2}}
    one_of_two = decide(seen(begun(**two), child=child(active=2), pods=(running(0),)))
    assert one_of_two.status.state == "Starting"
    both = decide(seen(begun(**two), child=child(active=2), pods=(running(0), running(1))))
    assert both.status.state == "Running"
    assert [note.reason for note in both.notes] == ["Running"]


def test_a_job_that_was_taken_down_and_left_politely_waits_again_without_a_fault() -> None:
    stopping = decide(seen(begun(suspend=True), child=child(active=1), pods=(running(0),)))
    assert stopping.status.state == "Stopping"
    known = next_job(begun(suspend=True), stopping)
    polite = ended(0, {"state": "stopped", "epochs": 3})
    decision = decide(seen(known, child=COMPLETE, pods=(polite,)))
    assert decision.status.state == "Suspended"
    assert decision.status.attempts[-1].reason == "Suspended"


def test_success_is_recorded_before_it_is_said() -> None:
    decision = decide(seen(begun(), child=COMPLETE, pods=(ended(0, SUCCESS),)))
    assert isinstance(decision.actions[0], actions.Record)
    assert decision.status.state == "Succeeded"
    assert decision.status.result
    assert (decision.status.result.outcome, decision.status.result.accuracy) == ("Completed", 0.9)


def test_the_finalizer_goes_only_when_the_result_is_recorded() -> None:
    first = decide(seen(begun(), child=COMPLETE, pods=(ended(0, SUCCESS),)))
    assert actions.Release() not in first.actions
    second = decide(seen(next_job(begun(), first)))
    assert second.actions == (actions.DropHelpers("train-1"), actions.Release())
    assert second.status == first.status


def test_an_error_of_the_jobs_own_is_not_tried_again() -> None:
    decision = decide(seen(begun(), child=FAILED, pods=(ended(64, BAD),)))
    assert decision.status.state == "Failed"
    failed = decision.status.condition("Failed")
    assert failed
    assert (failed.reason, failed.message) == ("BadParameter", "no network x.")


def test_bad_luck_is_tried_again_as_often_as_allowed_each_time_after_a_longer_pause() -> None:
    current = begun(maxRetries=2)
    pauses = []
    for _ in range(2):
        decision = decide(seen(current, child=child(("Failed", ""), uid=_uid(current)), pods=(ended(75, PEER_LOST),)))
        assert decision.status.state == "Pending"
        current = next_job(current, decision)
        pause = not_before(current)
        assert pause
        pauses.append(pause - after(60))
        begun_again = start(current, after(60))
        current = next_job(current, decide(seen(job(begun_again, maxRetries=2))))
    last = decide(seen(current, child=child(("Failed", ""), uid=_uid(current)), pods=(ended(75, PEER_LOST),)))
    assert last.status.state == "Failed"
    assert last.status.result
    assert str(last.status.result.message).startswith("after 3 attempts:")
    assert pauses == [timedelta(seconds=10), timedelta(seconds=20)]


def _uid(current: Any) -> str:
    return str(current.status.attempts[-1].jobUID)


def test_suspending_takes_the_attempt_down_and_resuming_begins_another() -> None:
    current = begun(suspend=True)
    asked = decide(seen(current, child=child(active=1), pods=(running(),)))
    assert (asked.status.state, asked.actions) == ("Stopping", (actions.TakeDown("train-1"),))
    current = next_job(current, asked)
    ending = decide(seen(current, child=child(suspend=True, active=1)))
    assert (ending.status.state, ending.actions) == ("Stopping", ())
    over = decide(seen(current, child=child(suspend=True)))
    assert over.status.state == "Suspended"
    assert over.status.attempts[-1].reason == "Suspended"
    resumed = job(over.status)
    assert not_before(resumed) is None
    assert start(resumed, NOON).attempts[-1].number == 2


def test_a_result_that_came_while_it_was_taken_down_counts() -> None:
    decision = decide(seen(begun(suspend=True), child=COMPLETE, pods=(ended(0, SUCCESS),)))
    assert decision.status.state == "Succeeded"


def test_a_gang_that_does_not_start_in_time_goes_back_to_the_queue() -> None:
    waiting = pod(state={"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}})
    current = begun(startTimeoutSeconds=30)
    early = decide(seen(current, 29, child=child(active=1), pods=(waiting,)))
    assert early.actions == ()
    assert early.wake_at == after(30)
    placed = early.status.condition("Placed")
    assert placed
    assert (placed.reason, placed.message) == ("ImagePullBackOff", "worker 0: no such image")
    late = decide(seen(current, 30, child=child(active=1), pods=(waiting,)))
    assert late.actions == (actions.TakeDown("train-1"),)
    over = decide(seen(next_job(current, late), 31, child=child(suspend=True)))
    assert (over.status.state, over.status.attempts[-1].reason) == ("Pending", "StartTimeout")


def test_timeouts_do_not_use_up_the_retries() -> None:
    status = JobStatus()
    current = job(status, maxRetries=0)
    for _ in range(3):
        current = job(start(current, NOON), maxRetries=0)
        current = next_job(current, decide(seen(current)))
        current = next_job(current, decide(seen(current, child=child(uid=_uid(current), suspend=True))))
    current = job(start(current, NOON), maxRetries=0)
    current = next_job(current, decide(seen(current)))
    lost = decide(seen(current, child=child(("Failed", ""), uid=_uid(current)), pods=(ended(75, PEER_LOST),)))
    assert lost.status.state == "Failed"


def test_deleting_a_finished_run_that_is_not_recorded_records_it_first() -> None:
    deleted = {"deletionTimestamp": "2026-01-01T12:00:30Z"}
    decision = decide(seen(begun(metadata=deleted), child=COMPLETE, pods=(ended(0, SUCCESS),)))
    assert [type(action) for action in decision.actions] == [actions.Record, actions.Release]


def test_deleting_a_running_job_lets_it_go() -> None:
    deleted = {"deletionTimestamp": "2026-01-01T12:00:30Z"}
    assert decide(seen(begun(metadata=deleted), child=child(active=1))).actions == (actions.Release(),)
    assert decide(seen(job(metadata=deleted))).actions == ()


def test_a_finished_job_is_removed_when_its_time_is_over_and_its_finalizer_is_off() -> None:
    done = decide(seen(begun(ttlSecondsAfterFinished=100), child=COMPLETE, pods=(ended(0, SUCCESS),))).status
    early = decide(seen(job(done, ttlSecondsAfterFinished=100), 159))
    assert (early.actions, early.wake_at) == ((), after(160))
    assert decide(seen(job(done, ttlSecondsAfterFinished=100), 160)).actions == (actions.Remove(),)
    held = job(done, ttlSecondsAfterFinished=100, metadata={"finalizers": [FINALIZER]})
    assert actions.Remove() not in decide(seen(held, 160)).actions


@pytest.mark.parametrize(
    ("given", "reason", "sentence"),
    [
        ({"never": "it asks for 64 cores, but its queue has 2; ask for fewer."}, "TooLarge", "64 cores"),
        ({"invalid": "there is no network x."}, "InvalidSpec", "no network x"),
    ],
)
def test_what_cannot_run_is_held_with_a_sentence_said_once(given: Any, reason: str, sentence: str) -> None:
    first = decide(seen(job(), **given))
    admitted = first.status.condition("Admitted")
    assert admitted
    assert (first.status.state, admitted.reason) == ("Held", reason)
    assert sentence in admitted.message
    again = decide(seen(next_job(job(), first), 3600, **given))
    assert (again.status, again.notes) == (first.status, ())
    mended = decide(seen(next_job(job(), first), 3600))
    assert mended.status.state == "Pending"


def test_a_spec_that_makes_no_sense_is_held_whatever_it_says() -> None:
    broken = job(parameters={"epochs": "many"})
    decision = decide(seen(broken))
    assert decision.status.state == "Held"
    assert decision.notes[0].reason == "InvalidSpec"


def test_progress_is_written_by_the_epoch_and_not_by_the_second() -> None:
    def trained(seconds: float, epochs: int) -> Trained:
        return Trained(after(seconds), "training", epochs, planned=10, seconds_per_epoch=2.0)

    current = begun(parameters={"epochs": 10})
    around = {"child": child(active=1), "pods": (running(),)}
    first = decide(seen(current, 60, progress=trained(60, 3), **around))
    assert first.status.progress
    assert first.status.progress.expected_finish_time == after(74)
    assert first.status.columns
    assert first.status.columns.epochs == "3/10"
    later = decide(seen(next_job(current, first), 61, progress=trained(61, 3), **around))
    assert later.status == first.status
    next_epoch = decide(seen(next_job(current, first), 62, progress=trained(62, 4), **around))
    assert next_epoch.status != first.status


def test_without_enough_observations_it_says_how_many_are_missing() -> None:
    outlook = Outlook(None, "TooFewObservations", "2 more finished runs like it are needed; there are 1.")
    ready = decide(seen(job(), outlook=outlook)).status.condition("ModelReady")
    assert ready
    assert (ready.status, ready.message) == ("False", outlook.message)


def test_a_job_that_others_leave_no_room_is_told_so_for_as_long() -> None:
    crowded = decide(seen(job(), crowded="pods that are not Coxswain's fill the nodes."))
    condition = crowded.status.condition("Admitted")
    assert condition
    assert (crowded.status.state, condition.reason) == ("Pending", "NoRoom")
    room = decide(seen(next_job(job(), crowded))).status.condition("Admitted")
    assert room
    assert room.reason == "Waiting"


def test_a_deadline_that_has_passed_is_told_though_nothing_can_be_forecast() -> None:
    passed = decide(seen(job(deadline={"within": "30s"}), 31)).status.condition("DeadlineAttainable")
    assert passed
    assert (passed.status, passed.reason) == ("False", "Passed")
    assert decide(seen(job(deadline={"within": "30s"}), 29)).status.condition("DeadlineAttainable") is None


def test_a_job_that_starts_at_once_is_told_what_it_may_expect_and_what_would_do() -> None:
    asked = job(deadline={"within": "30s"})
    forecast = Forecast(time=NOON, confidence_percent=95, finish_time=after(100), chance_percent=20.0)
    outlook = Outlook(forecast, "Learned", "forecast from 9 finished runs like it.")
    status = start(asked, NOON, Advice(attainable=False, remedy="It would do with 4 epochs."), outlook)
    condition = status.condition("DeadlineAttainable")
    assert condition
    assert (condition.status, condition.reason) == ("False", "AtRisk")
    assert condition.message.endswith("It would do with 4 epochs.")
    assert status.forecast == forecast


def test_a_running_job_is_looked_at_when_its_deadline_passes() -> None:
    late = begun(deadline={"within": "90s"})
    assert decide(seen(late, 60, child=child(), pods=(running(),))).wake_at == after(90)
    passed = decide(seen(late, 90, child=child(), pods=(running(),)))
    assert passed.wake_at is None
    condition = passed.status.condition("DeadlineAttainable")
    assert condition
    assert condition.reason == "Passed"
