from dataclasses import replace

import pytest

from coxswain.core.results import analyze_experiment
from tests.unit.report.made import experiment, observe


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
