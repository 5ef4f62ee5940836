"""The exact formulas against the exact recursion: within 2 %, at utilisations up to 0.9.

A run is long enough for 2 % to mean something: each test also asserts that the simulation's own standard error is below
0.7 %, so that a wrong formula cannot hide in the noise and a right one is not failed by it.
"""

import numpy as np
import pytest

from coxswain.core.queueing.distributions import Shape, Times, exponential
from coxswain.core.queueing.formulas import Queue
from coxswain.core.queueing.simulation import Mean, Simulated, simulate

REPLICATIONS = 1_000


def long_run(queue: Queue, services: Times, seed: int) -> Simulated:
    # In how many jobs the queue forgets: the warm-up is ten times that, what is kept fifty times, in each
    # replication.
    memory = 2 * (1 + queue.cv2) / (1 - queue.utilization) ** 2
    return simulate(
        exponential(1 / queue.arrival_rate),
        services,
        queue.servers,
        jobs=4_000 + int(50 * memory),
        warm_up=int(10 * memory),
        replications=REPLICATIONS,
        generator=np.random.default_rng(seed),
    )


def assert_agree(simulated: Mean, formula: float) -> None:
    assert simulated.standard_error < 0.007 * formula
    assert simulated.value == pytest.approx(formula, rel=0.02)


def assert_means_agree(simulated: Simulated, queue: Queue) -> None:
    assert_agree(simulated.wait_time, queue.wait_time)
    assert_agree(simulated.response_time, queue.response_time)
    assert_agree(simulated.number_in_system, queue.number_in_system)
    assert_agree(simulated.p_queue, queue.p_queue)


@pytest.mark.parametrize(
    ("servers", "utilization"), [(1, 0.5), (1, 0.8), (1, 0.9), (4, 0.5), (4, 0.8), (4, 0.9), (8, 0.8)]
)
def test_mmk(servers: int, utilization: float) -> None:
    queue = Queue.at_utilization(utilization, 2.0, servers)
    simulated = long_run(queue, exponential(0.5), seed=servers)
    assert_means_agree(simulated, queue)
    tail = queue.p_wait_longer_than(queue.wait_time)
    assert tail is not None
    assert_agree(simulated.p_wait_longer_than(queue.wait_time), tail)
    response_quantiles = [queue.response_time_quantile(probability) for probability in (0.5, 0.9)]
    assert np.quantile(simulated.responses, [0.5, 0.9]) == pytest.approx(response_quantiles, rel=0.02)


@pytest.mark.parametrize(
    ("shape", "cv2", "utilization"),
    [
        (Shape.DETERMINISTIC, 0.0, 0.9),
        (Shape.ERLANG, 0.25, 0.9),
        (Shape.LOGNORMAL, 0.5, 0.8),
        (Shape.LOGNORMAL, 2.0, 0.8),
        (Shape.HYPEREXPONENTIAL, 4.0, 0.8),
    ],
)
def test_mg1(shape: Shape, cv2: float, utilization: float) -> None:
    queue = Queue.at_utilization(utilization, 1.0, cv2=cv2)
    assert_means_agree(long_run(queue, Times(shape, 1.0, cv2), seed=7), queue)
