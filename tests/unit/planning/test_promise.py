"""Promises hold where they are made, not only on average."""

import numpy as np

from coxswain.core.planning import lognormal, promise_level


def kept(level: float, medians: list[float], spread: float, shared: float) -> float:
    """How often promises at a level are kept, for deadlines among the times, drawn apart from the code under test."""
    rng = np.random.default_rng(5)
    error = np.sqrt(shared) * rng.standard_normal((200_000, 1))
    seconds = np.array(medians) * np.exp(
        spread * (error + np.sqrt(1 - shared) * rng.standard_normal((200_000, len(medians))))
    )
    deadlines = rng.uniform(seconds.min(axis=1), seconds.max(axis=1))
    bounds = [lognormal(median, spread).quantile(level) for median in medians]
    within = np.array(bounds) <= deadlines[:, None]
    promised = within.any(axis=1)
    last = len(medians) - 1 - np.argmax(within[:, ::-1], axis=1)
    return float(np.mean(seconds[np.arange(len(last)), last][promised] <= deadlines[promised]))


def test_the_level_is_raised_until_promises_are_kept() -> None:
    medians = [85.0, 92.0, 100.0]
    times = [lognormal(median, 0.08, 0.5) for median in medians]
    level = promise_level(times, np.array([0.7, 0.8, 0.9]), 0.9)
    assert level is not None
    assert level > 0.9
    assert kept(0.9, medians, 0.08, 0.5) < 0.89
    assert kept(level, medians, 0.08, 0.5) >= 0.895


def test_settings_far_apart_need_no_more_than_was_asked_for() -> None:
    times = [lognormal(median, 0.05, 0.5) for median in (10.0, 100.0, 1000.0)]
    assert promise_level(times, np.array([0.7, 0.8, 0.9]), 0.9) == 0.9


def test_nothing_is_promised_about_settings_that_cannot_be_told_apart() -> None:
    times = [lognormal(median, 0.2, 0.5) for median in (100.0, 100.5, 101.0)]
    assert promise_level(times, np.array([0.7, 0.8, 0.9]), 0.99) is None


def test_a_single_setting_is_no_choice() -> None:
    assert promise_level([lognormal(10.0, 0.1)], np.array([1.0]), 0.95) == 0.95
