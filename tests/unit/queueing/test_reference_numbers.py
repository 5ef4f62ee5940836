"""The queueing numbers of the papers, recomputed, to the digits given."""

import numpy as np
import pytest

from coxswain.core.cost import DEFAULT_COST
from coxswain.core.expressions import parse_expression
from coxswain.core.queueing.comparison import crossing_cv2, crossing_utilization, curves
from coxswain.core.queueing.formulas import Queue


def test_four_nodes_as_an_mm4_queue() -> None:
    queue = Queue.at_utilization(0.8, 3.439, servers=4)
    assert queue.arrival_rate == pytest.approx(11.0048, abs=5e-5)
    assert queue.p_queue == pytest.approx(0.5964, abs=5e-5)
    assert queue.response_time == pytest.approx(0.50757, abs=5e-6)
    assert queue.number_in_system == pytest.approx(5.5857, abs=5e-5)


def test_one_node_as_an_mm1_queue() -> None:
    queue = Queue.at_utilization(0.8, 3.085)
    assert queue.arrival_rate == pytest.approx(2.468, abs=5e-4)
    assert queue.number_in_system == pytest.approx(4, abs=1e-12)
    assert queue.response_time == pytest.approx(1.6207, abs=5e-5)


def test_the_same_after_the_climb_of_the_learning_rate() -> None:
    cost = parse_expression(DEFAULT_COST, ["duration", "accuracy"])({"duration": 29.5, "accuracy": 0.976})
    assert cost == pytest.approx(0.003, abs=5e-4)
    queue = Queue.at_utilization(0.8, 333.33)
    assert queue.response_time == pytest.approx(0.015, abs=5e-5)


def test_epochs_of_5_10_and_20_vary_little() -> None:
    epochs = np.array([5, 10, 20])
    assert epochs.var() / epochs.mean() ** 2 == pytest.approx(0.29, abs=0.005)


def test_three_slow_servers_win_only_at_high_variability() -> None:
    # At the loads where queueing matters at all; below, it takes more still, and at no load does 3.5 suffice.
    assert [crossing_cv2(3, load) for load in (0.93, 0.94)] == pytest.approx([3.7, 3.7], abs=0.05)
    assert crossing_utilization(3, 3.7) == pytest.approx(0.94, abs=0.005)
    assert crossing_cv2(3, 1 - 1e-6) == pytest.approx(3.5, abs=1e-4)


def test_at_low_load_one_fast_server_wins_by_about_the_number_of_servers() -> None:
    (low_variability,) = curves([0.05], servers=3, cv2=0.0)
    (high_variability,) = curves([0.05], servers=3, cv2=3.7)
    assert low_variability.ratio == pytest.approx(3, abs=0.1)
    assert high_variability.ratio == pytest.approx(3, abs=0.35)
