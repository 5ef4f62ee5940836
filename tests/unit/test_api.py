"""The resources as typed values: every rule and bound of the contract, defaults, and sentences about bad input."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from coxswain.core.api import TrainingExperiment, parse, parse_job
from coxswain.core.api.fields import FIELDS, Kind, with_value
from coxswain.core.errors import InputError
from coxswain.core.factors import Coding, Factor
from tests.contract import strategies
from tests.contract.bounds import AGAINST_A_RULE, Bound, all_bounds, schema_paths, starred, tried_paths
from tests.contract.cases import Case
from tests.contract.experiment_rules import EXPERIMENT_CASES
from tests.contract.job_rules import JOB_CASES
from tests.contract.manifests import COMPLETE, EXPERIMENT, MINIMAL_JOB, TORCH_JOB, Manifest, changed


@pytest.mark.parametrize("case", JOB_CASES + EXPERIMENT_CASES, ids=str)
def test_a_rule_refuses_with_its_message_and_accepts_its_neighbour(case: Case) -> None:
    with pytest.raises(InputError) as refused:
        parse(changed(case.base, case.broken))
    assert case.message in str(refused.value)
    parse(changed(case.base, case.valid))


@pytest.mark.parametrize("bound", tuple(all_bounds()), ids=str)
def test_a_bound_refuses_by_name_of_the_field_and_accepts_its_neighbour(bound: Bound) -> None:
    with pytest.raises(InputError) as refused:
        parse(bound.broken())
    assert bound.path.replace(".", "").rstrip("0123456789") in str(refused.value).translate(
        {ord(character): None for character in ".[]"}
    )
    parse(bound.valid())


def test_every_field_of_the_schemas_is_tried() -> None:
    assert schema_paths() <= tried_paths()


def test_every_exemption_from_the_bounds_is_of_a_field_that_is_tried() -> None:
    assert set(AGAINST_A_RULE) <= {path for _, path in tried_paths()}


@pytest.mark.parametrize("manifest", COMPLETE, ids=lambda manifest: manifest["metadata"]["name"])
def test_rendering_and_parsing_again_gives_the_same_value(manifest: Manifest) -> None:
    parsed = parse(manifest)
    rendered = parsed.spec.model_dump(by_alias=True, exclude_none=True, mode="json")
    assert parse({**manifest, "spec": rendered}) == parsed


@given(strategies.manifests)
@settings(max_examples=100, deadline=None)
def test_a_random_spec_parses_or_is_refused_in_one_sentence(manifest: Manifest) -> None:
    try:
        parse(manifest)
    except InputError as refused:
        sentence = str(refused)
    else:
        sentence = ""
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        ("just text", "the manifest is not a mapping; it must have apiVersion, kind, metadata and spec."),
        (None, "the manifest is not a mapping; it must have apiVersion, kind, metadata and spec."),
        ({"apiVersion": "v1", "kind": "Pod"}, "apiVersion is 'v1'; it must be coxswain.dev/v1alpha1."),
        (
            {"apiVersion": "coxswain.dev/v1alpha1", "kind": "Train"},
            "kind is 'Train'; it must be TrainingJob or TrainingExperiment.",
        ),
        (MINIMAL_JOB | {"metadata": {}}, "metadata.name: is missing; give the object a name."),
        (MINIMAL_JOB | {"spec": None}, "spec: is missing; say what to run."),
        (MINIMAL_JOB | {"specs": {}}, "specs: unknown field; leave it out or correct its spelling."),
        (MINIMAL_JOB | {"spec": []}, "spec: should be an object."),
        (
            changed(MINIMAL_JOB, {"parameters": {"epoch": 3}}),
            (
                "spec.parameters.epoch: unknown field; leave it out or correct its spelling "
                "(known are epochs, batchSize, learningRate, optimizer, schedule, seed, extra)."
            ),
        ),
        (
            changed(MINIMAL_JOB, {"parameters": {"epochs": "3"}}),
            'spec.parameters.epochs: should be a valid integer, but is "3".',
        ),
        (
            changed(MINIMAL_JOB, {"parameters": {"epochs": 2.5}}),
            "spec.parameters.epochs: should be a valid integer, but is 2.5.",
        ),
        (
            changed(MINIMAL_JOB, {"parameters": {"learningRate": float("inf")}}),
            "spec.parameters.learningRate: inf is not a finite number; give one that is.",
        ),
        (
            changed(MINIMAL_JOB, {"parameters": {"epochs": 0, "batchSize": 0}}),
            "spec.parameters.epochs: should be greater than or equal to 1, but is 0. (and 1 more)",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(manifest: Any, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        parse(manifest)
    assert str(refused.value) == sentence


def test_null_is_left_out_and_a_whole_number_may_have_a_decimal_point() -> None:
    job = parse_job(changed(MINIMAL_JOB, {"parameters": {"epochs": 3.0, "batchSize": None}}))
    assert (job.spec.parameters.epochs, job.spec.parameters.batch_size) == (3, 64)


def test_an_unquoted_time_in_yaml_is_a_time() -> None:
    manifest = yaml.safe_load("{deadline: {at: 2030-01-31T18:00:00Z}}")
    deadline = parse_job(MINIMAL_JOB | {"spec": manifest}).spec.deadline
    assert deadline is not None
    assert deadline.at is not None
    assert deadline.at.isoformat() == "2030-01-31T18:00:00+00:00"


def test_quantities_and_durations_are_numbers() -> None:
    spec = parse_job(TORCH_JOB).spec
    assert (spec.resources.cores_per_worker, spec.resources.memory_per_worker) == (0.5, 2**30)
    assert spec.deadline is not None
    assert spec.deadline.within == 900


def test_a_spec_s_factor_is_the_factor_of_designs_and_analyses() -> None:
    experiment = parse(EXPERIMENT)
    assert isinstance(experiment, TrainingExperiment)
    factors = [factor.factor() for factor in experiment.spec.factors]
    assert factors[0] == Factor("cores", levels=(0.5, 1.0))
    assert factors[2] == Factor("batch_size", levels=(32.0, 256.0), coding=Coding.LOG, whole=True)
    assert factors[3] == Factor("topology", categories=("shallow-cnn", "deep-cnn"))


_VALUES = {Kind.CATEGORY: "Adam", Kind.SWITCH: "true"}


@pytest.mark.parametrize("field", FIELDS)
def test_a_factor_s_value_reaches_its_field(field: str) -> None:
    before = {"engine": "Spark", "parameters": {"epochs": 5}}
    after = with_value(before, field, _VALUES.get(FIELDS[field], 2.0))
    assert before == {"engine": "Spark", "parameters": {"epochs": 5}}
    if field == "concurrency":
        assert after == before
        return
    place: Any = after
    for part in field.split("."):
        place = place[part]
    rendered = {Kind.CATEGORY: "Adam", Kind.SWITCH: True, Kind.GIBIBYTES: "2Gi"}
    assert place == rendered.get(FIELDS[field], 2)


def test_a_factor_s_value_reaches_an_extra_parameter_as_text() -> None:
    spec = {"parameters": {"extra": [{"name": "dropout", "value": "0.1"}, {"name": "other", "value": "x"}]}}
    assert with_value(spec, "parameters.extra.dropout", 0.25)["parameters"]["extra"] == [
        {"name": "other", "value": "x"},
        {"name": "dropout", "value": "0.25"},
    ]


def test_half_a_core_is_rendered_in_thousandths() -> None:
    assert with_value({}, "resources.coresPerWorker", 0.5) == {"resources": {"coresPerWorker": "500m"}}


def test_starred_paths() -> None:
    assert starred("adjust.0.values.12") == "adjust.*.values.*"
