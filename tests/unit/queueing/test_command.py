import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from coxswain.cli import main
from coxswain.core.queueing.simulation import waits

Cox = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cox(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cox:
    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["cox", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


def answer(result: tuple[int, str, str]) -> dict[str, Any]:
    code, out, err = result
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert isinstance(document, dict)
    return document


@pytest.fixture
def jobs_file(tmp_path: Path) -> Path:
    """Jobs of three servers at utilisation 0.8, exponential, first come first served."""
    generator = np.random.default_rng(2)
    gaps, services = generator.exponential(1 / 2.4, (4_000, 1)), generator.exponential(1.0, (4_000, 1))
    arrival = gaps.cumsum(axis=0)
    start = arrival + waits(gaps, services, np.zeros((3, 1)))
    table = np.hstack([arrival, start, start + services])
    path = tmp_path / "jobs.csv"
    pd.DataFrame(table, columns=["arrival", "start", "end"]).to_csv(path, index=False)
    return path


def test_the_published_mm4_queue(cox: Cox) -> None:
    document = answer(cox("queue", "--servers", 4, "--utilization", 0.8, "--mu", 3.439, "-o", "json"))
    assert document["model"] == "M/M/4"
    assert document["exact"] is True
    assert document["lambda"] == pytest.approx(11.0048, abs=5e-5)
    assert document["p_queue"] == pytest.approx(0.5964, abs=5e-5)
    assert document["response_time"] == pytest.approx(0.50757, abs=5e-6)
    assert document["number_in_system"] == pytest.approx(5.5857, abs=5e-5)
    assert document["utilization"] == pytest.approx(0.8)
    assert document["wait_time"] + 1 / 3.439 == pytest.approx(document["response_time"])
    assert document["number_in_queue"] == pytest.approx(document["number_in_system"] - 3.2)
    assert document["response_time_p50"] < document["response_time_p95"] < document["response_time_p99"]
    assert document["one_fast_server"]["is_faster"] is True
    assert document["one_fast_server"]["crossing_cv2"] == pytest.approx(4.895, abs=5e-4)
    assert document["notes"] == []


def test_any_two_of_the_three_rates_say_the_same(cox: Cox) -> None:
    asked = [("--utilization", 0.5, "--mu", 2), ("--utilization", 0.5, "--lambda", 3), ("--mu", 2, "--lambda", 3)]
    documents = [answer(cox("queue", "--servers", 3, *rates, "-o", "json")) for rates in asked]
    for document in documents:
        assert [document[name] for name in ("lambda", "mu", "utilization")] == pytest.approx([3, 2, 0.5])
        assert document["wait_time"] == pytest.approx(documents[0]["wait_time"])


def test_general_service_says_what_it_cannot_say(cox: Cox) -> None:
    arguments = ("--servers", 2, "--utilization", 0.7, "--mu", 1, "--cv2", 3, "--wait-longer-than", 2, "-o", "json")
    document = answer(cox("queue", *arguments))
    assert document["model"] == "M/G/2"
    assert document["exact"] is False
    assert document["p_wait_longer_than"] is None
    assert document["response_time_p95"] is None
    assert "Lee and Longton" in document["notes"][0]
    assert "exponential service only" in document["notes"][1]


def test_the_share_that_waits_longer(cox: Cox) -> None:
    document = answer(cox("queue", "--utilization", 0.5, "--mu", 1, "--wait-longer-than", 2, "-o", "json"))
    assert document["p_wait_longer_than"] == pytest.approx(0.5 * np.exp(-1))
    assert "one_fast_server" not in document


def test_a_table_for_people_and_csv_for_programs(cox: Cox) -> None:
    code, out, _ = cox("queue", "--servers", 2, "--utilization", 0.5, "--mu", 1)
    assert code == 0
    assert "M/M/2 in the long run" in out
    assert "one server 2 times as" in out
    code, out, _ = cox("queue", "--servers", 2, "--utilization", 0.5, "--mu", 1, "-o", "csv")
    assert code == 0
    rows = {row["quantity"]: row["value"] for row in csv.DictReader(io.StringIO(out))}
    assert float(rows["wait_time"]) == pytest.approx(1 / 3)


def test_records_give_estimates_and_the_formulas_beside_what_was_measured(cox: Cox, jobs_file: Path) -> None:
    document = answer(cox("queue", jobs_file, "--wait-longer-than", 1, "-o", "json"))
    table = pd.read_csv(jobs_file)
    assert document["jobs"] == 4_000
    assert document["servers"] == 3
    assert document["servers_inferred"] is True
    assert document["stable"] is True
    assert document["wait_time"] == pytest.approx((table["start"] - table["arrival"]).mean())
    assert document["response_time"] == pytest.approx((table["end"] - table["arrival"]).mean())
    assert document["p_wait_longer_than"] == pytest.approx((table["start"] - table["arrival"] > 1).mean())
    assert document["estimates"]["lambda"]["low"] < 2.4 < document["estimates"]["lambda"]["high"]
    assert document["estimates"]["cv2"]["low"] < 1 < document["estimates"]["cv2"]["high"]
    exponential, general = document["formulas"]
    assert (exponential["model"], general["model"]) == ("M/M/3", "M/G/3")
    assert exponential["p_queue"] == pytest.approx(document["p_queue"], rel=0.1)
    assert 0.1 < document["wait_time_relative_error"] < 0.3
    assert exponential["wait_time"] == pytest.approx(
        document["wait_time"], rel=3 * document["wait_time_relative_error"]
    )
    assert general["cv2"] == document["cv2"]
    code, out, _ = cox("queue", jobs_file)
    assert code == 0
    assert "4000 jobs: measured" in out
    assert "M/G/3" in out


def test_iso_times_are_seconds(cox: Cox, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(
        "arrival,start,end\n"
        "2026-11-16T08:00:00Z,2026-11-16T08:00:00Z,2026-11-16T08:00:40Z\n"
        "2026-11-16T08:00:20Z,2026-11-16T08:00:40Z,2026-11-16T08:01:00Z\n"
        "2026-11-16T08:01:30Z,2026-11-16T08:01:30Z,2026-11-16T08:01:50Z\n"
        "2026-11-16T08:03:20Z,2026-11-16T08:03:20Z,2026-11-16T08:04:00Z\n"
    )
    document = answer(cox("queue", path, "-o", "json"))
    assert document["lambda"] == pytest.approx(3 / 200)
    assert document["mu"] == pytest.approx(1 / 30)
    assert document["wait_time"] == pytest.approx(5)
    assert document["servers"] == 1


def test_overloaded_records_are_shown_without_an_answer_by_formula(cox: Cox, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("arrival,start,end\n" + "".join(f"{i},{2 * i},{2 * i + 2}\n" for i in range(20)))
    document = answer(cox("queue", path, "-o", "json"))
    assert document["stable"] is False
    assert document["utilization"] == pytest.approx(2)
    assert document["wait_time"] == pytest.approx(9.5)
    assert document["wait_time_relative_error"] is None
    assert [formula["wait_time"] for formula in document["formulas"]] == [None, None]
    assert any("grows without bound" in note for note in document["notes"])
    assert any("Poisson" in note for note in document["notes"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("", "give two of --utilization, --mu and --lambda, or a file of records."),
        ("--mu 1", "give two of"),
        ("--mu 1 --lambda 0.5 --utilization 0.5", "give two of"),
        ("--mu 1 --lambda 1", "at utilisation 1 the queue grows without bound; it must be below 1"),
        ("--mu 3 --utilization 1.2 --servers 4", "at utilisation 1.2 the queue grows without bound"),
        ("--mu -1 --lambda 1", "the service rate is -1; give a number above 0."),
        ("--mu 1 --lambda -1", "the arrival rate is -1; give a number of 0 or more."),
        ("--mu nan --lambda 1", "the service rate is nan"),
        ("--mu inf --lambda 1", "the service rate is inf"),
        ("--lambda 1 --utilization 0", "the utilisation is 0; give a number above 0."),
        ("--mu 1 --utilization -0.5", "the utilisation is -0.5"),
        ("--mu 2 --lambda 1 --servers 0", "servers is 0; give a whole number"),
        ("--utilization 0.5 --lambda 1 --servers -2", "servers is -2; give a whole number"),
        ("--mu 2 --lambda 1 --cv2 -1", "cv2 of the service time is -1"),
        ("--mu 2 --lambda 1 --wait-longer-than -1", "the time to wait longer than is -1"),
        ("missing.csv", "there is no file missing.csv"),
        ("{jobs} --servers 2", "3 jobs ran at the same time; give that many servers or more."),
        ("{jobs} --mu 2", "are estimated from the records; leave them out."),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(cox: Cox, jobs_file: Path, arguments: str, sentence: str) -> None:
    code, out, err = cox("queue", *arguments.format(jobs=jobs_file).split())
    assert (code, out) == (2, "")
    assert err.startswith("cox: ")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("arrival,start\n0,1\n", "there is no column end; the columns are arrival, start."),
        ("arrival,start,end\n0,0,1\n1,x,2\n", "column start, row 2: the value (x) is not a finite number"),
        ("arrival,start,end\n0,0,1\n1,,2\n", "column start, row 2: the value is missing"),
        ("arrival,start,end\n0,0,1\n1,1,0.5\n", "column end, row 2: the job's end is before its start"),
        ("arrival,start,end\n0,0,1\n", "there are 1 jobs, too few"),
    ],
)
def test_bad_records_are_told_by_column_and_row(cox: Cox, tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    code, out, err = cox("queue", path)
    assert (code, out) == (2, "")
    assert sentence in err
