"""`cox run` as a person uses it: results, interruptions, refusals, and real training."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from coxswain.cli import main
from coxswain.core.observations import SUCCEEDED
from coxswain.core.observing import observe
from coxswain.core.verdict import Verdict
from coxswain.local.folder import OBSERVATIONS, Folder, read_observations
from tests.unit.local.conftest import Manifest, experiment, job, job_spec, runs_of

ENOUGH = 180.0  # a hang must end the test, however busy the machine

Cox = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cox(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cox:
    handler = signal.getsignal(signal.SIGTERM)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["cox", "run", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        signal.signal(signal.SIGTERM, handler)
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


def write(path: Path, *manifests: Manifest) -> Path:
    path.write_text(yaml.safe_dump_all(manifests))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An experiment of eight runs, each of some seconds."""
    design = {"type": "FullFactorial", "replications": 2, "seed": 1}
    manifest = experiment(job_spec(seconds=0.7), design=design, parallelism=2)
    return write(tmp_path / "tiny.yaml", manifest)


def start(file: Path, out: Path) -> "subprocess.Popen[str]":
    program = "from coxswain.cli import main; main()"
    return subprocess.Popen(
        # Whoever runs these tests in the background of a script ignores SIGINT, and that is inherited.
        ["env", "--default-signal=INT", sys.executable, "-c", program, "run", str(file), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + ENOUGH
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for_observations(out: Path, count: int, process: "subprocess.Popen[str]") -> None:
    path = out / OBSERVATIONS

    def enough() -> bool:
        assert process.poll() is None, process.communicate()
        return path.exists() and len(path.read_text().splitlines()) >= count

    wait_until(enough)


def workers_of(out: Path) -> set[int]:
    """Processes that were started for the runs in a folder, leashes among them."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
        except OSError:
            continue
        if f"COXSWAIN_TERMINATION_LOG={out}".encode() in environment:
            found.add(int(process.name))
    return found


def test_no_run_is_lost_or_repeated_and_no_worker_left_whatever_ends_cox(cox: Cox, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with start(file, out) as interrupted:
        wait_for_observations(out, 1, interrupted)
        interrupted.send_signal(signal.SIGINT)
        _, told = interrupted.communicate(timeout=ENOUGH)
    assert interrupted.returncode == 130
    assert "Run the same command again to go on" in told
    assert workers_of(out) == set()

    seen = len(read_observations(out))
    with start(file, out) as killed:
        wait_for_observations(out, seen + 2, killed)
        wait_until(lambda: workers_of(out) != set())
        killed.kill()
        killed.communicate(timeout=ENOUGH)
    wait_until(lambda: workers_of(out) == set())

    before = {each.job: each for each in read_observations(out)}
    code, printed, told = cox(file, "--out", out)
    assert code == 0
    observations = read_observations(out)
    assert Counter(each.job for each in observations) == dict.fromkeys({each.job for each in observations}, 1)
    assert len(observations) == 8
    assert all(each.succeeded for each in observations)
    assert before.items() <= {each.job: each for each in observations}.items()
    with (out / "observations.csv").open(newline="") as table:
        assert len(list(csv.DictReader(table))) == 8
    assert "accuracy: effects" in printed
    assert "batch_size: epochs" in printed
    assert "<svg" in (out / "report.html").read_text()


def test_sigterm_ends_cox_and_its_workers(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with start(file, out) as process:
        wait_for_observations(out, 1, process)
        process.terminate()
        process.communicate(timeout=ENOUGH)
    assert process.returncode == 128 + signal.SIGTERM
    assert workers_of(out) == set()


def test_real_training_without_a_terminal(cox: Cox, tmp_path: Path) -> None:
    template = {"workload": {"network": "mlp", "samples": 100}, "parameters": {"epochs": 1}}
    factors = [{"name": "batch_size", "field": "parameters.batchSize", "levels": [10, 50]}]
    manifest = experiment(template, factors=factors, parallelism=2)
    code, printed, told = cox(write(tmp_path / "digits.yaml", manifest), "--out", tmp_path / "out", "-o", "json")
    assert code == 0, told
    document = json.loads(printed)
    assert [each["state"] for each in document["observations"]] == ["succeeded", "succeeded"], told
    for each in document["observations"]:
        assert 0 < each["responses"]["accuracy"] <= 1
        assert each["responses"]["duration"] > each["responses"]["startup"]
        assert "torch" in each["versions"]
    assert told.count("✓ tiny-row") == 2
    assert "2 of 2 done" in told


def test_a_job_by_itself_prints_its_result_once_and_for_all(cox: Cox, tmp_path: Path) -> None:
    file = write(tmp_path / "job.yaml", job(parameters={"epochs": 3}))
    code, printed, told = cox(file, "--out", tmp_path / "out", "-o", "json")
    assert code == 0
    document = json.loads(printed)
    assert (document["state"], document["epochs"], len(document["curve"]["accuracy"])) == ("succeeded", 3, 3)
    assert "✓ lone" in told
    again = cox(file, "--out", tmp_path / "out")
    assert again[0] == 0
    assert "accuracy" in again[1]
    assert "✓" not in again[2]


def test_a_job_that_fails_says_why_and_ends_with_an_error(cox: Cox, tmp_path: Path) -> None:
    code, printed, told = cox(write(tmp_path / "job.yaml", job(wish="bad data")), "--out", tmp_path / "out")
    assert code == 1
    assert "the data is not there." in told
    assert "BadData" in printed


def test_an_experiment_with_too_many_failures_ends_with_an_error(cox: Cox, tmp_path: Path) -> None:
    file = write(tmp_path / "bad.yaml", experiment(job_spec(wish="crash"), maxFailedRuns=0))
    code, printed, told = cox(file, "--out", tmp_path / "out")
    assert code == 1
    assert "more than 0 runs failed (maxFailedRuns)" in told
    assert "No run has succeeded" in printed


def test_an_output_claim_is_a_folder_of_this_machine(cox: Cox, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    template = {**job_spec(), "output": {"claim": "models", "path": "mine"}}
    file = write(tmp_path / "out.yaml", experiment(template, design={"type": "Rows", "rows": ONE_ROW}))
    code, _, told = cox(file, "--out", tmp_path / "out", "--claim", f"models={tmp_path / 'models'}")
    assert code == 0, told
    log = tmp_path / "out" / "runs" / "tiny-row0-0" / "attempt-1" / "worker-0.log"
    assert f"output {tmp_path}/models/mine/tiny-row0-0/attempt-1" in log.read_text()


ONE_ROW = [{"settings": [{"name": "batch_size", "level": 16}, {"name": "epochs", "level": 1}]}]


BATCH_SIZES = [16, 32, 64, 128, 256]


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """The folder of an experiment whose jobs took a second to start and a tenth of a second an epoch."""
    factors = [{"name": "batch_size", "field": "parameters.batchSize", "levels": BATCH_SIZES, "coding": "Log"}]
    manifest = experiment(job_spec(seconds=0.1), factors=factors)
    path = tmp_path / "measured"
    with Folder(path) as folder:
        folder.write_manifest(manifest)
        for number, run in enumerate(runs_of(manifest)):
            wavering = 1 + 0.01 * number
            word = {
                "epochs": 3,
                "seconds": {"total": 1.3 * wavering, "startup": wavering},
                "curve": {"epoch": [1, 2, 3], "seconds": [0.1 * wavering] * 3, "accuracy": [0.5, 0.6, 0.65]},
            }
            verdict = Verdict(SUCCEEDED, word=word)
            folder.record([observe("tiny", run, run.jobs[0], verdict, attempt=1, began=datetime.now(UTC))])
    return path


def due(seconds: str, **fields: Any) -> Manifest:
    adjust = [{"field": "epochs", "min": 1, "max": 20}]
    return job(seconds=0.1, adjust=adjust, deadline={"within": seconds}, **fields)


def test_a_job_trains_for_the_most_epochs_that_are_sure_to_be_done_in_time(
    cox: Cox, tmp_path: Path, measured: Path
) -> None:
    file = write(tmp_path / "job.yaml", due("1h"))
    code, printed, told = cox(file, "--from", measured, "--deadline", "2s", "--out", tmp_path / "out")
    assert code == 0, told
    [observation] = read_observations(tmp_path / "out")
    assert 3 < observation.epochs < 10
    assert f"Training {observation.epochs} epochs, the most that fit into 2 s" in told
    assert f"{observation.epochs} epochs, predicted and actual" in printed
    assert "The deadline of 2 s was" in printed


def test_what_cannot_be_done_in_time_runs_anyway_or_not_as_the_job_says(
    cox: Cox, tmp_path: Path, measured: Path
) -> None:
    file = write(tmp_path / "a.yaml", due("1s"))
    code, printed, told = cox(file, "--from", measured, "--out", tmp_path / "a", "-o", "json")
    assert code == 0
    assert "Nothing that the job allows is sure to fit into 1 s" in told
    document = json.loads(printed)
    assert document["epochs"] == document["forecast"]["epochs"] == document["deadline_seconds"] == 1
    file = write(tmp_path / "b.yaml", due("1s", steering={"whenInfeasible": "Fail"}))
    code, _, told = cox(file, "--from", measured, "--out", tmp_path / "b")
    assert code == 2
    assert "not even 1 epochs are sure to be done within 1 s" in told


@pytest.mark.parametrize(
    ("manifest", "arguments", "sentence"),
    [
        (job(), ["--from", "."], "the job has none; give --deadline"),
        (due("1m"), ["--from", "/nowhere"], "has no manifest.json"),
        (due("soon"), [], "spec.deadline.within: give a time such as 15m"),
        (job(), ["--deadline", "late"], "spec.deadline.within: give a time such as 15m"),
        (experiment(), ["--deadline", "1m"], "--deadline and --from are for a TrainingJob"),
    ],
)
def test_a_deadline_that_makes_no_sense_is_refused(
    cox: Cox, tmp_path: Path, manifest: Manifest, arguments: list[str], sentence: str
) -> None:
    code, _, told = cox(write(tmp_path / "x.yaml", manifest), "--out", tmp_path / "out", *arguments)
    assert code == 2
    assert sentence in told


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({**job_spec(), "deadline": "15m"}, "cox: spec.deadline"),
        ([job_spec()], "cox: spec"),
        (None, "cox: spec"),
    ],
)
def test_another_deadline_does_not_mend_a_job_that_is_none(
    cox: Cox, tmp_path: Path, spec: object, sentence: str
) -> None:
    file = write(tmp_path / "job.yaml", {**job(), "spec": spec})
    code, printed, told = cox(file, "--out", tmp_path / "out", "--deadline", "60s")
    assert (code, printed) == (2, "")
    assert told.startswith(sentence)
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize(
    ("spec", "arguments", "sentence"),
    [
        ({"suspend": True}, [], "suspend is true"),
        (
            {
                "design": {"type": "HillClimb", "search": {"minimize": "money"}},
                "analysis": {"responses": [{"name": "money"}]},
            },
            [],
            "response money: nothing measures money here; write it as an expression over duration and the factors",
        ),
        ({"analysis": {"responses": [{"name": "x", "expression": "lossy"}]}}, [], "lossy, which is not known"),
        ({}, ["--claim", "models"], "write it as NAME=DIR"),
        ({}, ["--claim", "models=/no/such/folder"], "there is no folder /no/such/folder"),
        ({}, ["--name", "other"], "no documents of kind TrainingExperiment or TrainingJob with the name other"),
    ],
)
def test_what_cannot_be_run_is_refused_in_a_sentence(
    cox: Cox, tmp_path: Path, spec: dict[str, Any], arguments: list[str], sentence: str
) -> None:
    code, printed, told = cox(write(tmp_path / "x.yaml", experiment(**spec)), "--out", tmp_path / "out", *arguments)
    assert (code, printed) == (2, "")
    assert told.startswith("cox: ")
    assert sentence in told
    assert not (tmp_path / "out" / "runs").exists()


def test_one_of_several_is_chosen_by_name(cox: Cox, tmp_path: Path) -> None:
    other = {**job(), "metadata": {"name": "other"}}
    file = write(tmp_path / "two.yaml", job(), other)
    code, _, told = cox(file, "--out", tmp_path / "out")
    assert code == 2
    assert "has 2 documents of kind TrainingExperiment or TrainingJob; choose one by --name." in told
    code, _, told = cox(file, "--out", tmp_path / "out", "--name", "other")
    assert code == 0
    assert "✓ other" in told


def test_variables_of_another_job_do_not_leak_into_a_run(
    cox: Cox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COXSWAIN_EPOCHS", "7")
    monkeypatch.setenv("COXSWAIN_DATA_PATH", "/somewhere")
    _, printed, _ = cox(write(tmp_path / "job.yaml", job()), "--out", tmp_path / "out", "-o", "json")
    assert json.loads(printed)["epochs"] == 1
    assert "COXSWAIN_EPOCHS" in os.environ
