from pathlib import Path

import numpy as np
import pytest

from coxswain.cli.data import read_table, split_names
from coxswain.core.errors import InputError


def written(folder: Path, text: str) -> Path:
    path = folder / "data.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_numbers_are_numbers_and_names_stay_text(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "cores, network ,time\n1,shallow,2.5\n2, None ,3\n"))
    assert list(table.columns) == ["cores", "network", "time"]
    assert table["cores"].tolist() == [1, 2]
    assert table["network"].tolist() == ["shallow", "None"]
    assert table["time"].tolist() == [2.5, 3.0]


def test_an_empty_field_is_a_missing_value(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "a,b\n1,\n2,NaN\n3,4\n"))
    np.testing.assert_array_equal(table["b"].to_numpy(), [np.nan, np.nan, 4])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty; give a CSV file with a header."),
        ("a,b\n", "has a header but no rows; add measurements."),
        ("a,a\n1,2\n", "has two columns named a; rename one."),
        ("a,,c\n1,2,3\n", "has a column without a name in its header; name it."),
        ("a,b\n1,2,3\n", "Expected 2 fields in line 2, saw 3); correct it."),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_to_do(tmp_path: Path, text: str, sentence: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_table(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert message.endswith(sentence)
    assert "\n" not in message


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*absent\.csv; check the path\."):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="cannot be read"):
        read_table(tmp_path)
    path = tmp_path / "latin.csv"
    path.write_bytes("größe\n1\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"not text in UTF-8; save it as CSV in UTF-8\."):
        read_table(path)


def test_names_are_split_at_commas() -> None:
    assert split_names("a, b,c") == ["a", "b", "c"]
    assert split_names(None) == []
    with pytest.raises(InputError, match="'a,,b' has an empty name"):
        split_names("a,,b")
