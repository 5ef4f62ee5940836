import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from coxswain.core.errors import InputError
from coxswain.core.models.learning_curve import CurveRecord, LearningCurve, fit_curve

SETTINGS = [
    {"batch_size": b, "learning_rate": r} for b in (32.0, 64.0, 128.0, 256.0, 512.0) for r in (0.01, 0.02, 0.05, 0.1)
]


def _expected(settings: dict[str, float], epochs: np.ndarray) -> np.ndarray:
    error = 0.4 * (settings["batch_size"] / 32) ** 0.15 * epochs**-0.5 * (1 + 3 * settings["learning_rate"])
    return np.asarray(1 - error)


def _curves(epochs: int, seed: int = 0) -> list[CurveRecord]:
    rng = np.random.default_rng(seed)
    return [
        CurveRecord(settings, (_expected(settings, np.arange(1.0, epochs + 1)) + rng.normal(0, 0.004, epochs)).tolist())
        for settings in SETTINGS
    ]


@cache
def _learned() -> LearningCurve:
    return fit_curve(_curves(12))


def test_accuracy_is_predicted_over_epochs_and_settings() -> None:
    curve = _learned()
    new = {"batch_size": 100.0, "learning_rate": 0.03}
    predicted = curve.predict(new, [1, 4, 12])
    assert predicted.point == pytest.approx(_expected(new, np.array([1.0, 4.0, 12.0])), abs=0.02)
    assert np.all(np.diff(predicted.point) > 0)


def test_accuracy_stays_between_0_and_1_however_far() -> None:
    predicted = _learned().predict(SETTINGS[0], [1, 100, 100_000])
    low, high = predicted.interval(0.99)
    assert np.all((low >= 0) & (high <= 1))
    assert np.all((predicted.point > 0) & (predicted.point < 1))
    assert predicted.notes[1] == ("epochs = 100 is beyond the measured range 1 to 12",)


def test_a_whole_curve_is_left_out_at_a_time() -> None:
    curve = _learned()
    assert curve.model.rows == len(SETTINGS)
    assert curve.model.known is None


def test_bounds_hold_for_settings_never_run() -> None:
    covered = []
    for seed in range(3):
        curve = fit_curve(_curves(10, seed=seed))
        rng = np.random.default_rng(seed)
        for batch in (45.0, 180.0):
            new = {"batch_size": batch, "learning_rate": 0.03}
            low, high = curve.predict(new, [2, 5, 10]).interval(0.9)
            actual = _expected(new, np.array([2.0, 5.0, 10.0])) + rng.normal(0, 0.004, (40, 3))
            covered.append(np.mean((low <= actual) & (actual <= high)))
    assert np.mean(covered) > 0.82


@pytest.mark.parametrize("accuracy", [[], [0.5, 91.0], [-0.1]])
def test_an_accuracy_that_is_no_share_is_refused(accuracy: list[float]) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        fit_curve([*_curves(3), CurveRecord(SETTINGS[0], accuracy)])


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        ([], "0 runs are too few"),
        (_curves(5)[:2], "2 runs are too few"),
        (_curves(1), "every run tells about epoch 1 alone"),
        ([CurveRecord(SETTINGS[0], [0.5, 0.6], horizon_dependent=True)] * 4, "every run tells about epoch 2 alone"),
    ],
)
def test_a_curve_needs_runs_and_epochs(records: list[CurveRecord], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        fit_curve(records)


def _saturating(settings: dict[str, float], epochs: np.ndarray) -> np.ndarray:
    level = 0.93 - 0.02 * np.log2(settings["batch_size"] / 32) / 4
    return np.asarray(level - 0.5 * epochs**-0.9)


def test_a_curve_levels_off_beyond_the_epochs_measured() -> None:
    rng = np.random.default_rng(0)
    epochs = np.arange(1.0, 13.0)
    curve = fit_curve(
        [CurveRecord(each, (_saturating(each, epochs) + rng.normal(0, 0.004, 12)).tolist()) for each in SETTINGS]
    )
    new = {"batch_size": 100.0, "learning_rate": 0.03}
    every = curve.predict(new, range(1, 101)).point
    assert np.all(np.diff(every) > 0)
    assert every[47] == pytest.approx(_saturating(new, np.array(48.0)), abs=0.02)
    assert every[99] - every[47] < 0.01


def test_many_epochs_are_predicted_at_once_and_as_one_by_one() -> None:
    curve = _learned()
    many = curve.predict(SETTINGS[1], range(1, 1001))
    for epochs in (1, 7, 1000):
        alone = curve.predict(SETTINGS[1], [epochs])
        assert many.point[epochs - 1] == pytest.approx(alone.point[0])
        assert many.notes[epochs - 1] == alone.notes[0]


def test_with_a_schedule_that_depends_on_the_epochs_planned_only_ends_teach() -> None:
    """Under such a schedule the accuracy is poor until the end of each run."""
    records = [
        CurveRecord(
            settings,
            [*[0.3] * (epochs - 1), float(_expected(settings, np.array(float(epochs))))],
            horizon_dependent=True,
        )
        for number, settings in enumerate(SETTINGS)
        for epochs in ((4, 8, 16)[number % 3],)
    ]
    new = {"batch_size": 100.0, "learning_rate": 0.03}
    assert fit_curve(records).predict(new, [8]).point[0] == pytest.approx(_expected(new, np.array(8.0)), abs=0.04)


def test_a_setting_written_in_two_ways_is_one_row() -> None:
    curves = _curves(6)
    again = [
        replace(each, settings={**each.settings, "batch_size": int(each.settings["batch_size"])}) for each in curves
    ]
    assert fit_curve([*curves, *again]).model.rows == len(SETTINGS)


def test_one_setting_run_often_has_a_curve_of_its_own() -> None:
    rng = np.random.default_rng(0)
    epochs = np.arange(1.0, 9.0)
    runs = [
        CurveRecord(
            SETTINGS[0], (_expected(SETTINGS[0], epochs) + rng.normal(0, 0.01) + rng.normal(0, 0.002, 8)).tolist()
        )
        for _ in range(24)
    ]
    curve = fit_curve(runs)
    predicted = curve.predict(SETTINGS[0], [4])
    assert predicted.point[0] == pytest.approx(_expected(SETTINGS[0], np.array(4.0)), abs=0.01)
    assert predicted.notes[0] == ()
    elsewhere = curve.predict(SETTINGS[-1], [4])
    assert "batch_size = 512 was never run: it was 32 in every run" in elsewhere.notes[0]
    assert elsewhere.quantile(0.05)[0] < predicted.quantile(0.05)[0] - 0.1


def test_an_accuracy_of_one_is_a_rounded_one() -> None:
    """Of 360 images none was wrong: that is one better than a single one, not infinitely better."""
    curves = [replace(each, accuracy=(np.round(np.array(each.accuracy) * 360) / 360).tolist()) for each in _curves(12)]
    perfect = replace(curves[0], accuracy=[*curves[0].accuracy[:-1], 1.0])
    predicted = [fit_curve([first, *curves[1:]]).predict(SETTINGS[0], [12]).point[0] for first in (curves[0], perfect)]
    assert predicted[1] - predicted[0] < 0.08


def test_a_curve_is_small_when_sent_about() -> None:
    curve = _learned()
    sent = pickle.dumps(curve)
    assert len(sent) < 100_000
    assert pickle.loads(sent).predict(SETTINGS[0], [3]).point == pytest.approx(curve.predict(SETTINGS[0], [3]).point)  # noqa: S301
