"""A few jobs with ample time vary their settings, always the same ones in the same way."""

from typing import Any

from coxswain.core.jobs.view import Job
from coxswain.core.steering.explore import REASON, explores
from tests.unit.forecasts.making import job
from tests.unit.steering.making import EPOCHS, steps


def exploring(number: int, percent: int = 20, **spec: Any) -> Job:
    given: dict[str, Any] = {"parameters": {"epochs": 40}, "adjust": [EPOCHS], "deadline": {"within": "1h"}}
    return job(f"job-{number}", **{**given, "steering": {"explorePercent": percent}, **spec})


def first(percent: int = 20, **spec: Any) -> Job:
    """The first job that explores."""
    return next(one for number in range(200) if explores(one := exploring(number, percent, **spec)))


def test_as_many_jobs_explore_as_may_and_none_by_default() -> None:
    assert 0.15 < sum(explores(exploring(number)) for number in range(1000)) / 1000 < 0.25
    assert not any(explores(exploring(number, 0)) for number in range(1000))


def test_a_setting_is_drawn_within_what_is_allowed_and_recorded_with_its_reason() -> None:
    chosen = set()
    for number in range(150):
        one = exploring(number)
        if not explores(one):
            continue
        (step,) = steps(one)
        assert step.steered is None or 1 <= (step.steered.epochs or 0) <= 40
        chosen.add(step.steered.epochs if step.steered else 40)
        assert steps(one)[0].steered == step.steered
        for each in step.advice.adjusted:
            assert each.reason == REASON
    assert len(chosen) > 10


def test_who_has_no_ample_time_does_not_explore() -> None:
    one = first(deadline={"within": "150s"})
    (step,) = steps(one)
    # 10 s and 5 s an epoch: 26 epochs are about all that is in time, and 12 all that leaves as much again.
    explored = step.advice.reason == REASON
    assert explored
    assert step.steered is not None
    assert (step.steered.epochs or 0) <= 13
    (hurried,) = steps(first(deadline={"within": "31s"}))
    assert hurried.advice.reason != REASON
    late = {"conditions": [{"type": "DeadlineAttainable", "status": "False", "reason": "AtRisk", "message": ""}]}
    late["conditions"][0]["lastTransitionTime"] = "2026-01-01T12:00:00Z"
    assert not explores(Job({**one.manifest, "status": late}))


def test_nobody_explores_who_is_not_steered() -> None:
    one = first()
    spec = dict(one.manifest["spec"])
    for mode in ("DryRun", "Disabled"):
        assert not explores(Job({**one.manifest, "spec": {**spec, "steering": {"explorePercent": 20, "mode": mode}}}))
    (step,) = steps(Job({**one.manifest, "spec": {name: spec[name] for name in spec if name != "adjust"}}))
    assert step.advice.reason != REASON
