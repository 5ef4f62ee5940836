import csv
import io

import pytest

from coxswain.cli.output import Format, Table, emit

LONG = "executor_cores:learning_rate"
TABLE = Table(
    "Analysis",
    ("term", "df", "sum_sq", "mean_sq", "f", "p", "percent"),
    [(LONG, 1, 0.0043589, 0.0043589, 3.3, 0.0000042, 12.3456), ("Residual", 298, 0.39, None, None, None, 87.6544)],
    shown={"term": lambda term: term.replace(":", ": "), "percent": "{:.1f}".format},
)


def _printed(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    emit(Format.TABLE, [TABLE], {})
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    return lines


def test_a_name_is_broken_between_its_words_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [line.split("│")[1].strip() for line in _printed(76, monkeypatch, capsys) if line.startswith("│")]
    assert cells == ["executor_cores:", "learning_rate", "Residual"]


@pytest.mark.parametrize(("width", "titles"), [(80, ["learning_rate"]), (24, ["learning_", "rate"])])
def test_columns_are_called_what_programs_call_them(
    width: int, titles: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    emit(Format.TABLE, [Table("Rows", ("row", "learning_rate", "cores"), [(0, 0.1, 2)])], {})
    lines = capsys.readouterr().out.splitlines()
    shown = [line.split("┃")[2].strip() for line in lines if line.startswith("┃")]
    assert [title for title in shown if title] == titles


@pytest.mark.parametrize("width", [40, 60, 70, 76, 80, 95, 200])
def test_no_column_is_lost_however_narrow_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line for line in _printed(width, monkeypatch, capsys) if line.startswith("│")]
    assert {line.count("│") for line in lines} == {len(TABLE.columns) + 1}
    assert "".join(line.split("│")[-2].strip() for line in lines) == "12.387.7"


def test_programs_get_values_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    emit(Format.CSV, [TABLE], {})
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows[0]["term"] == LONG
    assert float(rows[0]["percent"]) == 12.3456
    assert rows[1]["mean_sq"] == ""
