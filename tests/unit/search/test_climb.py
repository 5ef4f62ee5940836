"""HillClimb: where it goes, where it ends, and that it is the same whenever it is computed."""

import math
from dataclasses import replace
from typing import Any

import pytest

from coxswain.core.errors import InputError
from coxswain.core.search import plan_search, queues_of
from tests.unit.search.making import BATCH, NETWORK, RATE, Search, Settings, searching, valley

BROAD = {"parameters": {"batchSize": 999}, "resources": {"workers": 512}}
FINE = {"maxRuns": 200, "stopWhenImprovementBelowPercent": 0}


def climb(*factors: dict[str, Any], **fields: Any) -> Any:
    return searching("HillClimb", *factors, search={**FINE, **fields.pop("search", {})}, **fields)


def rates(search: Search) -> list[float]:
    return [float(step.settings[0]) for step in search.look().course.steps]


def test_it_doubles_while_the_response_falls_and_then_goes_by_tenths() -> None:
    search = Search(climb(RATE), valley(0.07))
    best = search.best()
    assert rates(search)[:7] == [0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128]
    assert rates(search)[7:] == [0.0704, 0.07744]
    assert best == {"rate": 0.0704}


def test_small_steps_go_down_where_going_up_does_not_pay() -> None:
    search = Search(climb(RATE), valley(0.054))
    assert search.best()["rate"] == pytest.approx(0.064 / 1.1**2, rel=1e-5)


def test_it_stays_within_the_bounds_and_may_end_at_one() -> None:
    search = Search(climb(RATE), lambda settings: 1 / float(settings["rate"]))
    assert search.best() == {"rate": 1}
    assert all(0.002 <= rate <= 1 for rate in rates(search))


def test_it_starts_at_the_first_level_as_written_and_may_go_down_from_there() -> None:
    search = Search(climb({**RATE, "levels": [1, 0.002]}), valley(0.1))
    assert search.best()["rate"] == pytest.approx(0.1, rel=0.06)
    assert rates(search)[:3] == [1, 0.5, 0.25]


def test_a_linear_factor_is_climbed_by_steps_that_double() -> None:
    factor = {"name": "rate", "field": "parameters.learningRate", "levels": [1, 17]}
    search = Search(climb(factor), lambda settings: 5 + abs(float(settings["rate"]) - 9.4))
    best = float(search.best()["rate"])
    assert rates(search)[:4] == [1, 2, 4, 8]
    assert rates(search)[4] == 16
    assert best == pytest.approx(9.6)


def test_whole_numbers_stay_whole_and_move_by_one_at_least() -> None:
    factor = {"name": "epochs", "field": "parameters.epochs", "levels": [1, 40], "coding": "Log"}
    search = Search(climb(factor), lambda settings: 50 + abs(float(settings["epochs"]) - 5))
    assert search.best() == {"epochs": 5}
    assert all(float(step.settings[0]).is_integer() for step in search.look().course.steps)


def test_only_listed_levels_are_used_where_there_are_more_than_two() -> None:
    search = Search(climb(BATCH), lambda settings: 1 + abs(math.log2(float(settings["batch"]) / 64)))
    assert search.best() == {"batch": 64}
    assert {step.settings[0] for step in search.look().course.steps} <= set(BATCH["levels"])


def test_several_factors_are_climbed_in_turn_until_a_round_brings_nothing() -> None:
    def formula(settings: Settings) -> float:
        rate, batch = math.log2(float(settings["rate"])), math.log2(float(settings["batch"]))
        return 10 + (rate + 4) ** 2 + (batch - 6) ** 2 + 0.8 * (rate + 4) * (batch - 6)

    search = Search(climb(RATE, {**BATCH, "levels": [16, 1024], "coding": "Log"}), formula)
    assert formula(search.best()) < 10.2


def test_what_may_be_chance_is_hardly_ever_taken_for_better() -> None:
    moved = 0
    for seed in range(20):
        template = {"template": {"spec": {"parameters": {"seed": seed}}}}
        course = Search(climb(RATE, replications=5, spec=template), lambda _: 10.0, noise=0.05).to_the_end()
        moved += course.best != course.start
        for step in course.steps:
            if step.trial and course.start and step.trial.mean < course.start.mean and course.best == course.start:
                assert "may be chance" in step.verdict
    # Two steps a climb, one-sided at 5 %: one in ten is expected to move, where half would if any lower mean counted.
    assert moved <= 5


def test_any_lower_mean_counts_by_the_rule_of_the_study_of_bigdl() -> None:
    for seed in range(10):
        spec = {"template": {"spec": {"parameters": {"seed": seed}}}, "analysis": {"alpha": 0.5}}
        course = Search(climb(RATE, replications=5, spec=spec), lambda _: 10.0, noise=0.05).to_the_end()
        assert not any("may be chance" in step.verdict for step in course.steps)
        assert course.best
        assert course.best.mean == min(step.trial.mean for step in course.steps if step.trial)


def test_noise_is_climbed_through_with_replicates() -> None:
    search = Search(climb(RATE, replications=5), valley(0.1), noise=0.05)
    assert 0.05 <= float(search.best()["rate"]) <= 0.2
    assert {len(step.trial.values) for step in search.look().course.steps if step.trial} == {5}


def test_too_small_an_improvement_ends_it_but_is_kept() -> None:
    search = Search(climb(RATE, search={"stopWhenImprovementBelowPercent": 10}), valley(0.1))
    course = search.to_the_end()
    assert rates(search)[5:] == [0.064, 0.128, 0.1408, 0.116364]
    assert [step.verdict for step in course.steps[6:]] == [
        "5.3 % lower",
        "no lower than 10.25",
        "the best: 1.5 % lower",
    ]
    assert course.over == "around rate 0.116364 no step lowers duration by 10 % or more beyond chance"


def test_no_more_runs_are_made_than_allowed() -> None:
    search = Search(climb(RATE, replications=5, search={"maxRuns": 17}), valley(0.1))
    course = search.to_the_end()
    assert len(search.begun) == 15
    assert course.over == "a further row would make more runs than maxRuns (17)"
    assert course.best


def test_a_setting_that_fails_or_breaks_the_limit_is_turned_back_from() -> None:
    def diverging(settings: Settings) -> float:
        return math.nan if float(settings["rate"]) > 0.03 else valley(0.1)(settings)

    failing = Search(climb(RATE, replications=3), diverging)
    course = failing.to_the_end()
    assert course.best
    assert 0.016 < float(course.best.settings[0]) <= 0.03
    failed = [step for step in course.steps if step.trial and step.trial.failed]
    assert [step.verdict for step in failed] == ["1 of 1 runs failed"] * len(failed)
    limit = {"limit": {"response": "loss", "atMost": 0.03}}
    responses = {"analysis": {"responses": [{"name": "duration"}, {"name": "loss"}]}}
    limited = Search(
        climb(RATE, search=limit, spec=responses), valley(0.1), others=lambda x: {"loss": float(x["rate"])}
    )
    assert 0.016 < float(limited.best()["rate"]) <= 0.03


def test_jobs_that_run_together_are_one_run_with_their_mean_response() -> None:
    jobs = {"name": "jobs", "field": "concurrency", "levels": [1, 2, 4]}
    search = Search(climb(jobs), lambda settings: 10 / float(settings["jobs"]), noise=0.1)
    assert search.best() == {"jobs": 4}
    assert [len(step.trial.values) for step in search.look().course.steps if step.trial] == [1, 1, 1]
    assert len(search.begun) == 1 + 2 + 4
    last = [each.observation.responses["duration"] for each in search.begun[-4:] if each.observation]
    best = search.look().course.best
    assert best
    assert best.mean == pytest.approx(sum(last) / 4)
    del search.begun[-1]  # one of four is still under way
    assert search.look().course.over is None


def test_a_search_whose_every_run_fails_ends_and_says_so() -> None:
    course = Search(climb(RATE), lambda _: math.nan).to_the_end()
    assert course.best is None
    assert course.message == "No setting that was tried may be chosen; no setting that may be chosen was found."


@pytest.mark.parametrize("parallelism", [1, 3])
def test_from_any_prefix_it_goes_on_in_the_same_way(parallelism: int) -> None:
    whole = Search(climb(RATE, replications=2), valley(0.03), noise=0.1)
    course = whole.to_the_end(parallelism)
    names = {run.name for run in whole.look().runs}
    for length in range(len(whole.begun)):
        again = Search(whole.manifest, whole.formula, whole.noise, begun=whole.begun[:length])
        assert {run.name for run in again.look().runs} <= names
        if length % 4 == 1:
            assert again.to_the_end() == course


def test_an_excluded_observation_turns_it_elsewhere_and_nothing_is_made_twice() -> None:
    search = Search(climb(RATE), valley(0.1))
    search.to_the_end()
    before = {(each.row, each.settings["rate"]) for each in search.begun}
    search.begun = [replace(each, excluded=each.row == 2) for each in search.begun]
    search.to_the_end()
    made = [(each.row, each.settings["rate"]) for each in search.begun]
    assert before <= set(made)
    assert len(made) == len(set(made)) == len({row for row, _ in made})
    course = search.look().course
    assert course.steps[2].verdict == "duration has no value"


def test_rows_it_turned_away_from_hold_it_up_no_more() -> None:
    search = Search(climb(RATE, search={"maxRuns": 20}), valley(0.1))
    search.to_the_end()
    search.begun = [replace(each, excluded=each.row == 2) for each in search.begun]
    search.manifest["spec"]["design"]["replications"] = 2
    while due := search.missing():
        search.make(due[0])
        search.begun = [replace(each, excluded=each.row == 2) for each in search.begun]
    assert search.look().course.over
    assert {each.row for each in search.begun if each.replicate == 1} < {each.row for each in search.begun}


def test_more_replications_repeat_the_rows_there_are() -> None:
    search = Search(climb(RATE), valley(0.1))
    search.to_the_end()
    rows = len(search.look().course.steps)
    search.manifest["spec"]["design"]["replications"] = 2
    assert [run.name for run in search.missing()] == ["search-row0-1"]
    search.to_the_end()
    assert len(search.look().course.steps) == rows
    assert len(search.begun) == 2 * rows


def test_a_queue_is_told_before_and_after_as_in_the_study_of_bigdl() -> None:
    """Its service rates are 3.085 and 333.33; at utilisation 0.8 E[T] is 1.6207 before the climb."""
    search = Search(climb(RATE), lambda settings: 1 / 3.085 if settings["rate"] == 0.002 else 0.003)
    one, four = queues_of(search.to_the_end())
    assert (one.before.name, four.after.name) == ("M/M/1", "M/M/4")
    assert one.before.response_time == pytest.approx(1.6207, abs=1e-4)
    assert one.after.response_time == pytest.approx(0.003, abs=1e-4)
    assert one.after.arrival_rate == one.before.arrival_rate == pytest.approx(0.8 * 3.085)
    assert queues_of(Search(climb(RATE), lambda _: 1.0).to_the_end()) == ()


def test_the_hash_follows_from_the_spec_alone() -> None:
    search = Search(climb(RATE), valley(0.1))
    first = search.look().digest
    search.to_the_end()
    assert search.look().digest == first
    assert Search(climb(RATE, seed=1), valley(0.1)).look().digest != first


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        (climb(RATE, NETWORK), "network has categories, and a HillClimb goes up and down in numbers"),
        (climb(RATE, blocks=2), "a search has no blocks"),
        (climb(RATE, replications=5, search={"maxRuns": 4}), "maxRuns is 4, fewer than the 5 replications of one row"),
        (climb(RATE, spec={"arrivals": {"type": "Poisson", "ratePerHour": 6}}), "leave arrivals out"),
        (
            climb(
                BATCH, spec={"template": {"spec": {"parameters": {"batchSize": 999}, "resources": {"workers": 512}}}}
            ),
            "no setting makes a job, for example batch 16: .*batchSize must be at least",
        ),
    ],
)
def test_what_cannot_be_climbed_is_refused(manifest: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        plan_search(Search(manifest, lambda _: 1.0).experiment, [])
