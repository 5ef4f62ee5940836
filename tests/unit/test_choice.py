from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from threadpoolctl import threadpool_limits

from coxswain.core.api import parse_experiment, parse_job
from coxswain.core.api.experiment import ExperimentSpec
from coxswain.core.api.job import Adjustment, JobSpec
from coxswain.core.choice import Lessons, Settings, candidates, choose, learn, settings_of
from coxswain.core.errors import InputError
from coxswain.core.observations import Curve, Observation
from tests.unit.report.made import experiment, observe

FACTORS = [
    {"name": "batch_size", "field": "parameters.batchSize", "levels": [16, 128], "coding": "Log"},
    {"name": "network", "field": "workload.network", "categories": ["shallow-cnn", "deep-cnn"]},
    {"name": "cores", "field": "resources.coresPerWorker", "levels": [0.5, 1]},
    {"name": "epochs", "field": "parameters.epochs", "levels": [2, 6]},
]
STARTUP = 5.0
DEEP: Settings = {"batch_size": 32.0, "network": "deep-cnn", "cores": 1.0}


def epoch_seconds(settings: Mapping[str, Any]) -> float:
    """One second at batch size 16 of the shallow network on a whole core."""
    network = 2.0 if settings["network"] == "deep-cnn" else 1.0
    return float(network * (16 / settings["batch_size"]) ** 0.5 / settings["cores"])


def timed(observation: Observation, number: int) -> Observation:
    """The observation with times as a machine that wavers by some per cent would give them."""
    wavering = 1 + 0.02 * ((number * 7) % 5 - 2)
    seconds = epoch_seconds(observation.settings) * wavering
    epochs, validation = observation.epochs, 0.1
    return replace(
        observation,
        responses={
            **observation.responses,
            "startup": STARTUP * wavering,
            "duration": STARTUP * wavering + epochs * seconds * (1 + validation),
        },
        curve=replace(observation.curve, seconds=(seconds,) * epochs),
    )


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As `cox run` learns: more threads would only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def measured() -> tuple[ExperimentSpec, list[Observation]]:
    made = experiment(factors=FACTORS)
    _, observations = observe(made)
    return made.spec, [timed(each, number) for number, each in enumerate(observations)]


@pytest.fixture(scope="module")
def lessons(measured: tuple[ExperimentSpec, list[Observation]]) -> Lessons:
    return learn(*measured)


def job(**spec: Any) -> JobSpec:
    manifest = {
        "apiVersion": "coxswain.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mine"},
        "spec": {"workload": {"network": "deep-cnn"}, "parameters": {"batchSize": 32}, **spec},
    }
    return parse_job(manifest).spec


def actual(settings: Settings, epochs: int) -> float:
    return STARTUP + 1.1 * epochs * epoch_seconds(settings)


@pytest.mark.parametrize("limit", [20.0, 60.0, 300.0])
def test_the_most_epochs_that_fit_are_chosen(lessons: Lessons, limit: float) -> None:
    chosen = choose(lessons, DEEP, range(1, 1001), limit, 0.95)
    assert chosen.sure
    assert chosen.duration < chosen.duration_bound <= limit
    assert chosen.duration == pytest.approx(actual(DEEP, chosen.epochs), rel=0.1)
    # It is careful, and yet leaves little unused: the machine wavers by some per cent only.
    assert actual(DEEP, chosen.epochs) < limit < actual(DEEP, round(1.35 * chosen.epochs) + 2)
    longer = choose(lessons, DEEP, [chosen.epochs + 1], limit, 0.95)
    assert not longer.sure


def test_more_confidence_means_fewer_epochs(lessons: Lessons) -> None:
    shallow: Settings = {"batch_size": 32.0, "network": "shallow-cnn", "cores": 0.5}
    epochs = [choose(lessons, shallow, range(1, 1001), 120, level).epochs for level in (0.5, 0.8, 0.95, 0.99)]
    assert epochs == sorted(epochs, reverse=True)
    assert epochs[0] > epochs[-1]


def test_if_nothing_fits_the_fewest_are_chosen_and_not_sure(lessons: Lessons) -> None:
    chosen = choose(lessons, DEEP, [50, 60], 10, 0.95)
    assert (chosen.epochs, chosen.sure) == (50, False)
    assert chosen.duration_bound > 10


def test_what_accuracy_to_expect_is_told(lessons: Lessons) -> None:
    chosen = choose(lessons, DEEP, [4], 100, 0.95)
    assert chosen.accuracy == pytest.approx(0.895, abs=0.03)
    assert chosen.accuracy is not None
    assert chosen.accuracy_bound is not None
    assert chosen.accuracy_bound < chosen.accuracy
    assert not chosen.notes


def test_an_accuracy_beyond_the_epochs_measured_is_called_a_guess_but_no_less_than_what_was_reached(
    lessons: Lessons,
) -> None:
    longest, far = (choose(lessons, DEEP, [epochs], 1e6, 0.95) for epochs in (6, 600))
    assert longest.accuracy_bound is not None
    assert far.accuracy_bound is not None
    assert far.accuracy_bound >= longest.accuracy_bound
    assert "accuracies are known up to 6 epochs; what more bring is a guess" in far.notes


def test_settings_beyond_what_was_measured_are_told_of(lessons: Lessons) -> None:
    chosen = choose(lessons, {**DEEP, "batch_size": 512.0}, [4], 100, 0.95)
    assert "batch_size = 512 is beyond the measured range 16 to 128" in chosen.notes


def test_runs_without_accuracy_teach_durations_alone(measured: tuple[ExperimentSpec, list[Observation]]) -> None:
    spec, observations = measured
    found = learn(spec, [replace(each, curve=replace(each.curve, accuracy=())) for each in observations])
    assert found.curve is None
    chosen = choose(found, DEEP, [4], 100, 0.95)
    assert chosen.accuracy is None


def test_epochs_that_were_not_kept_are_like_their_neighbours(
    lessons: Lessons, measured: tuple[ExperimentSpec, list[Observation]]
) -> None:
    spec, observations = measured
    thinned = [
        replace(each, curve=Curve(epoch=(1, each.epochs), seconds=(each.curve.seconds[0], each.curve.seconds[-1])))
        for each in observations
    ]
    whole, part = (each.durations.predict(DEEP, 20).point for each in (lessons, learn(spec, thinned)))
    assert part == pytest.approx(whole)


def test_too_few_runs_are_not_learned_from(measured: tuple[ExperimentSpec, list[Observation]]) -> None:
    spec, observations = measured
    with pytest.raises(InputError, match="2 finished runs are too few to learn durations from"):
        learn(spec, [replace(each, state="failed") for each in observations[2:]] + observations[:2])
    with pytest.raises(InputError, match="there is nothing to learn from"):
        learn(spec, [replace(each, state="failed") for each in observations])


def test_a_factor_of_which_one_value_alone_succeeded_is_told_of(
    measured: tuple[ExperimentSpec, list[Observation]],
) -> None:
    spec, observations = measured
    found = learn(
        spec, [replace(each, state="failed") if each.settings["cores"] == 1 else each for each in observations]
    )
    chosen = choose(found, {**DEEP, "cores": 1.0}, [4], 100, 0.95)
    assert "cores = 1 was never run: it was 0.5 in every run" in chosen.notes


def test_under_a_schedule_that_depends_on_the_epochs_only_ends_teach_accuracy(
    measured: tuple[ExperimentSpec, list[Observation]],
) -> None:
    _, observations = measured
    template = {"spec": {"parameters": {"schedule": "Cosine"}}}
    spec = experiment(factors=FACTORS, template=template).spec
    found = learn(spec, observations)
    assert found.curve is not None
    assert (found.curve.shortest, found.curve.longest) == (2, 6)


def test_runs_of_one_length_may_tell_no_curve_but_durations_all_the_same(
    measured: tuple[ExperimentSpec, list[Observation]],
) -> None:
    _, observations = measured
    spec = experiment(factors=FACTORS, template={"spec": {"parameters": {"schedule": "Step"}}}).spec
    found = learn(spec, [each for each in observations if each.epochs == 6])
    assert found.curve is None
    assert choose(found, DEEP, [6], 100, 0.95).accuracy is None


def test_a_jobs_settings_are_read_from_its_fields() -> None:
    factors = [
        *FACTORS,
        {"name": "memory", "field": "resources.memoryPerWorker", "levels": [0.5, 2]},
        {"name": "dropout", "field": "parameters.extra.dropout", "levels": [0, 0.5]},
        {"name": "mode", "field": "parameters.extra.mode", "categories": ["a", "b"]},
        {"name": "jobs", "field": "concurrency", "levels": [1, 2]},
    ]
    spec = experiment(factors=factors, design={"type": "PlackettBurman"}).spec
    own = job(
        resources={"coresPerWorker": "750m", "memoryPerWorker": "1536Mi"},
        parameters={
            "batchSize": 32,
            "epochs": 9,
            "seed": 4,
            "extra": [{"name": "dropout", "value": "0.25"}, {"name": "mode", "value": "b"}],
        },
        output={"claim": "models"},
        priority=3,
    )
    assert settings_of(own, spec) == {
        "batch_size": 32.0,
        "network": "deep-cnn",
        "cores": 0.75,
        "memory": 1.5,
        "dropout": 0.25,
        "mode": "b",
        "jobs": 1.0,
    }


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            {"workload": {"dataset": "mnist"}},
            "workload.dataset of the job is mnist, but the experiment ran with digits",
        ),
        ({"resources": {"workers": 2}}, "resources.workers of the job is 2"),
        ({"parameters": {"optimizer": "SGD"}}, "parameters.optimizer"),
        ({"parameters": {"extra": [{"name": "x", "value": "1"}]}}, "parameters.extra.x of the job is 1"),
        ({"data": {"claim": "images"}}, "data.claim"),
        ({"parameters": {"schedule": "GrowingBatch"}}, "GrowingBatch changes the time of an epoch"),
    ],
)
def test_a_job_that_the_experiment_cannot_tell_about_is_refused(spec: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        settings_of(job(**spec), experiment(factors=FACTORS).spec)


def test_a_factor_the_job_does_not_have_is_asked_for() -> None:
    factors = [*FACTORS, {"name": "dropout", "field": "parameters.extra.dropout", "levels": [0, 0.5]}]
    spec = experiment(factors=factors, design={"type": "PlackettBurman"}).spec
    with pytest.raises(InputError, match=r"parameters\.extra\.dropout is not given"):
        settings_of(job(), spec)


def test_what_a_job_allows() -> None:
    by_range = Adjustment.model_validate({"field": "epochs", "min": 2, "max": 9, "step": 3})
    assert candidates([by_range]) == [2, 5, 8]
    by_values = Adjustment.model_validate({"field": "epochs", "values": (30, 10)})
    assert candidates([by_values]) == [10, 30]
    for adjust in (None, [Adjustment.model_validate({"field": "batchSize", "values": (32, 64)})]):
        with pytest.raises(InputError, match="does not say which epochs it allows"):
            candidates(adjust)


def test_the_job_of_the_demo_is_one_that_the_demo_tells_about() -> None:
    examples = Path(__file__).parents[2] / "examples"
    demo = parse_experiment(yaml.safe_load((examples / "demo.yaml").read_text())).spec
    own = parse_job(yaml.safe_load((examples / "demo-job.yaml").read_text())).spec
    assert settings_of(own, demo).keys() == {"batch_size", "learning_rate", "network"}
    assert candidates(own.adjust)
