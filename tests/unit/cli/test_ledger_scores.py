"""`cox ledger scores`, given what a ledger holds."""

import json
from dataclasses import replace

import pytest

from coxswain.cli import ledger
from tests.unit.cli.conftest import Cox
from tests.unit.forecasts.making import entry, issued


@pytest.fixture(autouse=True)
def _ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    good = entry(1, [10.0], forecast=issued(20), first=issued(40))
    excluded = replace(entry(2, [90.0], forecast=issued(20)), excluded="a noisy neighbour")
    monkeypatch.setattr(ledger, "_selected", lambda *_: [good, excluded])


def test_scores_are_told_by_family_and_moment(cox: Cox) -> None:
    code, out, _ = cox("ledger", "scores", "-o", "json")
    assert code == 0
    creation, start = json.loads(out)["scores"]
    assert (creation["made"], start["made"]) == ("creation", "start")
    assert creation["family"] == start["family"] == entry(1).family.key
    assert (creation["forecasts"], creation["interval_held"], creation["mape"]) == (1, 0.0, pytest.approx(1.0))
    assert (start["forecasts"], start["interval_held"], start["mape"]) == (1, 1.0, pytest.approx(0.0))
    assert start["skill"] is None


def test_the_table_has_them_too(cox: Cox) -> None:
    code, out, _ = cox("ledger", "scores", "-o", "csv")
    header, *rows = out.splitlines()
    assert (code, len(rows)) == (0, 2)
    assert header.split(",")[:4] == ["family", "made", "forecasts", "confidence"]


def test_people_see_a_table_a_family_that_fits_a_terminal(cox: Cox) -> None:
    _, out, _ = cox("ledger", "scores", columns=80)
    assert "fashion-cnn on digits" in out
    (counts,) = [line.split("│")[1:4] for line in out.splitlines() if "forecasts" in line]
    assert [cell.strip() for cell in counts] == ["forecasts", "1", "1"]
