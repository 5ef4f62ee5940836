"""How forecasts hold over a family's life: learned anew after every run, scored, adapted, and after all times doubled.

Three tables. The track by itself: how often bounds at 95 % held where scores are as they should be, too small, too
large, or shifted at once. The alarm by itself: how often it is false, and after how many runs it is raised. And the
whole: families of made-up runs, each forecast by what those before it taught.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from coxswain.core.forecasts.drift import ALPHA, drift_in, first_alarm
from coxswain.core.forecasts.learning import learn
from coxswain.core.forecasts.outlook import outlook
from coxswain.core.forecasts.scores import Made, scored, scores_of
from coxswain.core.forecasts.track import tracks
from coxswain.core.ledger.entry import Entry
from coxswain.core.models.types import Floats
from tests.unit.forecasts.making import PER_EPOCH, after, entry, job
from tests.unit.forecasts.test_drift import runs

FAMILIES, CHANGE, RUNS = 10, 30, 60
SHAPES = {"as they should be": (1.0, 0.0), "too small (0.5)": (0.5, 0.0), "too large (2)": (2.0, 0.0)}


def run() -> None:
    """Print all three tables."""
    _tracks()
    _alarms()
    _families()


def _tracks() -> None:
    bound = np.array([ndtri(0.95)])
    print("bounds at 95 % that held, 50 sequences of 300      without      first 50     last 200")
    for name, (size, shift) in {**SHAPES, "shifted by 7 after 50": (1.0, 7.0)}.items():
        plain, held = [], []
        for seed in range(50):
            scores = size * np.random.default_rng(seed).standard_normal(300)
            scores[50:] += shift
            met = zip(scores, tracks(scores), strict=False)
            held.append([score <= each.at(bound)[0] for score, each in met])
            plain.append(scores <= bound)
        shares = (np.mean(plain), np.mean(np.array(held)[:, :50]), np.mean(np.array(held)[:, 100:]))
        print(f"  scores {name:38s}" + "".join(f"{100 * share:10.1f} %" for share in shares))


def _alarms() -> None:
    print(f"\nfalse alarms, 2,000 sequences of 100 (at most {100 * ALPHA:g} % for all time where scores are right)")
    for name, (size, _) in SHAPES.items():
        false = [drift_in(runs(size * _normal(seed, 100))) is not None for seed in range(2000)]
        print(f"  scores {name:38s}{100 * np.mean(false):10.2f} %")
    print("runs until the alarm after a shift, 300 sequences       median   nine in ten")
    for before in (10, CHANGE, 200):
        for shift in (7.0, 3.0):
            delays = []
            for seed in range(300):
                scores = _normal(seed, before + 60)
                scores[before:] += shift
                found = first_alarm(runs(scores))
                delays.append(found[1] + 1 - before if found else np.inf)
            told = f"{before} runs before, by {shift:g} deviations"
            print(f"  {told:45s}{np.median(delays):14.0f}{np.quantile(delays, 0.9):14.0f}")


@dataclass(frozen=True)
class Life:
    """What became of one family: all its runs, and when a change was noticed."""

    entries: list[Entry]
    noticed: int | None


def _life(seed: int, noise: float, factor: float) -> Life:
    """Runs one after the other; from the thirtieth on all of them take longer by a factor."""
    rng = np.random.default_rng(seed)
    entries: list[Entry] = []
    now, noticed = 0.0, None
    for number in range(RUNS):
        model = learn(entries)
        if model.drift and noticed is None:
            noticed = number
        epochs, batch = int(rng.integers(1, 8)), int(rng.choice([32, 64, 128]))
        waiting = job(f"run-{number}", parameters={"epochs": epochs, "batchSize": batch})
        forecast = outlook(waiting, model, after(now), load=1.0).issued
        slower = factor if number >= CHANGE else 1.0
        pace = slower * PER_EPOCH * (64 / batch) ** 0.5 * np.exp(rng.normal(0, noise))
        seconds = pace * np.exp(rng.normal(0, noise, epochs))
        done = entry(number, seconds, began=after(now), forecast=forecast, batchSize=batch)
        entries.append(done)
        now += done.observation.responses["duration"] + 1
    return Life(entries, noticed)


def _families() -> None:
    print(f"\n{FAMILIES} families of {RUNS} runs; all take longer by a factor from run {CHANGE} on; bounds at 95 %")
    print("  noise  factor   held before   next 5   later    MAPE    skill   noticed after")
    for noise, factor in ((0.05, 1.0), (0.05, 2.0), (0.2, 1.0), (0.2, 2.0)):
        lives = [_life(seed, noise, factor) for seed in range(FAMILIES)]
        held = [[each.bound_held for each in scored(life.entries, Made.START)] for life in lives]
        first = CHANGE - (RUNS - len(held[0]))
        shares = [np.mean([each[part] for each in held]) for part in _parts(first)]
        found = [scores_of(life.entries, Made.START) for life in lives]
        mape, skill = (np.mean([getattr(each, name) for each in found]) for name in ("mape", "skill"))
        noticed = sorted(life.noticed - CHANGE for life in lives if life.noticed is not None)
        told = f"{noticed} ({len(noticed)} of {FAMILIES})" if noticed else "never"
        print(
            f"  {noise:5g}  {factor:6g}   {100 * shares[0]:9.1f} %{100 * shares[1]:7.0f} %{100 * shares[2]:6.1f} %"
            f"  {100 * mape:5.1f} %  {skill:5.2f}   {told}",
            flush=True,
        )


def _parts(first: int) -> tuple[slice, slice, slice]:
    return slice(None, first), slice(first, first + 5), slice(first + 5, None)


def _normal(seed: int, size: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(size)
