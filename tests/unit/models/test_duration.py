import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from coxswain.core.errors import InputError
from coxswain.core.models import FEWEST_RUNS, Basis, DurationModel, RunRecord, fit_durations

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


@cache
def _learned(epochs: int) -> DurationModel:
    return fit_durations(_records((epochs,)))


def test_runs_of_ten_epochs_teach_about_one_to_ten() -> None:
    model = _learned(10)
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
    assert np.sqrt(model.seconds.between_epochs) == pytest.approx(BETWEEN_EPOCHS, rel=0.25)
    once, often = (model.predict(SETTINGS[0], epochs) for epochs in (2, 40))
    relative = [each.quantile(0.95) / each.point for each in (once, often)]
    assert relative[1] > 1 + BETWEEN_RUNS  # epochs average out, the run does not


def test_runs_of_one_epoch_are_understood_beside_longer_ones() -> None:
    model = fit_durations(_records((1, 10)))
    assert model.predict(SETTINGS[0], 10).point == pytest.approx(10 + 10.5 * _pace(SETTINGS[0]), rel=0.15)


def test_epochs_done_say_how_fast_this_run_is() -> None:
    model = _learned(10)
    slow = [1.3 * _pace(SETTINGS[0])] * 5
    left = model.predict(SETTINGS[0], 10, done=slow)
    unknown = model.predict(SETTINGS[0], 5)
    assert left.point == pytest.approx(5 * slow[0], rel=0.1)
    assert left.quantile(0.95) / left.point < unknown.quantile(0.95) / unknown.point
    assert model.predict(SETTINGS[0], 3, done=slow).quantile(0.95) == 0


def test_epochs_done_at_another_setting_are_taken_for_as_long_as_they_would_be_at_this_one() -> None:
    model = _learned(10)
    alone, together = {"workers": 4.0, "batch_size": 64.0}, {"workers": 1.0, "batch_size": 64.0}
    slow = [1.3 * _pace(alone)] * 5
    here = model.at(together)
    done = here.as_here(slow, model.at(alone))
    assert list(done) == pytest.approx([1.3 * _pace(together)] * 5, rel=0.1)
    assert here.one(10, done).point == pytest.approx(5 * 1.3 * _pace(together), rel=0.15)
    assert list(here.as_here(slow, here)) == slow


def test_bounds_and_chances_agree() -> None:
    duration = _learned(10).predict(SETTINGS[3], 7)
    for level in (0.001, 0.1, 0.5, 0.95, 0.9999):
        assert duration.cdf(duration.quantile(level)) == pytest.approx(level)
    assert duration.cdf(0) == 0
    assert duration.cdf(1e9) == 1


@pytest.mark.parametrize("bad", [RunRecord(SETTINGS[0], 1.0, []), RunRecord(SETTINGS[0], 1.0, [3.0, 0.0])])
def test_a_run_without_times_is_refused(bad: RunRecord) -> None:
    with pytest.raises(InputError, match=r"at least one epoch|not above 0"):
        fit_durations([*_records((3,)), bad])


def test_a_run_has_an_epoch() -> None:
    with pytest.raises(InputError, match="not 0"):
        _learned(10).predict(SETTINGS[0], 0)


def test_tails_go_on() -> None:
    duration = _learned(10).predict(SETTINGS[3], 7)
    levels = np.array([0.0001, 0.001, 0.01, 0.5, 0.99, 0.999, 0.9999])
    seconds = duration.quantile(levels)
    assert np.all(np.diff(seconds) > 0)
    assert seconds[0] > 0
    assert duration.cdf(seconds) == pytest.approx(levels)


def test_the_sum_of_parts_is_nearly_that_of_independent_draws() -> None:
    at = _learned(10).at(SETTINGS[5])
    rng = np.random.default_rng(0)
    levels = np.array([0.05, 0.5, 0.95, 0.99])
    for epochs in (1, 4):
        whole = at.many([epochs])
        assert whole.once is not None
        drawn = whole.once.quantile(rng.random(100_000)) + epochs * whole.pace.quantile(rng.random(100_000))
        assert whole.quantile(levels)[:, 0] == pytest.approx(np.quantile(drawn, levels), rel=0.02)


def test_many_epochs_at_once_are_as_one_by_one() -> None:
    model = _learned(10)
    many = model.at(SETTINGS[2]).many(range(1, 1001))
    bounds, chances = many.quantile(np.array([0.5, 0.95])), many.cdf(np.array(300.0))
    for epochs in (1, 12, 1000):
        alone = model.predict(SETTINGS[2], epochs)
        assert bounds[:, epochs - 1] == pytest.approx([alone.point, alone.quantile(0.95)])
        assert chances[epochs - 1] == pytest.approx(alone.cdf(300.0))
        assert many.shared_share[epochs - 1] == pytest.approx(alone.shared_share)
    assert np.all(np.diff(bounds) > 0)


def test_a_slow_first_epoch_does_not_say_that_the_run_is_slow() -> None:
    """The first epoch always takes 1.5 times as long; one that does tells of an ordinary run."""
    model = _learned(10)
    left = model.predict(SETTINGS[0], 10, done=[1.5 * _pace(SETTINGS[0])])
    assert left.point == pytest.approx(9 * _pace(SETTINGS[0]), rel=0.06)


def test_two_epochs_a_run_leave_some_doubt_about_the_rest() -> None:
    model = _learned(2)
    left = model.predict(SETTINGS[0], 12, done=[1.5 * _pace(SETTINGS[0]), _pace(SETTINGS[0])])
    assert left.quantile(0.95) > 1.02 * left.point


def test_what_was_not_measured_about_epochs_does_not_explain_away_how_runs_differ() -> None:
    """Runs of two epochs do not tell how epochs vary, but that runs do, and that does not average out."""
    long = _learned(2).predict({"workers": 3.0, "batch_size": 90.0}, 200)
    assert long.quantile(0.95) > (1 + 1.3 * BETWEEN_RUNS) * long.point


def test_a_start_up_that_cannot_be_told_from_nothing_makes_no_outliers() -> None:
    rng = np.random.default_rng(3)
    records = [replace(_run(settings, 5, rng, first_takes=1.0), startup=0.0) for settings in SETTINGS * 2]
    model = fit_durations(records)
    short = model.predict(SETTINGS[4], 1)
    assert short.quantile(0.95) < 1.5 * short.point
    assert short.point == pytest.approx(_pace(SETTINGS[4]), rel=0.15)


def test_killed_runs_are_lower_limits() -> None:
    """Whatever takes more than 40 s an epoch is killed in its first; leaving that out would make slow settings fast."""
    whole = _records((4,), replicates=3)
    limit = 40.0
    killed = [replace(each, epochs=[], killed_after=limit) if each.epochs[0] > limit else each for each in whole]
    slow = {"workers": 1.0, "batch_size": 32.0}
    assert sum(each.killed_after is not None for each in killed) > 6
    told = fit_durations(killed).predict(slow, 4)
    assert told.point > 4 * limit / 1.5
    assert told.point == pytest.approx(10 + 4.5 * _pace(slow), rel=0.35)


def test_runs_killed_before_their_first_epoch_tell_about_the_start_up_alone() -> None:
    records = [replace(each, settings={**each.settings, "memory": 2.0}) for each in _records((4,))]
    starved = [RunRecord({**each, "memory": 1.0}, 120.0, [], killed_after=0.0) for each in SETTINGS[:4]]
    model = fit_durations([*records, *starved])
    enough, little = (model.predict({**SETTINGS[5], "memory": memory}, 4) for memory in (2.0, 1.0))
    assert enough.point == pytest.approx(10 + 4.5 * _pace(SETTINGS[5]), rel=0.15)
    assert little.quantile(0.95) > 120 + 4 * _pace(SETTINGS[5])
    assert "memory = 1 was never run: it was 2 in every run" in little.notes


def test_the_epochs_that_a_killed_run_finished_count_in_full() -> None:
    records = _records((6,))
    killed = [replace(each, epochs=each.epochs[:3], killed_after=1.0) for each in records]
    whole, part = (fit_durations(each).predict(SETTINGS[1], 6).point for each in (records, killed + records[:3]))
    assert part == pytest.approx(whole, rel=0.1)


def test_an_epoch_that_never_ended_counts_at_least_as_long_as_it_lasted() -> None:
    records = _records((6,))
    hung = [replace(each, killed_after=20 * each.epochs[-1]) for each in records[:8]]
    usual, careful = (fit_durations(each).predict(SETTINGS[1], 6) for each in (records, hung + records[8:]))
    assert careful.quantile(0.95) > 1.5 * usual.quantile(0.95)


def test_one_setting_run_thirty_times_is_enough_for_it() -> None:
    rng = np.random.default_rng(0)
    model = fit_durations([_run(SETTINGS[0], 4, rng) for _ in range(30)])
    duration = model.predict(SETTINGS[0], 4)
    assert duration.point == pytest.approx(10 + 4.5 * _pace(SETTINGS[0]), rel=0.06)
    assert duration.basis is Basis.CONFORMAL
    assert duration.notes == ()
    held = [_total(_run(SETTINGS[0], 4, rng)) <= duration.quantile(0.95) for _ in range(400)]
    assert 0.88 < np.mean(held) < 0.995


def test_a_factor_that_never_changed_is_left_out_and_told_when_it_does() -> None:
    records = [replace(each, settings={**each.settings, "gpu": "none", "memory": 2}) for each in _records((5,))]
    model = fit_durations(records)
    same = model.predict({**SETTINGS[0], "gpu": "none", "memory": 2.0}, 5)
    other = model.predict({**SETTINGS[0], "gpu": "none", "memory": 4.0}, 5)
    assert same.notes == ()
    assert other.notes == ("memory = 4 was never run: it was 2 in every run",)
    assert other.point == pytest.approx(same.point)
    assert other.quantile(0.95) > 1.5 * same.quantile(0.95)
    assert other.basis is Basis.PARAMETRIC
    assert other.shared_share > same.shared_share


@pytest.mark.parametrize("loads", [(3.0,), (2.0, 3.0)])
def test_a_load_that_nobody_measured_is_the_nearest_one_with_a_wider_bound(loads: tuple[float, ...]) -> None:
    """However little those measured differ: a trend over so little must not decide about three times as many."""
    rng = np.random.default_rng(1)
    records = [replace(_run(SETTINGS[0], 4, rng), settings={"load": loads[i % len(loads)]}) for i in range(12)]
    model = fit_durations(records)
    measured, within, beyond = (model.predict({"load": load}, 4) for load in (3.0, 2.5, 9.0))
    assert beyond.point == pytest.approx(measured.point)
    assert 1.5 < beyond.quantile(0.95) / measured.quantile(0.95) < 5
    assert any(note.startswith("load = 9") for note in beyond.notes)
    assert not any(note.startswith("load = 9") for note in measured.notes + within.notes)


def test_a_load_that_is_missing_is_named() -> None:
    rng = np.random.default_rng(1)
    records = [replace(_run(SETTINGS[0], 4, rng), settings={"load": 1.0 + i % 2}) for i in range(12)]
    with pytest.raises(InputError, match="load"):
        fit_durations(records).predict({}, 4)


@pytest.mark.parametrize("runs", [FEWEST_RUNS, 4])
def test_few_runs_give_a_wide_bound_and_say_so(runs: int) -> None:
    held, ratios = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        some = [SETTINGS[place] for place in rng.permutation(len(SETTINGS))]
        duration = fit_durations([_run(settings, 3, rng) for settings in some[:runs]]).predict(some[-1], 3)
        held += [_total(_run(some[-1], 3, rng)) <= duration.quantile(0.95) for _ in range(20)]
        ratios.append(duration.quantile(0.95) / duration.point)
    assert duration.basis is Basis.PARAMETRIC
    assert f"learned from {runs} runs of {runs} settings only, so bounds are wide" in duration.notes
    assert np.mean(held) > 0.88
    assert np.median(ratios) > 1.5


def test_too_few_runs_are_told() -> None:
    with pytest.raises(InputError, match="2 finished runs are too few to learn durations from; 3 are needed"):
        fit_durations(_records((3,))[:2])


def test_extrapolation_is_told() -> None:
    (note,) = _learned(10).predict({"workers": 16.0, "batch_size": 64.0}, 5).notes
    assert note == "workers = 16 is beyond the measured range 1 to 4"


def test_what_jobs_have_in_common_is_told_from_what_a_run_has_for_itself() -> None:
    model = _learned(10)
    new = {"workers": 3.0, "batch_size": 90.0}
    whole = model.predict(new, 20)
    under_way = model.predict(new, 20, done=[30.0] * 12)
    assert 0 < whole.shared_share < 1
    assert under_way.shared_share < whole.shared_share
    assert model.predict({"workers": 16.0, "batch_size": 90.0}, 20).quantile(0.95) > whole.quantile(0.95)


def test_a_model_is_small_when_sent_about() -> None:
    model = _learned(10)
    sent = pickle.dumps(model)
    assert len(sent) < 100_000
    assert pickle.loads(sent).predict(SETTINGS[0], 3).point == model.predict(SETTINGS[0], 3).point  # noqa: S301


@pytest.mark.parametrize("odd", [3.0, 5.0, 8.0])
def test_one_run_unlike_others_that_agree_to_the_last_digit_widens_bounds_within_reason(odd: float) -> None:
    """Times by the second agree often; without the odd one there is no spread to measure it by."""
    runs = [RunRecord({"load": 1.0}, startup, [1.0] * 4) for startup in (4.0, 4.0, 4.0, odd, 4.0, 4.0)]
    bound = float(fit_durations(runs).predict({"load": 1.0}, 10).quantile(0.95))
    assert 14.0 < bound < 14.0 + 5 * abs(odd - 4.0)
