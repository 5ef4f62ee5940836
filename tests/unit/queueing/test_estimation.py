from collections import Counter

import numpy as np
import pytest

from coxswain.core.errors import InputError
from coxswain.core.queueing.distributions import Times, exponential, with_cv2
from coxswain.core.queueing.estimation import Estimate, estimate
from coxswain.core.queueing.formulas import Queue
from coxswain.core.queueing.records import JobRecords
from coxswain.core.queueing.simulation import waits


def histories(queue: Queue, services: Times, *, jobs: int, count: int, seed: int = 0) -> list[JobRecords]:
    """Records of jobs that queued first come first served."""
    generator = np.random.default_rng(seed)
    gaps = exponential(1 / queue.arrival_rate).draw(generator, (jobs, count))
    times = services.draw(generator, (jobs, count))
    arrival = gaps.cumsum(axis=0)
    start = arrival + waits(gaps, times, np.zeros((queue.servers, count)))
    return [JobRecords(arrival[:, i], start[:, i], start[:, i] + times[:, i]) for i in range(count)]


def test_estimates_by_hand() -> None:
    arrival = np.array([0.0, 1.0, 4.0, 8.0])
    start, end = np.array([0.0, 3.0, 5.0, 9.0]), np.array([3.0, 5.0, 9.0, 10.0])
    found = estimate(JobRecords(arrival, start, end))
    assert found.servers == 1
    assert found.servers_inferred
    assert found.arrival_rate.value == pytest.approx(3 / 8)
    assert found.arrival_rate.standard_error == pytest.approx(3 / 8 / np.sqrt(3))
    assert found.service_time.value == pytest.approx(2.5)
    assert found.service_cv2.value == pytest.approx(np.var([3, 2, 4, 1], ddof=1) / 2.5**2)
    assert found.utilization == pytest.approx(3 / 8 * 2.5)
    assert found.wait_time == pytest.approx(1.0)
    assert found.response_time == pytest.approx(3.5)
    assert found.number_in_queue == pytest.approx(4 / 10)
    assert found.number_in_system == pytest.approx(14 / 10)
    assert found.p_queue == pytest.approx(3 / 4)
    assert found.queue() == Queue(3 / 8, 1 / 2.5, 1, found.service_cv2.value)
    assert found.queue(exponential=True).cv2 == 1


def test_a_long_history_tells_its_queue() -> None:
    true = Queue.at_utilization(0.7, 1.0, servers=3, cv2=0.25)
    (records,) = histories(true, with_cv2(1.0, 0.25), jobs=100_000, count=1)
    found = estimate(records)
    assert found.servers == 3
    assert found.looks_poisson
    assert found.arrival_rate.value == pytest.approx(true.arrival_rate, rel=0.02)
    assert found.service_cv2.value == pytest.approx(0.25, rel=0.03)
    assert found.p_queue == pytest.approx(true.p_queue, rel=0.05)
    assert found.wait_time == pytest.approx(found.queue().wait_time, rel=0.1)
    assert found.number_in_system == pytest.approx(found.arrival_rate.value * found.response_time, rel=0.001)


def test_intervals_hold_about_as_often_as_they_say() -> None:
    true = Queue.at_utilization(0.6, 1.0, servers=2)
    held: Counter[str] = Counter()
    for records in histories(true, exponential(1.0), jobs=300, count=1_000):
        found = estimate(records)
        held["lambda"] += found.arrival_rate.low <= true.arrival_rate <= found.arrival_rate.high
        held["service"] += found.service_time.low <= 1 <= found.service_time.high
        held["cv2"] += found.service_cv2.low <= 1 <= found.service_cv2.high
        held["poisson"] += found.looks_poisson
    # Of 1,000 true 95 % intervals 950 hold, give or take 21 (three standard errors).
    assert 929 <= held["lambda"] <= 971
    assert 929 <= held["service"] <= 971
    assert 929 <= held["poisson"] <= 971
    # That of the variability is approximate: with 300 jobs a point or two short.
    assert 915 <= held["cv2"] <= 971


@pytest.mark.parametrize(("servers", "cv2"), [(1, 1.0), (3, 0.25), (3, 4.0), (8, 1.0)])
def test_the_error_of_a_mean_wait_is_of_the_size_it_says(servers: int, cv2: float) -> None:
    true = Queue.at_utilization(0.8, 1.0, servers, cv2)
    found = [estimate(records) for records in histories(true, with_cv2(1.0, cv2), jobs=4_000, count=200)]
    means = np.array([one.wait_time for one in found])
    typical = np.median([one.wait_time_relative_error for one in found])
    assert 0.7 < typical / (means.std() / means.mean()) < 1.4


def test_an_overloaded_queue_has_no_long_run_value_to_be_off_from() -> None:
    arrival = np.arange(10.0)
    assert estimate(JobRecords(arrival, 2 * arrival, 2 * arrival + 2)).wait_time_relative_error == np.inf
    assert estimate(JobRecords(arrival, arrival, arrival + 0.5), servers=1_000).wait_time_relative_error == np.inf


def test_regular_arrivals_do_not_look_like_a_poisson_stream() -> None:
    arrival = np.arange(50.0) + np.random.default_rng(0).uniform(0, 0.1, 50)
    found = estimate(JobRecords(arrival, arrival, arrival + 0.5))
    assert not found.looks_poisson


def test_bursts_do_not_look_like_a_poisson_stream() -> None:
    arrival = np.repeat(np.arange(10.0), 5) * 10 + np.tile(np.arange(5.0), 10) * 0.01
    assert not estimate(JobRecords(arrival, arrival, arrival + 0.5)).looks_poisson


def test_jobs_of_one_length_do_not_vary() -> None:
    arrival = np.arange(8.0)
    assert estimate(JobRecords(arrival, arrival, arrival + 0.5)).service_cv2 == Estimate(0, 0, 0, 0)


def test_the_number_of_servers_can_be_given_but_not_fewer_than_seen() -> None:
    arrival = np.array([0.0, 1.0, 2.0, 3.0])
    records = JobRecords(arrival, arrival, arrival + 2.5)
    assert estimate(records).servers == 3
    assert estimate(records, servers=5).servers == 5
    assert not estimate(records, servers=5).servers_inferred
    assert estimate(records, servers=5).p_queue == 0
    with pytest.raises(InputError, match="3 jobs ran at the same time; give that many servers or more"):
        estimate(records, servers=2)


def test_gaps_of_nothing_but_one_are_no_trouble() -> None:
    arrival = np.array([0.0, 0.0, 0.0, 5.0])
    assert estimate(JobRecords(arrival, arrival, arrival + 1)).gap_cv2.value == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("arrival", "service", "sentence"),
    [
        ([0.0, 1.0, 2.0], 1.0, "there are 3 jobs, too few to estimate from; give at least 4"),
        ([2.0, 2.0, 2.0, 2.0], 1.0, "column arrival: all jobs arrived at the same time"),
        ([0.0, 1.0, 2.0, 3.0], 0.0, "column end: every job ended as it started"),
    ],
)
def test_records_that_tell_nothing_are_refused(arrival: list[float], service: float, sentence: str) -> None:
    times = np.array(arrival)
    with pytest.raises(InputError, match=sentence):
        estimate(JobRecords(times, times, times + service))
