import numpy as np
import pytest

from coxswain.core.errors import InputError
from coxswain.core.models.learning_curve import CurveRecord, fit_curve

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


def test_accuracy_is_predicted_over_epochs_and_settings() -> None:
    curve = fit_curve(_curves(12))
    new = {"batch_size": 100.0, "learning_rate": 0.03}
    predicted = curve.predict(new, [1, 4, 12])
    assert predicted.point == pytest.approx(_expected(new, np.array([1.0, 4.0, 12.0])), abs=0.02)
    assert np.all(np.diff(predicted.point) > 0)


def test_accuracy_stays_between_0_and_1_however_far() -> None:
    predicted = fit_curve(_curves(12)).predict(SETTINGS[0], [1, 100, 100_000])
    low, high = predicted.interval(0.99)
    assert np.all((low >= 0) & (high <= 1))
    assert np.all((predicted.point > 0) & (predicted.point < 1))
    assert predicted.notes[1] == ("epochs = 100 is beyond the measured range 1 to 12",)


def test_a_whole_curve_is_left_out_at_a_time() -> None:
    curve = fit_curve(_curves(12))
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


def test_a_curve_needs_runs() -> None:
    with pytest.raises(InputError, match="no runs"):
        fit_curve([])
