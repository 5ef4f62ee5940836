import numpy as np
import pandas as pd
import pytest

from coxswain.core.errors import InputError
from coxswain.core.queueing.records import job_records


def table(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"arrival": [0.0, 1.0, 4.0], "start": [0.0, 3.0, 5.0], "end": [3.0, 5.0, 9.0], **columns})


def test_times_become_waits_services_and_responses() -> None:
    records = job_records(table())
    assert records.gaps.tolist() == [1, 3]
    assert records.waits.tolist() == [0, 2, 1]
    assert records.services.tolist() == [3, 2, 4]
    assert records.responses.tolist() == [3, 4, 5]


def test_jobs_are_put_in_the_order_they_came() -> None:
    shuffled = job_records(table().iloc[[2, 0, 1]])
    assert shuffled.arrival.tolist() == [0, 1, 4]
    assert shuffled.end.tolist() == [3, 5, 9]


def test_a_job_that_ends_as_another_starts_makes_room_for_it() -> None:
    assert job_records(table()).most_at_once == 1
    assert job_records(table(start=[0.0, 2.9, 5.0])).most_at_once == 2


def test_rounding_does_not_make_a_server() -> None:
    third = 1 / 3
    assert job_records(table(start=[0.0, 3.0, 5.0], end=[3.0 + 1e-12, 5.0, 5 + third])).most_at_once == 1


def test_what_a_job_finds_when_it_comes() -> None:
    assert job_records(table()).found_on_arrival.tolist() == [0, 1, 1]
    assert job_records(table(arrival=[0.0, 0.0, 0.0])).found_on_arrival.tolist() == [0, 1, 2]


def test_iso_times_become_seconds() -> None:
    records = job_records(
        pd.DataFrame(
            {
                "arrival": ["2026-11-16T08:00:00Z", "2026-11-16 08:01:00"],
                "start": ["2026-11-16T09:00:30+01:00", "2026-11-16T08:01:00.500Z"],
                "end": ["2026-11-16T08:02:00Z", "2026-11-17T08:01:00Z"],
            }
        )
    )
    assert records.waits.tolist() == [30, 0.5]
    assert records.gaps.tolist() == [60]
    assert records.responses.tolist() == [120, 86_400]


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (table().drop(columns="start"), "there is no column start; the columns are arrival, end."),
        (
            table(start=[0.0, np.nan, 5.0]),
            r"column start, row 2: the value is missing; correct or leave out that row\.",
        ),
        (table(start=["0", "soon", "5"]), r"column start, row 2: the value \(soon\) is not a finite number"),
        (table(end=[3.0, 5.0, np.inf]), r"column end, row 3: the value \(inf\) is not a finite number"),
        (
            table(end=["later", "much later", "never"]),
            r"column end, row 1: the value \(later\) is neither a number nor",
        ),
        (table(end=["2026-11-16T08:00Z", "2026-11-16T08:00Z", "2026-13-16"]), r"column end, row 3: .*neither"),
        (table(end=["2026-11-16T08:00Z"] * 3), "arrival has numbers, start has numbers, end has times; use one kind"),
        (table(start=[0.0, 0.5, 5.0]), "column start, row 2: the job's start is before its arrival"),
        (table(end=[3.0, 5.0, 4.5]), "column end, row 3: the job's end is before its start"),
    ],
)
def test_what_is_wrong_is_told_with_its_column_and_row(bad: pd.DataFrame, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        job_records(bad)
