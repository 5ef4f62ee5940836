import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.core.errors import InputError
from coxswain.core.queueing.comparison import crossing_cv2, crossing_utilization, curves, one_fast_or_many_slow
from coxswain.core.queueing.formulas import Queue

loads = st.floats(0.01, 0.99)
several = st.integers(2, 40)


@given(servers=several, load=loads)
def test_at_the_crossing_both_take_equally_long(servers: int, load: float) -> None:
    turn = crossing_cv2(servers, load)
    at_turn = one_fast_or_many_slow(Queue.at_utilization(load, 1.0, servers, turn))
    assert at_turn.ratio == pytest.approx(1, rel=1e-9)
    below, above = (one_fast_or_many_slow(Queue.at_utilization(load, 1.0, servers, turn * by)) for by in (0.99, 1.01))
    assert below.fast_wins
    assert not above.fast_wins


@given(less=loads, more=loads, servers=several, lost=st.floats(0, 0.9))
def test_the_crossing_falls_with_the_load(less: float, more: float, servers: int, lost: float) -> None:
    speedup = 1 + (servers - 1) * (1 - lost)
    less, more = sorted((less, more))
    at_less, at_more = crossing_cv2(servers, less, speedup), crossing_cv2(servers, more, speedup)
    assert at_more <= at_less * (1 + 1e-9)


@given(servers=several, load=st.floats(0.05, 0.95))
def test_the_crossing_can_be_solved_for_the_load_too(servers: int, load: float) -> None:
    assert crossing_utilization(servers, crossing_cv2(servers, load)) == pytest.approx(load, rel=1e-6)


def test_two_servers_cross_where_algebra_says() -> None:
    # For k = 2, P(queue) = 2 u^2 / (1 + u), and the crossing is at 1 + 2 / u.
    assert [crossing_cv2(2, load) for load in (0.2, 0.5, 0.8)] == pytest.approx([11, 5, 3.5])


def test_alone_a_job_is_as_much_faster_as_the_server() -> None:
    light, *_, heavy = curves(np.linspace(0.001, 0.999, 50), servers=3, cv2=0.2857)
    assert light.ratio == pytest.approx(3, rel=0.01)
    assert heavy.ratio == pytest.approx(1, rel=0.01)


def test_ordinary_variability_never_makes_slow_servers_win() -> None:
    assert crossing_utilization(3, 0.2857) is None
    assert all(choice.fast_wins for choice in curves(np.linspace(0.01, 0.99, 99), servers=3, cv2=0.2857))


@given(servers=several, cv2=st.floats(0, 30), lost=st.floats(0.05, 0.95))
def test_on_either_side_of_the_crossing_load_another_wins(servers: int, cv2: float, lost: float) -> None:
    speedup = 1 + (servers - 1) * (1 - lost)
    turn = crossing_utilization(servers, cv2, speedup)
    assert turn is not None  # the fast server has less capacity, so at high load it must lose
    if turn > 0:
        below, above = curves([turn * 0.999, turn + 0.001 * (1 - turn)], servers, cv2, speedup)
        assert below.fast_wins
        assert not above.fast_wins


def test_a_fast_server_that_loses_some_of_its_speed_loses_earlier() -> None:
    turn = crossing_utilization(3, 0.2857, speedup=2.2)
    assert turn is not None
    assert turn == pytest.approx(0.506, abs=0.0005)
    below, above = curves([turn - 0.01, turn + 0.01], servers=3, cv2=0.2857, speedup=2.2)
    assert below.fast_wins
    assert not above.fast_wins


def test_an_overloaded_fast_server_has_lost() -> None:
    choice = one_fast_or_many_slow(Queue.at_utilization(0.8, 1.0, 3), speedup=2.0)
    assert not choice.fast.is_stable
    assert choice.ratio == 0
    assert not choice.fast_wins
    assert crossing_cv2(3, 0.8, speedup=2.0) == 0
    assert math.isnan(one_fast_or_many_slow(Queue(3.0, 1.0, 3)).ratio)


def test_the_ends_of_the_scale() -> None:
    assert crossing_cv2(1, 0.5, speedup=2.0) == math.inf  # faster and not fewer: always better
    assert crossing_utilization(1, 100.0, speedup=2.0) is None
    assert crossing_utilization(2, 1.0, speedup=1.0) == 0  # fewer and not faster: never better


def test_what_cannot_be_compared_is_told_in_a_sentence() -> None:
    with pytest.raises(InputError, match=r"the speed-up of the fast server is 0\.5"):
        one_fast_or_many_slow(Queue(1.0, 1.0, 2), speedup=0.5)
    with pytest.raises(InputError, match="at utilisation 1 no queue comes to rest"):
        crossing_cv2(3, 1.0)
    with pytest.raises(InputError, match="cv2 of the service time is -1"):
        crossing_utilization(3, -1.0)
