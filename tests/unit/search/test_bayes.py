"""BayesianOptimization: that it finds, keeps limits, counts what it costs, and is the same whenever it is computed."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.search.making import BATCH, NETWORK, RATE, WORKERS, Search, Settings, searching

RESPONSES = {"analysis": {"responses": [{"name": "duration"}, {"name": "loss"}]}}


def explore(*factors: dict[str, Any], **fields: Any) -> Any:
    search = {"maxRuns": 40, "recurrences": 100_000, **fields.pop("search", {})}
    return searching("BayesianOptimization", *factors, search=search, **fields)


def money(settings: Settings) -> float:
    """What a training costs: more workers are sooner done but idle for longer, and some batch size is best."""
    workers, batch = float(settings["workers"]), float(settings["batch"])
    seconds = 60 * (0.05 + 0.95 / workers) + 6 * workers
    return 0.03 * math.sqrt(workers) * seconds * (1 + 0.1 * math.log2(batch / 64) ** 2)


def least(allowed: Any = lambda _: True) -> float:
    return min(
        money(settings)
        for workers in WORKERS["levels"]
        for batch in BATCH["levels"]
        if allowed(settings := {"workers": workers, "batch": batch})
    )


@pytest.mark.parametrize(("noise", "replications"), [(0.0, 1), (0.05, 1), (0.15, 4)])
def test_it_finds_a_setting_near_the_best_in_a_third_of_the_rows(noise: float, replications: int) -> None:
    options = {"maxRuns": 30 * replications, "stopWhenImprovementBelowPercent": 1}
    search = Search(explore(WORKERS, BATCH, replications=replications, search=options), money, noise)
    assert money(search.best()) <= 1.1 * least()
    assert len(search.look().course.steps) <= 10


def test_categories_and_ranges_are_searched_together() -> None:
    def formula(settings: Settings) -> float:
        network = {"mlp": 1.6, "vit": 1.0, "fashion-cnn": 1.3}[str(settings["network"])]
        return 10 * network * (1 + 0.1 * math.log2(float(settings["rate"]) / 0.05) ** 2)

    search = Search(explore(RATE, NETWORK, search={"stopWhenImprovementBelowPercent": 2}), formula)
    best = search.best()
    assert best["network"] == "vit"
    assert formula(best) < 11
    assert all(0.002 <= float(step.settings[0]) <= 1 for step in search.look().course.steps)


def test_the_limit_is_kept_though_what_breaks_it_would_cost_less() -> None:
    def loss(settings: Settings) -> Mapping[str, float]:
        return {"loss": 2.0 - 0.25 * float(settings["workers"])}

    def allowed(settings: Settings) -> bool:
        return loss(settings)["loss"] <= 0.6

    options = {"limit": {"response": "loss", "atMost": 0.6}, "stopWhenImprovementBelowPercent": 1}
    search = Search(explore(WORKERS, BATCH, search=options, spec=RESPONSES), money, others=loss)
    best = search.best()
    assert allowed(best)
    assert least() < 0.9 * least(allowed)
    assert money(best) <= 1.1 * least(allowed)
    told = [step.verdict for step in search.look().course.steps if not allowed({"workers": step.settings[0]})]
    assert told
    assert all("above its limit of 0.6" in verdict for verdict in told)


def test_a_limit_that_nothing_keeps_ends_it_without_a_best() -> None:
    limit = {"limit": {"response": "loss", "atMost": 0.1}}
    search = Search(explore(WORKERS, BATCH, search=limit, spec=RESPONSES), money, others=lambda _: {"loss": 2.0})
    course = search.to_the_end()
    assert course.best is None
    assert course.over == "no setting that is left has a chance of 10 % to be allowed"
    assert len(course.steps) < 30


def test_what_it_costs_to_search_is_weighed_against_the_runs_to_come() -> None:
    searches = {
        times: Search(explore(WORKERS, BATCH, search={"recurrences": times}), money, 0.05) for times in (1, 1000)
    }
    courses = {times: search.to_the_end() for times, search in searches.items()}
    assert len(searches[1].begun) < len(searches[1000].begun)
    assert "in each of 1 run to come (recurrences)" in str(courses[1].over)


def test_failures_are_kept_away_from() -> None:
    def out_of_memory(settings: Settings) -> float:
        return math.nan if float(settings["batch"]) > 100 else money(settings)

    search = Search(explore(WORKERS, BATCH, search={"stopWhenImprovementBelowPercent": 2}), out_of_memory)
    best = search.best()
    assert money(best) <= 1.15 * least(lambda settings: settings["batch"] <= 100)
    failed = [step for step in search.look().course.steps if step.trial and step.trial.failed]
    assert 0 < len(failed) <= len(search.look().course.steps) / 2


def test_settings_that_make_no_job_are_never_asked_for() -> None:
    manifest = explore(WORKERS, {**BATCH, "levels": [4, 16, 64]})
    search = Search(manifest, money)
    search.to_the_end()
    assert all(float(step.settings[1]) >= float(step.settings[0]) for step in search.look().course.steps)


def test_when_everything_was_tried_it_is_over() -> None:
    factors = {**WORKERS, "levels": [1, 2]}, {**BATCH, "levels": [16, 17]}
    manifest = explore(*factors, replications=2, search={"stopWhenImprovementBelowPercent": 0})
    course = Search(manifest, lambda x: 1 + float(x["workers"]) / 100 + float(x["batch"])).to_the_end()
    assert len(course.steps) == 4
    assert course.over == "all settings that a job can have were tried"


def test_no_more_runs_are_made_than_allowed() -> None:
    search = Search(explore(WORKERS, BATCH, replications=2, search={"maxRuns": 5}), money)
    course = search.to_the_end(parallelism=4)
    assert len(search.begun) == 4
    assert course.best
    assert course.over == "a further row would make more runs than maxRuns (5)"


@pytest.mark.parametrize("parallelism", [1, 4])
def test_from_any_prefix_it_goes_on_in_the_same_way(parallelism: int) -> None:
    options = {"maxRuns": 16, "stopWhenImprovementBelowPercent": 0}
    whole = Search(explore(WORKERS, BATCH, replications=2, search=options), money, 0.05)
    course = whole.to_the_end(parallelism)
    names = {run.name for run in whole.look().runs}
    for length in range(0, len(whole.begun), 5):
        again = Search(whole.manifest, whole.formula, whole.noise, begun=whole.begun[:length])
        assert {run.name for run in again.look().runs} <= names
        assert again.to_the_end() == course


def test_the_seed_decides_where_it_begins() -> None:
    firsts = {
        tuple(step.settings for step in Search(explore(WORKERS, BATCH, seed=seed), money).look().course.steps)
        for seed in range(6)
    }
    assert len(firsts) > 1


def test_a_space_too_large_to_list_is_sampled() -> None:
    factors = [
        {"name": f"x{n}", "field": f"parameters.extra.x{n}", "levels": [0.001, 1], "coding": "Log"} for n in range(5)
    ]
    manifest = explore(*factors, search={"maxRuns": 12})
    search = Search(manifest, lambda x: 5 + sum(math.log10(float(value)) ** 2 for value in x.values()))
    first = [sum(math.log10(float(value)) ** 2 for value in step.settings) for step in search.look().course.steps]
    best = search.to_the_end().best
    assert best
    assert best.mean < 5 + min(first)
