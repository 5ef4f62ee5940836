from dataclasses import replace

import pytest

from coxswain.core.models import fit_durations
from coxswain.core.observations import FAILED, STOPPED, SUCCEEDED, TIME_IS_OVER, Curve, Observation
from coxswain.core.records import Told, records_of

STARTUP, TRAINING, VALIDATION = 4.0, 10.0, 2.0


def told(
    *,
    epochs: int = 3,
    state: str = SUCCEEDED,
    duration: float | None = None,
    reason: str | None = None,
    planned: int = 3,
) -> Told:
    """A job with a start-up and epochs as above; what is not in its curve is validation."""
    took = STARTUP + epochs * (TRAINING + VALIDATION) if duration is None else duration
    settings = {"batch_size": 32.0}
    observation = Observation(
        experiment="",
        run="run",
        job="run",
        row=0,
        replicate=0,
        block=0,
        digest="",
        settings=settings,
        responses={"duration": took} | ({"startup": STARTUP} if epochs else {}),
        state=state,
        reason=reason,
        started="2026-01-01T12:00:00.000Z",
        finished="2026-01-01T12:00:00.000Z",
        epochs=epochs,
        curve=Curve(epoch=tuple(range(1, epochs + 1)), seconds=(TRAINING,) * epochs),
    )
    return Told(observation, settings, planned)


def test_a_job_that_finished_tells_all_its_epochs_with_their_validation() -> None:
    [record] = records_of([told()])
    assert (record.startup, record.killed_after) == (STARTUP, None)
    assert record.epochs == pytest.approx([TRAINING + VALIDATION] * 3)


def test_a_job_of_which_only_the_whole_time_is_known_has_epochs_that_are_all_alike() -> None:
    finished = told()
    whole = replace(finished, observation=replace(finished.observation, curve=Curve()))
    [record] = records_of([whole])
    assert record.epochs == pytest.approx([TRAINING + VALIDATION] * 3)
    ingest = replace(whole, observation=replace(whole.observation, epochs=0))
    [record] = records_of([ingest])
    assert record.epochs == pytest.approx([3 * (TRAINING + VALIDATION)])


def test_a_job_stopped_by_its_deadline_tells_its_epochs_and_how_long_it_was_in_the_next() -> None:
    _, record = records_of([told(), told(epochs=2, state=STOPPED, duration=STARTUP + 2 * 12 + 7, planned=9)])
    assert record.epochs == pytest.approx([12, 12])
    assert record.killed_after == pytest.approx(7)


def test_a_job_stopped_in_its_first_epoch_tells_only_lower_limits() -> None:
    _, record = records_of([told(), told(epochs=0, state=STOPPED, duration=STARTUP + 30)])
    assert (record.startup, list(record.epochs), record.killed_after) == (STARTUP, [], 30)


def test_a_job_stopped_while_it_started_tells_nothing_about_epochs() -> None:
    _, record = records_of([told(), told(epochs=0, state=STOPPED, duration=STARTUP / 2)])
    assert (record.startup, list(record.epochs), record.killed_after) == (STARTUP / 2, [], 0)


def test_a_job_that_left_no_word_when_its_time_was_over_tells_by_the_epochs_it_was_to_train() -> None:
    killed = told(epochs=0, state=FAILED, reason=TIME_IS_OVER, duration=STARTUP + 100, planned=5)
    _, record = records_of([told(), killed])
    assert (record.startup, list(record.epochs), record.killed_after) == (0, [], 20)


def test_a_job_that_failed_of_its_own_fault_tells_nothing() -> None:
    assert len(records_of([told(), told(epochs=0, state=FAILED, reason="Diverged", duration=9)])) == 1


def test_without_a_job_that_finished_there_is_nothing_to_learn_from() -> None:
    assert records_of([told(state=STOPPED)]) == []


def test_jobs_that_were_killed_make_forecasts_longer() -> None:
    finished = [told() for _ in range(6)]
    killed = [told(epochs=0, state=FAILED, reason=TIME_IS_OVER, duration=400, planned=3) for _ in range(3)]
    alone, both = (
        fit_durations(records_of(runs)).predict({"batch_size": 32.0}, 3) for runs in (finished, finished + killed)
    )
    assert both.quantile(0.95) > 1.5 * alone.quantile(0.95)
    assert both.cdf(100.0) < alone.cdf(100.0)
