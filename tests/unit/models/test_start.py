from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from coxswain.core.models.families import gaussian
from coxswain.core.models.families.gaussian import GAUSSIAN_PROCESS, LOG_LOG
from coxswain.core.models.families.start import Start, starts_of
from coxswain.core.models.observations import FEWEST_UNITS, Rows, put_together
from coxswain.core.models.scales import Scale
from coxswain.core.models.types import Floats

KINDS = [(LOG_LOG, 2), (GAUSSIAN_PROCESS, 1)]
START = 40.0
FASTEST: Floats = np.array([[8.0, 2.0, 256.0, 1.0]])
Make = Callable[..., Any]


def _with_start(made: Any, start: float = START) -> Rows:
    """The same jobs, each longer by a start; what they take varies as a whole."""
    return put_together(replace(made.observations, y=made.observations.y + start), Scale.LOG)


def test_whole_and_rest_belong_together() -> None:
    start = Start(10.0, 0.1)
    response = np.log([10.5, 20.0, 1000.0])
    whole, share = start.whole(start.rest(response))
    assert whole == pytest.approx(response)
    assert share == pytest.approx([0.5 / 10.5, 0.5, 0.99])
    slope = (start.whole(start.rest(response) + 1e-6)[0] - response) / 1e-6
    assert share == pytest.approx(slope, rel=1e-4)


def test_no_start_leaves_everything_as_it_is() -> None:
    response = np.array([-3.0, 0.0, 2.0])
    none = Start(0.0, 1.0)
    assert np.array_equal(none.rest(response), response)
    assert np.array_equal(none.whole(response)[0], response)
    assert np.all(none.whole(response)[1] == 1)


def test_starts_are_likely_in_all_and_shorter_than_the_shortest_run(jobs: Make) -> None:
    rows = _with_start(jobs(12))
    starts = starts_of(rows)
    assert sum(start.likely for start in starts) == pytest.approx(1)
    assert starts[0].length == 0
    assert all(start.length < np.exp(rows.mean.min()) for start in starts)


def test_only_durations_on_a_logarithmic_scale_have_a_start_and_not_a_handful_of_them(jobs: Make) -> None:
    observations = jobs(12).observations
    few = observations.take(np.arange(12) < FEWEST_UNITS - 1)
    for rows in (put_together(observations, Scale.IDENTITY), put_together(few, Scale.LOG)):
        assert [start.length for start in starts_of(rows)] == [0.0]


@pytest.mark.parametrize(("family", "order"), KINDS)
@pytest.mark.parametrize("count", [16, 60])
def test_no_setting_is_predicted_to_be_faster_than_the_start(family: Any, order: int, count: int, jobs: Make) -> None:
    rows = _with_start(jobs(count, noise=0.02))
    predicted = np.exp(family.fit(rows, {"order": order}).mean(FASTEST))
    assert 0.9 * START < predicted[0] < 1.2 * START


@pytest.mark.parametrize(("family", "order"), KINDS)
def test_jobs_without_a_start_are_given_none(family: Any, order: int, jobs: Make) -> None:
    made = jobs(60)
    learned = family.fit(put_together(made.observations, Scale.LOG), {"order": order})
    assert learned.start.length == 0


def test_a_start_makes_predictions_better_and_they_know_how_good_they_are(
    jobs: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = jobs(40, noise=0.03)
    rows = _with_start(made)
    with_start: Any = LOG_LOG.fit(rows, {"order": 2})
    monkeypatch.setattr(gaussian, "starts_of", lambda _: [Start(0.0, 1.0)])
    without: Any = LOG_LOG.fit(rows, {"order": 2})
    actual = np.log(made.run(made.unseen, np.random.default_rng(3)) + START)
    error, worse = (actual - regressor.mean(made.unseen) for regressor in (with_start, without))
    assert np.std(error) < 0.7 * np.std(worse)
    expected = np.sqrt(with_start.variances(made.unseen).total)
    assert 0.6 < np.sqrt(np.mean((error / expected) ** 2)) < 1.4


@pytest.mark.parametrize(("family", "order"), KINDS)
def test_what_is_left_out_in_closed_form_is_left_out_with_a_start_too(family: Any, order: int, jobs: Make) -> None:
    rows = _with_start(jobs(40))
    regressor = family.fit(rows, {"order": order})
    assert regressor.start.length > 0
    folds = np.arange(40) % 4
    mean, variances = regressor.left_out(folds)
    without, left = regressor.take(folds != 1), rows.settings[folds == 1]
    assert mean[folds == 1] == pytest.approx(without.mean(left), rel=1e-6)
    assert variances.model[folds == 1] == pytest.approx(without.variances(left).model, rel=1e-4, abs=1e-9)
    assert np.diag(regressor.covariance(left)) == pytest.approx(regressor.variances(left).model, rel=1e-6)


def test_few_rows_leave_open_how_long_the_start_is(jobs: Make) -> None:
    few: Any = LOG_LOG.fit(_with_start(jobs(8)), {"order": 2})
    more: Any = LOG_LOG.fit(_with_start(jobs(20)), {"order": 2})
    assert len({answers.base.start.length for answers in few.answers}) > 1
    assert all(answers.base.start.length > 0 for answers in more.answers)
