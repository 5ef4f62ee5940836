from dataclasses import replace

from coxswain.core.forecasts.learning import learn, settings_of
from coxswain.core.observations import FAILED, STOPPED, TIME_IS_OVER
from tests.unit.forecasts.making import STARTUP, entry


def test_a_family_learns_from_jobs_that_were_ended_early_but_does_not_count_them() -> None:
    finished = [entry(number, (5.0, 5.1, 4.9)) for number in range(6)]
    slow = entry(9, (5.0,), epochs=3)
    over = replace(
        slow.observation, state=FAILED, reason=TIME_IS_OVER, epochs=0, responses={"duration": STARTUP + 90.0}
    )
    killed = [replace(slow, uid=f"killed-{number}", observation=over) for number in range(3)]
    alone, both = learn(finished), learn([*finished, *killed])
    assert alone.runs == both.runs == 6
    settings = settings_of(slow.fields.items(), 1.0)
    assert alone.durations is not None
    assert both.durations is not None
    assert both.durations.predict(settings, 3).quantile(0.95) > 1.5 * alone.durations.predict(settings, 3).quantile(
        0.95
    )


def test_a_job_that_its_deadline_stopped_is_not_one_of_those_that_finished() -> None:
    finished = [entry(number, (5.0, 5.1, 4.9)) for number in range(6)]
    stopped = replace(finished[0], uid="stopped", observation=replace(finished[0].observation, state=STOPPED))
    assert learn([*finished[:2], stopped]).missing == 1
