import numpy as np
import pytest

from coxswain.core.errors import InputError
from coxswain.core.models.duration import RunRecord, fit_durations

SETTINGS = [{"workers": w, "batch_size": b} for w in (1.0, 2.0, 4.0) for b in (32.0, 64.0, 128.0, 256.0)]
BETWEEN_RUNS, BETWEEN_EPOCHS = 0.08, 0.05


def _pace(settings: dict[str, float]) -> float:
    return float(30 / settings["workers"] ** 0.8 * (1 + 16 / settings["batch_size"]))


def _run(settings: dict[str, float], epochs: int, rng: np.random.Generator, first_takes: float = 1.5) -> RunRecord:
    speed = _pace(settings) * np.exp(rng.normal(0, BETWEEN_RUNS))
    seconds = speed * np.exp(rng.normal(0, BETWEEN_EPOCHS, epochs))
    seconds[0] *= first_takes
    return RunRecord(settings, float(rng.uniform(8, 12)), seconds.tolist())


def _records(epochs: tuple[int, ...], seed: int = 0, replicates: int = 2) -> list[RunRecord]:
    rng = np.random.default_rng(seed)
    return [_run(settings, epochs[index % len(epochs)], rng) for index in range(replicates) for settings in SETTINGS]


def _total(record: RunRecord) -> float:
    return record.startup + sum(record.epochs)


def test_runs_of_ten_epochs_teach_about_one_to_ten() -> None:
    model = fit_durations(_records((10,)))
    rng = np.random.default_rng(1)
    for epochs in (1, 3, 10):
        for settings in SETTINGS[::3]:
            actual = np.median([_total(_run(settings, epochs, rng)) for _ in range(41)])
            assert model.predict(settings, epochs).point == pytest.approx(actual, rel=0.12)


def test_bounds_hold_for_lengths_never_run() -> None:
    covered = []
    for seed in range(3):
        model = fit_durations(_records((10, 6), seed=seed))
        rng = np.random.default_rng(seed + 50)
        for epochs in (2, 20):
            for settings in ({"workers": 3.0, "batch_size": 90.0}, {"workers": 1.5, "batch_size": 200.0}):
                bound = model.predict(settings, epochs).quantile(0.95)
                covered += [_total(_run(settings, epochs, rng)) <= bound for _ in range(50)]
    assert 0.9 < np.mean(covered) <= 0.995


def test_variances_between_runs_and_between_epochs_are_told_apart() -> None:
    model = fit_durations(_records((10,), replicates=3))
    assert np.sqrt(model.between_epochs) == pytest.approx(BETWEEN_EPOCHS, rel=0.25)
    once, often = (model.predict(SETTINGS[0], epochs) for epochs in (2, 40))
    relative = [each.quantile(0.95) / each.point for each in (once, often)]
    assert relative[1] > 1 + BETWEEN_RUNS  # epochs average out, the run does not


def test_runs_of_one_epoch_are_understood_beside_longer_ones() -> None:
    model = fit_durations(_records((1, 10)))
    assert model.predict(SETTINGS[0], 10).point == pytest.approx(10 + 10.5 * _pace(SETTINGS[0]), rel=0.15)


def test_epochs_done_say_how_fast_this_run_is() -> None:
    model = fit_durations(_records((10,)))
    slow = [1.3 * _pace(SETTINGS[0])] * 5
    left = model.predict(SETTINGS[0], 10, done=slow)
    unknown = model.predict(SETTINGS[0], 5)
    assert left.point == pytest.approx(5 * slow[0], rel=0.1)
    assert left.quantile(0.95) / left.point < unknown.quantile(0.95) / unknown.point
    assert model.predict(SETTINGS[0], 3, done=slow).quantile(0.95) == 0


def test_bounds_and_chances_agree() -> None:
    duration = fit_durations(_records((10,))).predict(SETTINGS[3], 7)
    for level in (0.1, 0.5, 0.95):
        assert duration.cdf(duration.quantile(level)) == pytest.approx(level)
    assert duration.cdf(0) == 0
    assert duration.cdf(1e9) == 1


@pytest.mark.parametrize("bad", [RunRecord(SETTINGS[0], 1.0, []), RunRecord(SETTINGS[0], 1.0, [3.0, 0.0])])
def test_a_run_without_times_is_refused(bad: RunRecord) -> None:
    with pytest.raises(InputError, match="at least one epoch"):
        fit_durations([*_records((3,)), bad])


def test_a_run_has_an_epoch() -> None:
    with pytest.raises(InputError, match="not 0"):
        fit_durations(_records((3,))).predict(SETTINGS[0], 0)
