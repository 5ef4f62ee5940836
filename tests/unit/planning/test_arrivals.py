"""What is to come, told from what has come."""

import pytest

from coxswain.core.planning import Came, Capacity, arrivals_like

CORE = Capacity(1000)


def came(*times: float, seconds: float = 60.0) -> list[Came]:
    return [Came(at, CORE, seconds, due=300.0) for at in times]


def test_the_rate_is_what_came_over_the_time_it_took() -> None:
    found = arrivals_like(came(*range(0, 72_000, 720)), now=72_000.0)
    assert found is not None
    assert found.rate == pytest.approx(1 / 720, rel=0.01)
    assert found.times.quantile(0.5) == 60.0
    assert found.due.quantile(0.5) == 300.0
    assert found.need == CORE


def test_a_burst_is_not_taken_for_a_rate() -> None:
    found = arrivals_like(came(*[0.0] * 20), now=2.0)
    assert found is not None
    assert found.rate == pytest.approx(20 / 3600)


def test_few_jobs_and_those_of_yesterday_tell_nothing() -> None:
    assert arrivals_like(came(*range(7)), now=100.0) is None
    assert arrivals_like(came(*range(50)), now=100_000.0) is None


def test_a_clock_that_was_set_back_makes_no_negative_rate() -> None:
    found = arrivals_like(came(*[5000.0] * 10), now=1000.0)
    assert found is not None
    assert found.rate > 0
