import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.core.errors import InputError
from coxswain.core.queueing.formulas import Queue
from coxswain.core.queueing.laws import (
    bottleneck_bounds,
    forced_flow_law,
    littles_law,
    response_time_law,
    utilization_law,
)


def test_the_laws_of_a_small_example() -> None:
    # A disk serves 40 requests a second in 0.0225 s each; a job makes 20 of them; 6 jobs think for 1.5 s in between.
    assert utilization_law(40, 0.0225) == pytest.approx(0.9)
    assert utilization_law(40, 0.0225, servers=2) == pytest.approx(0.45)
    assert forced_flow_law(2, 20) == 40
    assert response_time_law(6, 2, think_time=1.5) == pytest.approx(1.5)
    assert littles_law(2, 1.5) == pytest.approx(3)


@given(load=st.floats(0.01, 0.99), servers=st.integers(1, 20))
def test_the_formulas_obey_the_laws(load: float, servers: int) -> None:
    queue = Queue.at_utilization(load, 0.5, servers, cv2=2.0)
    assert utilization_law(queue.arrival_rate, 2.0, servers) == pytest.approx(queue.utilization)
    assert littles_law(queue.arrival_rate, queue.wait_time) == pytest.approx(queue.number_in_queue)


def test_bounds_of_a_small_system() -> None:
    bounds = bottleneck_bounds({"cpu": 0.045, "disk": 0.03}, jobs=4, think_time=0.0)
    assert bounds.bottleneck == "cpu"
    assert bounds.throughput == pytest.approx((1 / 0.075, 1 / 0.045))
    assert bounds.response_time == pytest.approx((0.18, 0.3))
    assert bounds.saturation == pytest.approx(0.075 / 0.045)


def mean_value_analysis(demands: list[float], jobs: int, think_time: float) -> tuple[float, float]:
    """The exact throughput and response time of a closed network of exponential single-server queues."""
    lengths = [0.0] * len(demands)
    throughput = response = 0.0
    for present in range(1, jobs + 1):
        times = [demand * (1 + length) for demand, length in zip(demands, lengths, strict=True)]
        response = math.fsum(times)
        throughput = present / (response + think_time)
        lengths = [throughput * time for time in times]
    return throughput, response


@given(
    demands=st.lists(st.floats(0.01, 10), min_size=1, max_size=5),
    jobs=st.integers(1, 50),
    think_time=st.floats(0, 20),
)
def test_the_exact_answer_lies_within_the_bounds(demands: list[float], jobs: int, think_time: float) -> None:
    throughput, response = mean_value_analysis(demands, jobs, think_time)
    bounds = bottleneck_bounds({str(index): demand for index, demand in enumerate(demands)}, jobs, think_time)
    slack = 1e-9
    assert bounds.throughput[0] * (1 - slack) <= throughput <= bounds.throughput[1] * (1 + slack)
    assert bounds.response_time[0] * (1 - slack) <= response <= bounds.response_time[1] * (1 + slack)
    assert response_time_law(jobs, throughput, think_time) == pytest.approx(response, abs=1e-6)


def test_bounds_need_a_device_a_job_and_times() -> None:
    with pytest.raises(InputError, match="there are no demands"):
        bottleneck_bounds({}, 1)
    with pytest.raises(InputError, match="the demand at disk is 0"):
        bottleneck_bounds({"disk": 0.0}, 1)
    with pytest.raises(InputError, match="the number of jobs is 0"):
        bottleneck_bounds({"disk": 1.0}, 0)
    with pytest.raises(InputError, match="the think time is -1"):
        bottleneck_bounds({"disk": 1.0}, 1, -1.0)
    with pytest.raises(InputError, match="the throughput is 0"):
        response_time_law(3, 0.0)
