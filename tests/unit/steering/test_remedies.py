"""What a job that cannot be in time is told would do; and that it does."""

import re
from typing import Any

import pytest

from coxswain.core.planning.values import Capacity
from coxswain.core.steering.alternatives import around, beyond
from tests.unit.forecasts.making import job
from tests.unit.steering.making import steps

MANY = [{"field": "epochs", "min": 10, "max": 40}]
BEYOND = re.compile(r"It would do with epochs (\d+) instead of at least 10[.]")
LATER = re.compile(r"A deadline (\d+) s later would be met with 95 %")


def asking(name: str, within: float, adjust: list[dict[str, Any]] | None = None, **spec: Any) -> Any:
    return job(name, parameters={"epochs": 20}, adjust=adjust or MANY, deadline={"within": f"{within:g}s"}, **spec)


def found(pattern: re.Pattern[str], remedy: str | None) -> int:
    match = pattern.search(remedy or "")
    assert match, remedy
    return int(match[1])


@pytest.mark.parametrize("others", [0, 1, 3])
def test_fewer_epochs_than_it_allows_would_do_and_do(others: int) -> None:
    ahead = [asking(f"other-{number}", 100 + 60 * number) for number in range(others)]
    late = next(step for step in steps(asking("late", 45), *ahead) if step.job.name == "late")
    assert late.advice.attainable is False
    epochs = found(BEYOND, late.advice.remedy)
    wider = [{"field": "epochs", "min": epochs, "max": 40}]
    again = {step.job.name: step for step in steps(asking("late", 45, wider), *ahead)}
    assert again["late"].advice.attainable
    assert all(step.advice.attainable for step in again.values())


def test_the_later_deadline_that_is_named_would_do_and_not_much_less() -> None:
    (late,) = steps(asking("late", 45))
    later = found(LATER, late.advice.remedy)
    assert steps(asking("late", 45 + later))[0].advice.attainable
    assert not steps(asking("late", 45 + later - 3))[0].advice.attainable


def test_who_is_stopped_by_others_is_told_by_when_it_would_have_to_start() -> None:
    told = [step.advice.remedy for step in steps(*(asking(f"job-{number}", 150) for number in range(4)))]
    assert sum(remedy is not None for remedy in told) == 2
    assert all("if it started within 87 s, but others come first." in remedy for remedy in told if remedy)


def test_a_setting_that_would_make_others_late_is_no_remedy() -> None:
    # The core is taken until the deadline of the first, who cannot be delayed at all.
    first = asking("first", 66, priority=1)
    second = next(step for step in steps(first, asking("second", 67)) if step.job.name == "second")
    assert second.advice.attainable is False
    assert "It would do" not in (second.advice.remedy or "")


def test_what_was_never_run_is_not_named() -> None:
    # All runs had one worker: two may be faster, but nothing is known of them.
    (late,) = steps(job(parameters={"epochs": 4}, deadline={"within": "27s"}), cores=8000)
    assert "workers" not in (late.advice.remedy or "")


def test_alternatives_are_beyond_what_is_allowed_and_within_the_queue() -> None:
    adjust = [{"field": "epochs", "min": 3, "max": 9}, {"field": "workers", "values": [1, 2]}]
    lists = beyond(job(parameters={"epochs": 5}, adjust=adjust).spec, None, Capacity(4000))
    assert [[each.told for each in changes] for changes in lists] == [
        ["epochs 2 instead of at least 3", "epochs 1 instead of at least 3"],
        ["workers 4 instead of at most 2"],
        ["coresPerWorker 2 instead of 1", "coresPerWorker 4 instead of 1"],
    ]


def test_alternatives_around_a_job_are_half_and_twice_what_it_has() -> None:
    told = [each.told for each in around(job(parameters={"epochs": 5, "batchSize": 64}).spec, Capacity(2000))]
    assert told == [
        "epochs 2 instead of 5",
        "epochs 10 instead of 5",
        "batchSize 32 instead of 64",
        "batchSize 128 instead of 64",
        "workers 2 instead of 1",
        "coresPerWorker 0.5 instead of 1",
        "coresPerWorker 2 instead of 1",
    ]
