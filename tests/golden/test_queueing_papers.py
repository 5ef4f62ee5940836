"""The queueing parts of the papers, recomputed: what holds, and where they slipped (docs/papers.md, 000 to 002)."""

import numpy as np
import pytest

from coxswain.core.cost import DEFAULT_COST
from coxswain.core.expressions import parse_expression
from coxswain.core.queueing.comparison import crossing_cv2, crossing_utilization, curves
from coxswain.core.queueing.distributions import Shape, Times, exponential
from coxswain.core.queueing.formulas import Queue
from coxswain.core.queueing.laws import bottleneck_bounds
from coxswain.core.queueing.simulation import simulate
from tests.golden.paper_tables import paper_table

# 000, section IV B and section V


def test_four_nodes_as_an_mm4_queue() -> None:
    queue = Queue.at_utilization(0.8, 3.439, servers=4)
    assert queue.arrival_rate == pytest.approx(11.0048, abs=5e-5)
    assert queue.p_queue == pytest.approx(0.5964, abs=5e-5)
    assert queue.response_time == pytest.approx(0.50757, abs=5e-6)
    assert queue.number_in_system == pytest.approx(5.5857, abs=5e-5)


def test_the_printed_response_time_of_the_mm4_queue_is_its_arrival_rate() -> None:
    queue = Queue.at_utilization(0.8, 3.439, servers=4)
    assert round(queue.arrival_rate, 3) == 11.005  # printed as E[T]
    assert queue.number_in_system == pytest.approx(5.584, abs=0.002)  # printed as E[N], and right


def test_one_node_as_an_mm1_queue() -> None:
    queue = Queue.at_utilization(0.8, 3.085)
    assert queue.arrival_rate == pytest.approx(2.468, abs=5e-4)
    assert queue.number_in_system == pytest.approx(4, abs=1e-12)
    assert queue.response_time == pytest.approx(1.6207, abs=5e-5)
    assert Queue.at_utilization(0.8, 30.85).response_time == pytest.approx(0.162, abs=5e-4)


def test_the_same_after_the_climb_of_the_learning_rate() -> None:
    cost = parse_expression(DEFAULT_COST, ["duration", "accuracy"])({"duration": 29.5, "accuracy": 0.976})
    assert cost == pytest.approx(0.003, abs=5e-4)
    assert Queue.at_utilization(0.8, 333.33).response_time == pytest.approx(0.015, abs=5e-5)
    assert round(4 / 333.333, 3) == 0.012  # what is printed as 0.015; 4 / 266.667 is meant
    assert Queue.at_utilization(0.8, 1 / cost).response_time == pytest.approx(0.01548, abs=5e-6)


# 001, section 4.2


def test_the_service_time_of_the_cpu_is_per_batch() -> None:
    batches, throughputs = np.array([64, 128, 256, 512]), np.array([1600, 3300, 5700, 10200])
    assert (batches / throughputs).round(4).tolist() == [0.04, 0.0388, 0.0449, 0.0502]  # printed: 0.0383 for 128


def test_the_printed_response_time_of_the_disk_is_negative() -> None:
    queue = Queue(arrival_rate=22.22, service_rate=40.0)
    assert queue.response_time == pytest.approx(1 / (40 - 22.22))
    assert queue.response_time == pytest.approx(-1 / (22.22 - 40))


def test_processes_that_also_wait_for_the_disk_ask_it_less_often_than_modelled() -> None:
    # Eight processes, 0.045 s of CPU each, and a disk of 200 requests a second.
    modelled = 8 / 0.045
    bounds = bottleneck_bounds({"disk": 1 / 200}, jobs=8, think_time=0.045)
    assert bounds.throughput[1] == pytest.approx(160)
    assert modelled == pytest.approx(177.8, abs=0.05)


# 002, Table I and Figs. 15 and 16


def test_epochs_of_5_10_and_20_vary_little() -> None:
    epochs = np.array([5, 10, 20])
    assert epochs.var() / epochs.mean() ** 2 == pytest.approx(0.29, abs=0.005)


def test_three_cores_are_about_2_2_times_as_fast_as_one() -> None:
    times = paper_table("fltk_2k5_cellmeans").pivot_table(
        index=["parallelization", "batch_size", "learning_rate", "max_epoch"],
        columns="cores",
        values="cellmean_from_fig20",
    )
    assert (times[1.0] / times[3.0]).mean() == pytest.approx(2.2, abs=0.05)


def test_three_slow_servers_win_only_at_high_variability() -> None:
    assert [crossing_cv2(3, load) for load in (0.93, 0.94)] == pytest.approx([3.7, 3.7], abs=0.05)
    assert crossing_utilization(3, 3.7) == pytest.approx(0.935, abs=0.0005)
    assert [round(crossing_cv2(3, load), 2) for load in (0.5, 0.7, 0.8, 0.9)] == [6.6, 4.78, 4.24, 3.82]
    assert crossing_cv2(3, 1 - 1e-6) == pytest.approx(3.5, abs=1e-4)
    assert crossing_utilization(3, 0.29) is None


def test_in_truth_somewhat_less_variability_does() -> None:
    # Lee and Longton's formula lets three slow servers win above 4.24 only; they do at 3.5 already. The same jobs go
    # through both, so that the difference of two noisy means is sure.
    load, cv2 = 0.8, 3.5
    (choice,) = curves([load], servers=3, cv2=cv2)
    assert choice.fast_wins
    slow, fast = (
        simulate(
            exponential(1 / queue.arrival_rate),
            Times(Shape.HYPEREXPONENTIAL, 1 / queue.service_rate, cv2),
            queue.servers,
            jobs=10_000,
            warm_up=2_000,
            replications=400,
            generator=np.random.default_rng(0),
        ).responses.mean(axis=0)
        for queue in (choice.slow, choice.fast)
    )
    lost = fast - slow
    assert lost.mean() > 4 * lost.std() / np.sqrt(len(lost))


def test_at_low_load_one_fast_server_wins_by_about_the_number_of_servers() -> None:
    (low_variability,) = curves([0.05], servers=3, cv2=0.0)
    (high_variability,) = curves([0.05], servers=3, cv2=3.7)
    assert low_variability.ratio == pytest.approx(2.92, abs=0.005)
    assert high_variability.ratio == pytest.approx(2.67, abs=0.005)


def test_at_high_load_and_low_variability_both_converge() -> None:
    assert [round(choice.ratio, 2) for choice in curves([0.5, 0.9, 0.99], servers=3, cv2=0.0)] == [2.16, 1.29, 1.03]


def test_a_fast_server_that_is_2_2_times_as_fast_loses_from_half_load_on() -> None:
    assert crossing_utilization(3, 0.2857, speedup=2.2) == pytest.approx(0.51, abs=0.005)
    assert crossing_utilization(3, 0.0, speedup=2.2) == pytest.approx(0.54, abs=0.005)
