"""`cox plan`, `cox explain` and `cox whatif` on manifests in files, by runs in a table."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.conftest import Cox

JOB = {
    "apiVersion": "coxswain.dev/v1alpha1",
    "kind": "TrainingJob",
    "spec": {
        "parameters": {"epochs": 40},
        "deadline": {"within": "100s"},
        "adjust": [{"field": "epochs", "min": 5, "max": 80}],
    },
}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Runs that take 10 s and 2 s an epoch on one worker, less on two."""
    lines = ["workers,epochs,concurrency,duration,startup"]
    for number in range(24):
        workers, epochs = 1 + number % 2, (4, 8, 16, 32)[number % 4]
        seconds = 10 + 2 * epochs / workers**0.8 * (1 + 0.01 * ((7 * number) % 5 - 2))
        lines.append(f"{workers},{epochs},1,{seconds:.3f},10")
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs"
    folder.mkdir()
    for name in ("first", "second"):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(JOB | {"metadata": {"name": name}}))
    (folder / "notes.txt").write_text("not a manifest")
    return folder


def planned(cox: Cox, *arguments: str | Path) -> dict[str, Any]:
    code, out, err = cox(*arguments, "-o", "json")
    assert code == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


def test_the_plan_of_a_folder_says_what_would_start_with_what_and_why(cox: Cox, jobs: Path, runs: Path) -> None:
    document = planned(cox, "plan", jobs, "--from", runs, "--cores", "1")
    assert (document["cores"], document["waiting"], document["running"]) == (1, 2, 0)
    assert [job["rank"] for job in document["jobs"]] == [1, 2]
    assert [job["starts_now"] for job in document["jobs"]] == [True, False]
    for job in document["jobs"]:
        assert job["attainable"]
        assert job["chance"] >= 0.95
        # Both together have 100 s, of which each needs 10 s to start.
        assert 5 <= job["setting"]["epochs"] < 40
        assert job["changes"]["epochs"]["from"] == 40
        assert "epochs 40 → epochs" in job["reason"]


def test_jobs_in_kueue_are_counted_and_not_shown(cox: Cox, jobs: Path, runs: Path) -> None:
    metadata = {"name": "theirs", "labels": {"kueue.x-k8s.io/queue-name": "team"}}
    (jobs / "theirs.yaml").write_text(yaml.safe_dump(JOB | {"metadata": metadata}))
    options = (jobs, "--from", runs, "--cores", "1")
    document = planned(cox, "plan", *options)
    assert {job["name"] for job in document["jobs"]} == {"first", "second"}
    (note,) = document["notes"]
    assert note.startswith("1 job is in Kueue and not shown")
    for command in (("plan",), ("explain", "first")):
        assert "1 job is in Kueue and not shown" in cox(*command, *options)[1]


def test_the_same_plan_is_a_table_for_people_and_for_programs(cox: Cox, jobs: Path, runs: Path) -> None:
    code, out, _ = cox("plan", jobs, "--from", runs, "--cores", "1", "--price", "core=3.6")
    assert code == 0
    assert "The plan, in its order" in out
    assert "cost" in out
    code, out, _ = cox("plan", jobs, "--from", runs, "--cores", "1", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["name"] for row in rows} == {"first", "second"}
    assert 0.95 <= float(rows[0]["chance"]) <= 1
    assert float(rows[0]["setting.epochs"]) < 40


def test_what_would_change_a_job_is_told_by_its_fields(cox: Cox, jobs: Path, runs: Path) -> None:
    document = planned(cox, "explain", "first", jobs, "--from", runs, "--cores", "2")
    alone = document["job"]["duration_seconds"]["median"]
    instead = {each["change"].split(" instead")[0]: each for each in document["instead"]}
    assert instead["workers 2"]["duration_seconds"]["median"] < 0.8 * alone
    start, epochs = document["parts"][1]["seconds"], document["parts"][2]["seconds"]
    assert start == pytest.approx(10, rel=0.05)
    assert start + epochs == pytest.approx(alone, rel=0.01)
    assert any("24 finished runs" in sentence for sentence in document["learned"])


def test_one_job_in_a_file_needs_no_name(cox: Cox, jobs: Path, runs: Path) -> None:
    code, out, _ = cox("explain", jobs / "first.yaml", "--from", runs, "--cores", "2")
    assert code == 0
    assert "workers 2 instead of 1" in out


def test_more_cores_let_everybody_have_more(cox: Cox, jobs: Path, runs: Path) -> None:
    document = planned(cox, "whatif", jobs, "--from", runs, "--base-cores", "1", "--cores", "2", "--price", "core=3.6")
    assert (document["before"]["cores"], document["after"]["cores"]) == (1, 2)
    for job in document["jobs"]:
        assert job["after"]["setting"]["epochs"] > job["before"]["setting"]["epochs"]
        assert job["before"]["cost"] == 0
        # A core costs 3.6 an hour, so a second of it a thousandth.
        assert job["after"]["cost"] == pytest.approx(job["after"]["duration_seconds"]["median"] / 1000, rel=0.02)


def test_without_observations_jobs_run_as_asked_and_that_is_said(cox: Cox, jobs: Path) -> None:
    code, out, _ = cox("plan", jobs, "--cores", "1")
    assert code == 0
    assert "Too little has been observed of jobs like first, second" in out
    document = planned(cox, "plan", jobs, "--cores", "1")
    assert [job["setting"]["epochs"] for job in document["jobs"]] == [40, 40]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("plan", "jobs"), "give --cores"),
        (("plan", "nowhere.yaml", "--cores", "1"), "there is no file nowhere.yaml"),
        (("plan", "jobs", "--cores", "-1"), "--cores is -1"),
        (("plan", "jobs", "--cores", "1", "--price", "disk=1"), "--price disk=1 cannot be read"),
        (("plan", "jobs", "--cores", "1", "--price", "core=-1"), "--price: core_hour is -1"),
        (("plan", "jobs", "--cores", "1", "--from", "nothing.csv"), "there is no file or folder nothing.csv"),
        (("plan", "jobs", "--cores", "1", "-n", "here"), "--namespace and --all-namespaces are for jobs of a cluster"),
        (("plan", "--from", "runs.csv"), "--from and --node-type are for manifests in files"),
        (("explain", "third", "jobs", "--cores", "1"), "no job third waits in this queue"),
        (("whatif", "jobs", "--base-cores", "1"), "nothing differs"),
        (("whatif", "jobs", "--cores", "1"), "give --base-cores"),
    ],
)
def test_a_slip_is_told_in_one_sentence(
    cox: Cox, jobs: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(jobs.parent)
    code, out, err = cox(*arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1


def test_two_jobs_of_one_name_and_a_bad_spec_are_refused(cox: Cox, jobs: Path) -> None:
    (jobs / "third.yaml").write_text(yaml.safe_dump(JOB | {"metadata": {"name": "first"}}))
    assert "there is another job first" in cox("plan", jobs, "--cores", "1")[2]
    (jobs / "third.yaml").write_text(yaml.safe_dump(JOB | {"metadata": {"name": "third"}, "spec": {"speed": 1}}))
    assert "third.yaml: spec.speed" in cox("plan", jobs, "--cores", "1")[2]
