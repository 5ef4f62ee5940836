from dataclasses import replace

import pytest

from coxswain.core.api.job import JobSpec, Parameters, Resources
from coxswain.core.errors import InputError
from coxswain.core.ledger.measured import Like
from coxswain.core.ledger.table import read_csv, to_csv
from tests.unit.ledger.making import entry, excluded

NOW = "2026-11-16T12:00:00Z"
LIKE = Like(JobSpec(parameters=Parameters(epochs=5), resources=Resources(workers=2)), "n2")


def test_what_was_exported_comes_back_as_it_was() -> None:
    odd = replace(entry(2), fields={"batchSize": 64.0, "extra.x": 'a "quoted", name'}, experiment_uid=None)
    failed = replace(
        entry(3), observation=replace(entry(3).observation, state="failed", message=" two\nlines ", responses={})
    )
    stopped = replace(entry(5), observation=replace(entry(5).observation, state="stopped"))
    assert stopped.observation.responses
    entries = [entry(1), odd, failed, stopped, excluded(entry(4), "a noisy neighbour")]
    assert read_csv(to_csv(entries), "vision", None, NOW) == entries


def test_an_export_has_a_column_for_every_setting_field_and_response() -> None:
    header, row = to_csv([entry(1)]).splitlines()
    columns = dict(zip(header.split(","), row.split(","), strict=False))
    assert columns["batchSize"] == "64.0"
    assert columns["batch"] == "64.0"
    assert columns["duration"] == "11.25"


def test_what_was_exported_elsewhere_belongs_to_the_namespace_it_is_imported_to() -> None:
    [found] = read_csv(to_csv([entry(1)]), "other", None, NOW)
    assert found == entry(1, namespace="other")


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("11.25", "long", "row 1: .*cannot be read"),
        ("11.25", "nan", "row 1: .*no entry"),
        ("UID,", "Uid,", "not exported"),
        ("Settings,", "Sets,", "row 1 lacks column Settings"),
        ("Attempts,", "Tries,", "row 1: .*lacks column Attempts"),
        ("00000001-", "../00000001-", "row 1: .*UID"),
    ],
)
def test_an_export_that_was_spoilt_is_refused_by_row_and_column(before: str, after: str, says: str) -> None:
    text = to_csv([entry(1)])
    assert before in text
    with pytest.raises(InputError, match=says):
        read_csv(text.replace(before, after), "vision", None, NOW)


def test_a_plain_table_gives_entries_like_the_job_but_for_its_columns() -> None:
    text = (
        "batchSize,parameters.optimizer,extra.dropout,concurrency,duration,accuracy\n32,SGD,0.5,3,12.5,0.9\n,,,,7, \n"
    )
    one, other = read_csv(text, "vision", LIKE, NOW)
    assert one.fields == {**other.fields, "batchSize": 32, "optimizer": "SGD", "extra.dropout": 0.5}
    assert one.family == other.family
    assert one.family.node_type == "n2"
    assert (one.fields["workers"], one.observation.epochs) == (2, 5)
    assert (one.observation.responses, one.observation.load) == ({"duration": 12.5, "accuracy": 0.9}, 3)
    assert (other.observation.responses, other.observation.load) == ({"duration": 7}, None)
    assert one.observation.succeeded
    assert one.observation.finished == NOW


def test_columns_may_have_the_names_of_factors() -> None:
    like = replace(LIKE, factors={"batch_size": "parameters.batchSize", "topology": "workload.network"})
    [one] = read_csv("batch_size,topology,duration\n32,vit,1\n", "vision", like, NOW)
    assert one.fields["batchSize"] == 32
    assert one.family.network == "vit"


def test_the_same_table_gives_the_same_entries_and_the_same_line_twice_two_of_them() -> None:
    text = "batchSize,duration\n32,1.5\n32,1.5\n64,1.5\n"
    first, second = (read_csv(text, "vision", LIKE, now) for now in (NOW, "2027-01-01T00:00:00Z"))
    assert [each.uid for each in first] == [each.uid for each in second]
    assert len({each.uid for each in first}) == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no rows"),
        ("batchSize,duration\n", "no rows"),
        ("batchSize\n32\n", "no column duration"),
        ("batchSize,duration\n32,fast\n", "row 1: column duration must be a number"),
        ("batchSize,duration\n32,inf\n", "row 1: column duration must be a finite number"),
        ("batchSize,duration\n32,0\n", "row 1: column duration must be .* above 0"),
        ("batchSize,duration\n32,\n", "row 1: column duration must be .* above 0"),
        ("batchSize,duration\nmany,1\n", "row 1: column batchSize must be a number"),
        ("batchSize,duration\n0,1\n", "row 1: spec.parameters.batchSize"),
        ("batchSize,batchSize,duration\n1,1,1\n", "two columns named batchSize"),
        ("colour,duration\nred,1\n", "column colour is neither"),
        ("duration\n1,2\n", "row 1 has 2 cells"),
        ("ingest.cache,duration\nyes,1\n", "row 1: column ingest.cache must be true or false"),
        ('"duration\n1', "no rows|not CSV"),
    ],
)
def test_a_bad_table_is_refused_in_a_sentence_that_says_where(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_csv(text, "vision", LIKE, NOW)
