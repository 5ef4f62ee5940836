import math
from dataclasses import replace
from typing import Any

import pytest

from coxswain.core.observations import Observation
from coxswain.core.results import Result, analyze_experiment
from tests.unit.report.made import Settings, experiment, observe


def test_every_response_is_analysed_as_the_experiment_asks() -> None:
    made = experiment(analysis={"responses": [{"name": "duration"}, {"name": "pace", "expression": "1 / duration"}]})
    _, observations = observe(made)
    duration, pace = analyze_experiment(made.spec, observations)
    assert (duration.response, pace.response) == ("duration", "pace")
    assert duration.analysis is not None
    effects = {each.term: each.effect for each in duration.analysis.coefficients}
    assert effects["epochs"] == pytest.approx(4 * 1.5, abs=0.2)
    assert effects["network[shallow-cnn]:epochs"] == pytest.approx(-2, abs=0.2)
    assert pace.analysis is not None
    assert pace.analysis.fit.sample.y[0] == pytest.approx(1 / observations[0].responses["duration"])


def test_an_expression_may_name_factors_that_are_numbers() -> None:
    made = experiment(analysis={"responses": [{"name": "money", "expression": "0.03 * epochs * duration / 3600"}]})
    _, observations = observe(made)
    (money,) = analyze_experiment(made.spec, observations)
    assert money.analysis is not None
    first = observations[0]
    expected = 0.03 * float(first.settings["epochs"]) * first.responses["duration"] / 3600
    assert money.analysis.fit.sample.y[0] == pytest.approx(expected)


def test_runs_that_did_not_succeed_are_left_out_and_told_of() -> None:
    made = experiment()
    _, observations = observe(made)
    observations[0] = replace(observations[0], state="failed", responses={"duration": 1e6})
    result = analyze_experiment(made.spec, observations)[0]
    assert result.analysis is not None
    assert len(result.analysis.fit.sample.y) == 15
    assert result.notes == ("1 run did not succeed and is left out.",)


def test_interactions_are_left_out_where_the_runs_are_too_few_for_them() -> None:
    design = {"type": "FractionalFactorial", "generators": ["C=AB"], "replications": 1}
    made = experiment(design=design)
    _, observations = observe(made)
    result = analyze_experiment(made.spec, observations)[0]
    assert result.analysis is not None
    assert [term.order for term in result.analysis.fit.matrix.terms] == [1, 1, 1]
    assert "interactions of more than 1 factor" in result.notes[0]


def test_jobs_that_ran_together_are_one_value() -> None:
    factors = [{"name": "jobs", "field": "concurrency", "levels": [1, 4]}]
    made = experiment(factors=factors)
    _, observations = observe(made, formula=lambda settings: settings["jobs"])
    result = analyze_experiment(made.spec, observations)[0]
    assert len(observations) == 2 + 2 * 4
    assert result.analysis is not None
    assert len(result.analysis.fit.sample.y) == 4


def test_what_cannot_be_analysed_says_why() -> None:
    made = experiment(analysis={"responses": [{"name": "wait"}, {"name": "duration"}]})
    _, observations = observe(made, noise=0, formula=lambda _: 5.0)
    wait, duration = analyze_experiment(made.spec, observations)
    assert wait.analysis is None
    assert "No rows have a value in column wait" in wait.notes[0]
    assert duration.analysis is None
    assert "nothing to explain" in duration.notes[0]
    [result, _] = analyze_experiment(made.spec, [replace(each, state="failed") for each in observations])
    assert result.notes == ("No run has succeeded, so there is nothing to analyse.",)


def _coefficients(result: Result) -> dict[str, tuple[float, float]]:
    assert result.analysis is not None
    return {each.term: (each.coefficient, each.se) for each in result.analysis.coefficients}


def _later_blocks_slower(observations: list[Observation], by: float) -> list[Observation]:
    return [
        replace(each, responses={"duration": each.responses["duration"] + by * each.block}) for each in observations
    ]


def test_what_blocks_differ_by_is_neither_in_the_effects_nor_in_their_errors() -> None:
    made = experiment(design={"type": "FullFactorial", "replications": 2, "blocks": 2, "seed": 1})
    _, observations = observe(made)
    del observations[3]  # with a run lost, the blocks are no longer balanced over the factors
    calm, slower = (_later_blocks_slower(observations, by) for by in (0, 30))
    before, after = (_coefficients(analyze_experiment(made.spec, each)[0]) for each in (calm, slower))
    effects = [term for term in before if term not in {"Intercept", "Block[1]"}]
    assert len(effects) == 6
    for term in effects:
        assert after[term] == pytest.approx(before[term])
    assert after["Block[1]"][0] == pytest.approx(before["Block[1]"][0] + 15)

    unblocked = experiment(design={"type": "FullFactorial", "replications": 2, "seed": 1})
    spoilt = _coefficients(analyze_experiment(unblocked.spec, slower)[0])
    assert "Block[1]" not in spoilt
    for term in effects:
        assert abs(spoilt[term][0] - before[term][0]) > 0.5
        assert spoilt[term][1] > 50 * before[term][1]


def test_an_interaction_that_looks_like_the_blocks_is_aliased_with_them() -> None:
    made = experiment(
        design={"type": "FullFactorial", "replications": 1, "blocks": 2, "seed": 1},
        analysis={"responses": [{"name": "duration"}], "interactions": 3},
    )
    _, observations = observe(made)
    [result] = analyze_experiment(made.spec, _later_blocks_slower(observations, 30))
    assert result.analysis is not None
    assert result.analysis.fit.matrix.terms[0].name == "Block"
    # With as many coefficients as runs there would be none left for the blocks.
    assert result.notes == ("The runs are too few for interactions of more than 2 factors: those are left out.",)
    twice = experiment(
        design={"type": "FullFactorial", "replications": 3, "blocks": 2, "seed": 1},
        analysis={"responses": [{"name": "duration"}], "interactions": 3},
    )
    _, observations = observe(twice)
    [result] = analyze_experiment(twice.spec, _later_blocks_slower(observations, 30))
    assert result.analysis is not None
    [alias] = result.analysis.aliases
    assert alias.name == "batch_size:network[shallow-cnn]:epochs"
    assert [name for name, _ in alias.equals] == ["Block[1]"]


def test_the_first_block_alone_is_analysed_without_blocks() -> None:
    made = experiment(design={"type": "FullFactorial", "replications": 2, "blocks": 2, "seed": 1})
    _, observations = observe(made)
    result = analyze_experiment(made.spec, [each for each in observations if each.block == 0])[0]
    assert "Block[1]" not in _coefficients(result)


CURVED: list[dict[str, Any]] = [
    {"name": "batch_size", "field": "parameters.batchSize", "levels": [16, 128], "coding": "Log"},
    {"name": "epochs", "field": "parameters.epochs", "levels": [10, 30]},
]


def _curve(settings: Settings) -> float:
    batch, epochs = math.log2(settings["batch_size"]), settings["epochs"]
    return float(60 + 4 * (batch - 5) ** 2 + 0.05 * (epochs - 20) ** 2 + epochs + 0.3 * batch * epochs)


@pytest.mark.parametrize("alpha", ["Face", "Rotatable"])
def test_a_design_for_curves_is_analysed_with_squares(alpha: str) -> None:
    made = experiment(factors=CURVED, design={"type": "CentralComposite", "alpha": alpha, "seed": 1})
    _, observations = observe(made, noise=0.01, formula=_curve)
    result = analyze_experiment(made.spec, observations)[0]
    assert result.notes == ()
    assert result.analysis is not None
    terms = [term.name for term in result.analysis.fit.matrix.terms]
    assert terms == ["batch_size", "epochs", "batch_size:epochs", "batch_size^2", "epochs^2"]
    natural = {each.term: each.coefficient for each in result.analysis.uncoded}
    assert natural["log(batch_size)^2"] == pytest.approx(4 / math.log(2) ** 2, rel=0.01)
    assert natural["epochs^2"] == pytest.approx(0.05, rel=0.01)
    assert natural["log(batch_size):epochs"] == pytest.approx(0.3 / math.log(2), rel=0.01)
    checks = {check.name: check for check in result.analysis.checks}
    assert checks["lack_of_fit"].ok is True
    assert checks["curvature"].ok is None
    assert checks["curvature"].sentence.startswith("The model has squares")


def test_squares_are_left_out_where_too_few_runs_succeeded() -> None:
    made = experiment(factors=CURVED, design={"type": "CentralComposite", "seed": 1})
    _, observations = observe(made, formula=_curve)
    observations = [each if each.row < 4 else replace(each, state="failed", responses={}) for each in observations]
    result = analyze_experiment(made.spec, observations)[0]
    assert result.analysis is not None
    assert result.notes[0] == "9 runs did not succeed and are left out."
    assert result.notes[-1] == "The runs are too few for the squares that the design is made for: those are left out."


def test_a_quadratic_design_is_analysed_with_the_squares_of_factors_with_three_levels() -> None:
    factors = [CURVED[0], {**CURVED[1], "levels": [10, 20, 30]}]
    made = experiment(factors=factors, design={"type": "DOptimal", "model": "Quadratic", "runs": 10, "seed": 1})
    _, observations = observe(made, formula=_curve)
    result = analyze_experiment(made.spec, observations)[0]
    assert result.analysis is not None
    assert [term.name for term in result.analysis.fit.matrix.terms][-1] == "epochs^2"


def test_centre_points_of_whole_numbers_show_a_curve() -> None:
    made = experiment(factors=CURVED, design={"type": "FullFactorial", "replications": 2, "centerPoints": 2, "seed": 1})
    _, observations = observe(made, formula=_curve)
    assert {each.settings["batch_size"] for each in observations} == {16, 45, 128}
    result = analyze_experiment(made.spec, observations)[0]
    assert result.analysis is not None
    [found] = [check for check in result.analysis.checks if check.name == "curvature"]
    assert found.ok is False
