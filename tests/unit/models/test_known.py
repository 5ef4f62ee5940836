from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from coxswain.core.models.known import learn_known
from coxswain.core.models.observations import put_together
from coxswain.core.models.scales import Scale


def _learn(made: Any, wrong_by: float) -> Any:
    rows = put_together(made.observations, Scale.LOG)
    left_out = rows.mean + np.random.default_rng(0).normal(0, wrong_by, len(rows))
    spread = np.full(len(rows), np.hypot(wrong_by, made.noise))
    return rows, left_out, learn_known(rows, left_out, spread, made.observations.censored)


def test_a_row_that_was_run_is_found_despite_rounding(jobs: Callable[..., Any]) -> None:
    rows, _, known = _learn(jobs(30, replicates=3), 0.3)
    assert known.find(rows.settings * (1 + 1e-12)).tolist() == list(range(30))
    assert known.find(rows.settings + 0.5).tolist() == [-1] * 30


def test_the_more_wrong_the_model_the_more_a_row_speaks_for_itself(jobs: Callable[..., Any]) -> None:
    shares = []
    for wrong_by in (0.02, 0.5):
        rows, left_out, known = _learn(jobs(30, replicates=3, noise=0.1), wrong_by)
        shares.append(np.mean((known.location - left_out) / (rows.mean - left_out)))
    assert shares[0] < 0.6
    assert shares[1] > 0.9


def test_another_run_of_a_known_row_stays_within_its_bound(jobs: Callable[..., Any]) -> None:
    covered = []
    for seed in range(40):
        made = jobs(25, replicates=2, noise=0.1, seed=seed)
        rows, _, known = _learn(made, 0.3)
        bound = known.location + known.spread * known.calibration.quantile(np.array([0.95]))
        covered.append(np.log(made.run(rows.settings, np.random.default_rng(seed + 99))) <= bound)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)


def test_without_rows_run_twice_nothing_is_known(jobs: Callable[..., Any]) -> None:
    assert _learn(jobs(30), 0.3)[2] is None


def test_runs_that_agree_to_the_last_digit_do_no_harm(jobs: Callable[..., Any]) -> None:
    rows, _, known = _learn(jobs(30, replicates=2, noise=0.0), 0.3)
    assert known.location == pytest.approx(rows.mean)
    assert np.all(np.isfinite(known.calibration.quantile(np.array([0.05, 0.95]))))
