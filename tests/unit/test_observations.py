import csv
import io
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coxswain.core.api.experiment import MEASURED_RESPONSES
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor
from coxswain.core.observations import Curve, Observation, latest

FACTORS = (Factor("cores", levels=(0.5, 1)), Factor("epochs", levels=(1, 5)), Factor("network", categories=("a", "b")))

numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
# What a CSV file cannot hold apart from what it means: a bare carriage return, and text that is nothing.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1)
columns = st.lists(st.none() | numbers, max_size=4).map(tuple)

observations = st.builds(
    Observation,
    experiment=texts,
    run=texts,
    job=texts,
    row=st.integers(0, 9999),
    replicate=st.integers(0, 999),
    block=st.integers(0, 63),
    digest=texts,
    settings=st.fixed_dictionaries(
        {"cores": numbers, "epochs": numbers, "network": st.sampled_from(["a", "b"])},
    ),
    responses=st.dictionaries(st.sampled_from(["duration", "accuracy", "wait", "money"]), numbers),
    state=st.sampled_from(["succeeded", "failed"]),
    reason=st.none() | texts,
    message=st.none() | texts,
    attempts=st.integers(1, 11),
    started=texts,
    finished=texts,
    epochs=st.integers(0, 10**5),
    load=st.none() | numbers,
    curve=st.builds(Curve, epoch=st.lists(st.integers(1, 99), max_size=4).map(tuple), loss=columns, accuracy=columns),
    versions=st.dictionaries(texts, texts, max_size=2),
)


@given(observations)
@settings(max_examples=40)
def test_a_line_of_json_keeps_everything(observation: Observation) -> None:
    line = observation.to_json()
    assert "\n" not in line
    assert Observation.from_json(line) == observation


@given(observations)
@settings(max_examples=40)
def test_a_row_of_csv_keeps_everything(observation: Observation) -> None:
    file = io.StringIO()
    writer = csv.DictWriter(file, observation.to_row())
    writer.writeheader()
    writer.writerow(observation.to_row())
    [row] = csv.DictReader(io.StringIO(file.getvalue(), newline=""))
    assert Observation.from_row(row, FACTORS) == observation


@given(observations)
@settings(max_examples=40)
def test_no_column_of_csv_can_be_taken_for_another(observation: Observation) -> None:
    others = set(observation.to_row()) - set(observation.settings) - set(MEASURED_RESPONSES)
    assert others
    assert all(name[0].isupper() for name in others)


def _made(state: str) -> Observation:
    return Observation(
        experiment="e",
        run="r",
        job="j",
        row=0,
        replicate=0,
        block=0,
        digest="d",
        settings={"cores": 1.0},
        responses={"duration": 12.5, "wait": 3.0},
        state=state,
        started="s",
        finished="f",
    )


@pytest.mark.parametrize("state", ["failed", "stopped"])
def test_what_a_run_took_until_it_ended_early_is_no_response_in_the_row(state: str) -> None:
    row = _made(state).to_row()
    assert all(row[name] is None for name in MEASURED_RESPONSES)
    assert row["Unfinished"] == '{"duration":12.5,"wait":3.0}'
    whole = _made("succeeded").to_row()
    assert (whole["duration"], whole["wait"], whole["Unfinished"]) == (12.5, 3.0, None)


def test_rows_from_before_there_was_a_column_for_what_is_unfinished_are_read() -> None:
    row = {name: "" if value is None else str(value) for name, value in _made("failed").to_row().items()}
    del row["Unfinished"]
    old = row | {"duration": "12.5", "wait": "3.0"}
    assert Observation.from_row(old, FACTORS[:1]) == _made("failed")


@pytest.mark.parametrize("line", ["", "nonsense", "[]", "{}", '{"curve": {}}', '{"curve": 1}'])
def test_what_is_no_observation_is_refused(line: str) -> None:
    with pytest.raises(InputError, match="no observation"):
        Observation.from_json(line)


def test_a_row_that_lacks_something_is_refused() -> None:
    with pytest.raises(InputError, match="lacks column Curve"):
        Observation.from_row({}, FACTORS)
    row = dict.fromkeys(("Experiment", "Run", "Job", "Row", "Replicate", "Block"), "") | {"Curve": "{}"}
    with pytest.raises(InputError, match="cannot be read"):
        Observation.from_row(row, FACTORS)


@given(observations)
@settings(max_examples=40)
def test_the_last_observation_of_a_job_counts(observation: Observation) -> None:
    again = replace(observation, attempts=99)
    other = replace(observation, job=f"{observation.job}+")
    assert latest([observation, other, again]) == [again, other]
