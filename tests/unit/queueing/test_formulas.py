import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from coxswain.core.errors import InputError
from coxswain.core.queueing.formulas import MOST_SERVERS, Queue, erlang_c

loads = st.floats(0.01, 0.99)
rates = st.floats(1e-3, 1e3)
server_counts = st.integers(1, 60)
variabilities = st.floats(0, 20)
probabilities = st.floats(0.01, 0.99)


def test_erlang_c_by_hand() -> None:
    # Two servers, offered load 1: C = (1/2) * 2 / (1 + 1 + (1/2) * 2) = 1/3.
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3, rel=1e-14)
    assert erlang_c(1, 0.7) == pytest.approx(0.7, rel=1e-14)
    assert erlang_c(2, 2.0) == erlang_c(2, 5.0) == 1


@pytest.mark.parametrize(("servers", "load"), [(5, 0.3), (200, 0.9), (2_000, 0.99), (MOST_SERVERS, 0.999)])
def test_erlang_c_agrees_with_the_poisson_distribution_also_for_very_many_servers(servers: int, load: float) -> None:
    offered = load * servers
    blocked = math.exp(stats.poisson.logpmf(servers, offered) - stats.poisson.logcdf(servers, offered))
    assert erlang_c(servers, offered) == pytest.approx(blocked / (1 - load * (1 - blocked)), rel=1e-8)


def test_with_many_servers_and_little_load_nobody_waits() -> None:
    assert erlang_c(10_000, 10.0) == 0.0


@given(load=loads, mu=rates)
def test_mm1_by_its_own_formulas(load: float, mu: float) -> None:
    queue = Queue.at_utilization(load, mu)
    assert queue.name == "M/M/1"
    assert queue.p_queue == pytest.approx(load)
    assert queue.number_in_system == pytest.approx(load / (1 - load))
    assert queue.response_time == pytest.approx(1 / (mu - queue.arrival_rate))
    assert queue.response_time_quantile(0.95) == pytest.approx(math.log(20) / (mu - queue.arrival_rate))


@given(load=loads, mu=rates, cv2=variabilities)
def test_mg1_is_pollaczek_and_khinchine(load: float, mu: float, cv2: float) -> None:
    queue = Queue.at_utilization(load, mu, cv2=cv2)
    second_moment = (1 + cv2) / mu**2
    assert queue.wait_time == pytest.approx(queue.arrival_rate * second_moment / (2 * (1 - load)))
    assert queue.is_exact


@given(load=loads, mu=rates, servers=server_counts, cv2=variabilities)
def test_littles_law_holds_inside_and_outside(load: float, mu: float, servers: int, cv2: float) -> None:
    queue = Queue.at_utilization(load, mu, servers, cv2)
    in_service = queue.number_in_system - queue.number_in_queue
    assert in_service == pytest.approx(servers * load, rel=1e-6)
    assert queue.response_time - queue.wait_time == pytest.approx(1 / mu, rel=1e-6)
    assert queue.utilization == pytest.approx(load)


@given(less=loads, more=loads, servers=server_counts, cv2=variabilities, fewer=st.integers(0, 10))
def test_more_load_makes_everything_worse_and_more_servers_better(
    less: float, more: float, servers: int, cv2: float, fewer: int
) -> None:
    less, more = sorted((less, more))
    light, heavy = (Queue.at_utilization(load, 1.0, servers, cv2) for load in (less, more))
    assert light.p_queue <= heavy.p_queue
    assert light.wait_time <= heavy.wait_time
    assert light.number_in_system <= heavy.number_in_system
    helped = Queue(heavy.arrival_rate, 1.0, servers + fewer, cv2)
    assert helped.wait_time <= heavy.wait_time
    assert helped.p_queue <= heavy.p_queue


@given(load=loads, servers=server_counts, probability=probabilities)
def test_quantile_and_tail_agree(load: float, servers: int, probability: float) -> None:
    queue = Queue.at_utilization(load, 2.0, servers)
    response = queue.response_time_quantile(probability)
    assert response is not None
    assert queue.p_response_longer_than(response) == pytest.approx(1 - probability, rel=1e-6)
    wait = queue.wait_time_quantile(probability)
    assert wait is not None
    if wait > 0:
        assert queue.p_wait_longer_than(wait) == pytest.approx(1 - probability, rel=1e-9)
    else:
        assert queue.p_queue <= 1 - probability
    assert wait <= response


@given(load=loads, servers=server_counts)
def test_the_tails_integrate_to_the_means(load: float, servers: int) -> None:
    queue = Queue.at_utilization(load, 1.0, servers)
    assert queue.p_wait_longer_than(0) == queue.p_queue
    waited, _ = quad(lambda time: queue.p_wait_longer_than(time) or 0.0, 0, math.inf)
    responded, _ = quad(lambda time: queue.p_response_longer_than(time) or 0.0, 0, math.inf)
    assert waited == pytest.approx(queue.wait_time, rel=1e-6, abs=1e-12)
    assert responded == pytest.approx(queue.response_time, rel=1e-6)


def test_equal_rates_of_wait_and_service_are_no_trouble() -> None:
    # capacity - lambda = mu: here the response of a job that waits is Erlang with two stages.
    queue = Queue(arrival_rate=1.0, service_rate=1.0, servers=2)
    near = Queue(arrival_rate=1.0 + 1e-9, service_rate=1.0, servers=2)
    expected = math.exp(-3) + queue.p_queue * 3 * math.exp(-3)
    assert queue.p_response_longer_than(3) == pytest.approx(expected, rel=1e-12)
    assert near.p_response_longer_than(3) == pytest.approx(expected, rel=1e-7)
    assert queue.p_response_longer_than(1e6) == 0


def test_an_overloaded_queue_is_an_answer_not_an_exception() -> None:
    for queue in (Queue(4.0, 1.0, 4), Queue(9.0, 1.0, 4), Queue(1.5, 1.0)):
        assert not queue.is_stable
        assert queue.p_queue == 1
        assert queue.wait_time == queue.response_time == math.inf
        assert queue.number_in_queue == queue.number_in_system == math.inf
        assert queue.p_wait_longer_than(100) == queue.p_response_longer_than(100) == 1
        assert queue.wait_time_quantile(0.5) == queue.response_time_quantile(0.5) == math.inf


def test_an_empty_queue_is_an_answer_too() -> None:
    queue = Queue(0.0, 2.0, 3)
    assert (queue.p_queue, queue.wait_time, queue.number_in_system) == (0, 0, 0)
    assert queue.response_time == 0.5
    assert queue.response_time_quantile(0.5) == pytest.approx(math.log(2) / 2)


def test_general_service_has_means_but_no_tails() -> None:
    queue = Queue.at_utilization(0.8, 1.0, servers=3, cv2=2.5)
    assert queue.name == "M/G/3"
    assert not queue.is_exact
    assert queue.wait_time == pytest.approx(1.75 * Queue.at_utilization(0.8, 1.0, servers=3).wait_time)
    assert queue.p_wait_longer_than(1) is None
    assert queue.p_response_longer_than(1) is None
    assert queue.wait_time_quantile(0.9) is None
    assert queue.response_time_quantile(0.9) is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"arrival_rate": -1.0, "service_rate": 1.0}, "the arrival rate is -1; give a number of 0 or more."),
        ({"arrival_rate": math.nan, "service_rate": 1.0}, "the arrival rate is nan"),
        ({"arrival_rate": 1.0, "service_rate": 0.0}, "the service rate is 0; give a number above 0."),
        ({"arrival_rate": 1.0, "service_rate": math.inf}, "the service rate is inf"),
        ({"arrival_rate": 1.0, "service_rate": 5e-324}, "out of range; use another unit of time"),
        ({"arrival_rate": 1.0, "service_rate": 2.0, "cv2": -0.1}, "cv2 of the service time is -0.1"),
        ({"arrival_rate": 1.0, "service_rate": 2.0, "servers": 0}, "servers is 0; give a whole number from 1"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(arguments: dict[str, float], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Queue(**arguments)  # type: ignore[arg-type]  # servers is an integer in each case


def test_a_quantile_needs_a_probability_and_a_tail_a_time() -> None:
    queue = Queue(1.0, 2.0)
    with pytest.raises(InputError, match="the probability 1 has no quantile"):
        queue.response_time_quantile(1.0)
    with pytest.raises(InputError, match="the time to wait longer than is -1"):
        queue.p_wait_longer_than(-1.0)
    with pytest.raises(InputError, match=r"the utilisation is -0\.5"):
        Queue.at_utilization(-0.5, 1.0)
