import pytest

from coxswain.core.errors import InputError
from coxswain.core.ledger import Entry
from tests.unit.ledger.making import entry, excluded


def test_an_entry_comes_back_from_its_line_as_it_was() -> None:
    one = entry(3)
    line = one.to_json()
    assert "\n" not in line
    assert Entry.from_json(line) == one


def test_the_line_never_says_whether_an_entry_is_excluded() -> None:
    assert excluded(entry(3), "a neighbour was noisy").to_json() == entry(3).to_json()


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ('"duration":13.25', '"duration":"long"', "observation.responses.duration"),
        ('"duration":13.25', '"duration":NaN', "expected value"),
        ('"row":3', '"row":null', "observation.row"),
        ('"seconds":[3.0', '"seconds":[{}', "observation.curve.seconds.0"),
        ('"uid":"', '"id":"', "uid"),
        ('"uid":"', '"uid":"../', "UID"),
        ('{"uid"', '[{"uid"', "this is no entry"),
    ],
)
def test_a_line_that_is_no_entry_is_refused_by_name_of_its_fault(before: str, after: str, place: str) -> None:
    line = entry(3).to_json()
    assert before in line
    with pytest.raises(InputError, match=place):
        Entry.from_json(line.replace(before, after))
