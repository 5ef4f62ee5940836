"""What policies make of deadlines, on recorded runs whose truth is simple."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from coxswain.cli.app import app
from coxswain.core.baselines import (
    POLICIES,
    Contested,
    Normal,
    Poisson,
    Result,
    backtest,
    backtest_queue,
    parse_arrivals,
    parse_deadlines,
    policies,
    read_recorded,
)
from coxswain.core.baselines.policies import Coxswain, Jobs, Lessons
from coxswain.core.errors import InputError
from coxswain.core.models import Predictive
from coxswain.core.models.types import Floats
from coxswain.core.planning import Candidate, Capacity, Pending, Snapshot, plan, promise_level, times_of

FACTORS = ["workers", "cores", "epochs"]


def table(noise: float = 0.05, runs: int = 2) -> pd.DataFrame:
    """Runs that take longer the more epochs and the fewer workers and cores they have; accuracy grows with epochs."""
    rng = np.random.default_rng(7)
    rows = [
        {
            "workers": workers,
            "cores": cores,
            "epochs": epochs,
            "seconds": 60 * epochs / workers**0.8 / cores**0.9 * np.exp(rng.normal(0, noise)),
            "accuracy": 0.9 - 0.4 / epochs,
        }
        for workers in (1.0, 2.0, 4.0)
        for cores in (1.0, 2.0, 4.0)
        for epochs in (2.0, 5.0, 8.0, 10.0)
        for _ in range(runs)
    ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    recorded = read_recorded(table(), response="seconds", value="accuracy", factors=FACTORS, adjust=["epochs"])
    found = backtest(
        recorded, policies=list(POLICIES), deadlines=Contested(), confidences=[0.95], repetitions=40, seed=1, folds=3
    )
    return {each.name: each for each in found}


def test_promises_are_kept_as_often_as_they_say(results: dict[str, Result]) -> None:
    ours = results["coxswain"]
    assert ours.promised > 0.5
    assert ours.kept_of_promised is not None
    assert ours.kept_error is not None
    assert ours.kept_of_promised >= 0.95 - 2 * ours.kept_error


def test_ours_is_kept_more_often_than_the_seeds_and_gains_most_of_what_there_is(results: dict[str, Result]) -> None:
    ours = results["coxswain"]
    assert ours.met > max(results[name].met for name in ("courier", "fltk", "random", "mean"))
    assert ours.gain is not None
    assert ours.gain > 0.7


def test_the_scale_of_the_gain_is_the_minimum_and_the_oracle(results: dict[str, Result]) -> None:
    assert results["minimum"].gain == 0
    assert results["oracle"].gain == 1
    assert results["oracle"].met_of_feasible == 1
    assert results["random"].promised == 0
    assert results["random"].kept_of_promised is None


def test_the_policy_of_the_backtest_is_the_plan_of_an_empty_queue() -> None:
    recorded = read_recorded(table(), response="seconds", value="accuracy", factors=FACTORS, adjust=["epochs"])
    context = recorded.contexts[0]
    lessons = Lessons(*recorded.learning(np.array([context.number])), recorded, 0)
    policy = POLICIES["coxswain"](lessons)
    assert isinstance(policy, Coxswain)
    deadlines = np.linspace(context.usual.min(), context.usual.max(), 9)
    picks = policy.pick(Jobs(context, deadlines, np.zeros((9, 4))), 0.9, np.random.default_rng(0))
    predicted, values = lessons.time_model.predict_array(context.settings), lessons.value_of(context.settings)
    times = [times_of(partial(quantiles, predicted, k), float(share)) for k, share in enumerate(predicted.model_share)]
    level = promise_level(times, values, 0.9, correlation=lessons.time_model.correlation(context.settings))
    assert level is not None
    candidates = tuple(
        Candidate({}, Capacity(1000), each, float(value)) for each, value in zip(times, values, strict=True)
    )
    for deadline, chosen, promised in zip(deadlines, picks.chosen, picks.promised, strict=True):
        job = Pending("job", 0.0, candidates, deadline=float(deadline), confidence=level)
        decision = plan(Snapshot(0.0, Capacity(1000), (job,))).decisions[0]
        assert decision.attainable == promised
        if promised:
            assert decision.choice == chosen


def quantiles(predicted: Predictive, candidate: int, levels: Floats) -> Floats:
    return np.array([predicted.quantile(float(level))[candidate] for level in levels])


def test_deadlines_are_read() -> None:
    assert parse_deadlines("contested") == Contested()
    assert parse_deadlines("normal:300,100") == Normal(300.0, 100.0)
    with pytest.raises(InputError, match="write contested"):
        parse_deadlines("normal:300")


def test_differences_of_value_count_as_far_as_they_come_true_elsewhere() -> None:
    runs = table(runs=1)
    noises = [np.random.default_rng(seed).normal(0.9, 0.01, len(runs)) for seed in range(4)]
    real, *noise = (
        read_recorded(each, response="seconds", value="accuracy", factors=FACTORS, adjust=["epochs"])
        for each in (runs, *(runs.assign(accuracy=values) for values in noises))
    )
    assert policies._trust(real.value, 0) > 0.9
    assert np.mean([policies._trust(each.value, 0) for each in noise]) < 0.4
    # Where nothing is to be gained, nothing is risked: the fastest is picked, though all are sure enough.
    context = real.contexts[4]
    lessons = Lessons(real.time, real.value, real, 0)
    indifferent = Coxswain(lessons.time_model, lambda settings: np.full(len(settings), 0.9), lessons.at_stake)
    jobs = Jobs(context, np.array([1.2 * float(context.usual.max())]), context.usual[None, :])
    picked = indifferent.pick(jobs, 0.95, np.random.default_rng(0))
    assert (picked.chosen[0], picked.promised[0]) == (int(np.argmin(context.usual)), True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"adjust": ["speed"]}, "speed cannot be adjusted because it is not a factor"),
        ({"adjust": FACTORS}, "leave at least one that makes the context"),
        ({"response": "hours"}, "there is no column hours"),
        ({"value": None, "adjust": ["epochs", "cores"]}, "only one may be adjusted"),
    ],
)
def test_a_slip_is_told_in_one_sentence(change: dict[str, object], message: str) -> None:
    given = {"response": "seconds", "value": "accuracy", "factors": FACTORS, "adjust": ["epochs"], **change}
    with pytest.raises(InputError, match=message):
        read_recorded(table(), **given)  # type: ignore[arg-type]


def test_the_command_gives_a_document(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    table(runs=1).to_csv(path, index=False)
    wanted = ["minimum", "random", "oracle"]
    arguments = [
        *("backtest", str(path), "--response", "seconds", "--accuracy", "accuracy", "--factors", ",".join(FACTORS)),
        *("--adjust", "epochs", "--policies", ",".join(wanted), "--repetitions", "5", "-o", "json"),
    ]
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 0, answer.output
    document = json.loads(answer.output)
    assert [each["name"] for each in document["policies"]] == wanted
    assert document["contexts"] == 9
    assert document["jobs"] == 45
    assert document["policies"][2]["gain"] == 1


def test_an_unknown_policy_is_refused() -> None:
    recorded = read_recorded(table(), response="seconds", value="accuracy", factors=FACTORS, adjust=["epochs"])
    with pytest.raises(InputError, match="there is no policy best"):
        backtest(recorded, policies=["best"], deadlines=Contested(), confidences=[0.9], repetitions=1)


def test_arrivals_are_read() -> None:
    assert parse_arrivals("poisson:0.8") == Poisson(0.8)
    for slip in ("poisson", "poisson:0", "uniform:1"):
        with pytest.raises(InputError, match="write poisson:UTILISATION"):
            parse_arrivals(slip)


def test_in_a_queue_planning_together_beats_choosing_one_by_one() -> None:
    recorded = read_recorded(table(runs=1), response="seconds", value="accuracy", factors=FACTORS, adjust=["epochs"])
    results = backtest_queue(
        recorded,
        policies=["coxswain", "random", "minimum", "oracle"],
        deadlines=Normal(400.0, 100.0),
        confidence=0.95,
        repetitions=3,
        arrivals=Poisson(0.9),
        servers=2,
        folds=2,
    )
    found = {each.name: each for each in results}
    ours = found["coxswain"]
    assert ours.met > found["random"].met
    assert ours.gain is not None
    assert ours.gain > 0.5
    assert found["oracle"].gain == 1
    assert ours.wait_bounds_held is not None
    assert ours.wait_bounds_held > 0.9
    assert found["random"].wait_bounds_held is None


def test_the_command_lets_jobs_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    table(runs=1).to_csv(path, index=False)
    arguments = [
        *("backtest", str(path), "--response", "seconds", "--accuracy", "accuracy", "--factors", ",".join(FACTORS)),
        *("--adjust", "epochs", "--policies", "minimum,random", "--repetitions", "2", "--arrivals", "poisson:0.9"),
    ]
    answer = CliRunner().invoke(app, [*arguments, "--servers", "2", "-o", "json"])
    assert answer.exit_code == 0, answer.output
    document = json.loads(answer.output)
    assert (document["arrivals"], document["servers"], document["jobs"]) == ("poisson:0.9", 2, 18)
    assert [each["name"] for each in document["policies"]] == ["minimum", "random"]
    assert all(each["longest_wait"] >= each["mean_wait"] >= 0 for each in document["policies"])
    assert all(each["met_of_feasible"] >= each["met"] for each in document["policies"])
    crowded = CliRunner().invoke(app, [*arguments, "--servers", "2", "--contention", "0.5", "-o", "json"])
    slower = json.loads(crowded.output)
    assert slower["contention"] == 0.5
    # With the fastest settings nobody waits for anybody, however slow company makes them.
    assert [each["policies"][0]["mean_wait"] for each in (document, slower)] == [0, 0]
    assert slower["policies"][1]["mean_wait"] > document["policies"][1]["mean_wait"] > 0
    for slip in (["--servers", "0"], ["--contention", "-1"]):
        assert isinstance(CliRunner().invoke(app, [*arguments, *slip]).exception, InputError)
