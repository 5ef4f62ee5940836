"""A user's own script: two lines of ours, and everything that can happen to it."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from coxswain.worker.report import ExitCode

REPOSITORY = Path(__file__).parents[3]
HEAVY = {"numpy", "pandas", "torch", "pydantic", "scipy", "sklearn", "yaml", "typer"}


def script(tmp_path: Path, body: str, **variables: object) -> tuple[int, dict[str, Any], str]:
    """Run a script whose job does this; its exit code, its last word, and what it printed as errors."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    path, log = tmp_path / "script.py", tmp_path / "log.json"
    path.write_text(f"from coxswain.worker import report\nwith report.job() as job:\n{lines}\n")
    environment = {"COXSWAIN_JOB_UID": "u", "COXSWAIN_TERMINATION_LOG": str(log)}
    environment |= {name: str(value) for name, value in variables.items()}
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(log.read_text()), done.stderr


def test_the_helper_needs_the_standard_library_and_prometheus_client_alone() -> None:
    code = "import sys; from coxswain.worker import report; print(*{name.partition('.')[0] for name in sys.modules})"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(answer.stdout.split()) - set(sys.stdlib_module_names) - {"__main__"}
    # Whatever starts with an underscore belongs to how this environment finds its packages.
    assert {name for name in imported if not name.startswith("_")} == {"coxswain", "prometheus_client"}
    assert not imported & HEAVY


def test_two_lines_are_enough(tmp_path: Path) -> None:
    body = "for n in range(job.settings.epochs):\n    job.epoch(loss=1 / (n + 1), accuracy=n / 10, samples=100)"
    code, words, _ = script(tmp_path, body, COXSWAIN_EPOCHS=3, COXSWAIN_WORKLOAD="Custom")
    assert (code, words["state"], words["epochs"]) == (0, "succeeded", 3)
    assert words["curve"]["accuracy"] == [0.0, 0.1, 0.2]
    assert words["result"] == {"epoch": 3, "loss": pytest.approx(1 / 3, rel=1e-5), "accuracy": 0.2}
    assert words["samplesPerSecond"] > 0


@pytest.mark.parametrize(
    ("body", "code", "reason", "sentence"),
    [
        ("1 / 0", ExitCode.USER_ERROR, "Error", "ZeroDivisionError: division by zero"),
        ("raise MemoryError", ExitCode.USER_ERROR, "OutOfMemory", "memory ran out"),
        ("raise OSError(28, 'No space left', '/out/x')", ExitCode.USER_ERROR, "DiskFull", "while writing /out/x"),
        ("raise ConnectionResetError('gone')", ExitCode.INFRASTRUCTURE, "Unreachable", "a connection broke: gone."),
        ("job.epoch(loss=float('nan'))", ExitCode.USER_ERROR, "Diverged", "training diverged in epoch 1"),
        ("job.epoch(accuracy=float('nan'))", ExitCode.USER_ERROR, "BadParameter", "accuracy of epoch 1 is nan; report"),
        ("job.epoch(seconds=float('inf'))", ExitCode.USER_ERROR, "BadParameter", "seconds of epoch 1 is inf; report"),
        ("job.epoch(samples=float('nan'))", ExitCode.USER_ERROR, "BadParameter", "samples of epoch 1 is nan; report"),
        ("job.describe(score=float('nan'))", ExitCode.USER_ERROR, "BadParameter", "score is nan; describe a job by"),
        ("raise SystemExit(3)", ExitCode.USER_ERROR, "Error", "SystemExit: 3"),
        (
            "raise report.Failure(report.Reason.PEER_LOST, 'my peer left')",
            ExitCode.INFRASTRUCTURE,
            "PeerLost",
            "my peer left",
        ),
    ],
)
def test_a_script_that_fails_says_why_and_whether_to_try_again(
    tmp_path: Path, body: str, code: int, reason: str, sentence: str
) -> None:
    ended, words, errors = script(tmp_path, body)
    assert (ended, words["state"], words["reason"]) == (code, "failed", reason)
    assert sentence in words["message"]
    assert errors.strip().splitlines()[-1] == f"{reason}: {words['message']}"


def test_a_script_that_fails_on_a_figure_keeps_the_epochs_before_it(tmp_path: Path) -> None:
    code, words, _ = script(tmp_path, "job.epoch(accuracy=0.5)\njob.epoch(training_accuracy=float('nan'))")
    assert (code, words["reason"], words["epochs"]) == (ExitCode.USER_ERROR, "BadParameter", 1)
    assert words["result"] == {"epoch": 1, "accuracy": 0.5}


def test_figures_of_numpy_s_own_types_are_figures_too(tmp_path: Path) -> None:
    body = (
        "import numpy as np\njob.epoch(loss=np.float32(1), accuracy=np.float32(0.5), seconds=np.float32(2), samples=8)"
    )
    code, words, _ = script(tmp_path, body)
    assert (code, words["state"], words["samplesPerSecond"]) == (0, "succeeded", 4.0)


def test_an_unforeseen_error_leaves_its_traceback_and_a_foreseen_one_does_not(tmp_path: Path) -> None:
    assert "ZeroDivisionError: division by zero\n" in script(tmp_path, "1 / 0")[2]
    assert "Traceback" not in script(tmp_path, "raise MemoryError")[2]


def test_a_script_that_ends_itself_well_has_succeeded(tmp_path: Path) -> None:
    code, words, _ = script(tmp_path, "raise SystemExit")
    assert (code, words["state"]) == (0, "succeeded")


def test_a_wish_to_stop_that_comes_with_the_last_epoch_is_too_late(tmp_path: Path) -> None:
    stops = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\njob.epoch(accuracy=0.5)"
    _, early, _ = script(tmp_path, stops, COXSWAIN_EPOCHS=3)
    _, late, _ = script(tmp_path, stops, COXSWAIN_EPOCHS=1)
    assert (early["state"], early["epochs"]) == ("stopped", 1)
    assert (late["state"], late["epochs"]) == ("succeeded", 1)


def test_settings_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    code, words, _ = script(tmp_path, "pass", COXSWAIN_EPOCHS="many")
    assert (code, words["reason"], words["jobUid"]) == (ExitCode.USER_ERROR, "BadParameter", "u")


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, words, _ = script(tmp_path, "pass", COXSWAIN_METRICS_PORT=port, COXSWAIN_METRICS_HOST="127.0.0.1")
    assert code == ExitCode.USER_ERROR
    assert f"metrics cannot be shown on 127.0.0.1:{port}" in words["message"]


def copied_as_its_image_does(image: Path) -> Path:
    """The example's files where its Dockerfile puts them, and nothing else of ours."""
    for line in (REPOSITORY / "examples/custom/Dockerfile").read_text().splitlines():
        if line.startswith("COPY "):
            source, target = REPOSITORY / line.split()[1], line.split()[2].removeprefix("/")
            if source.is_dir():
                shutil.copytree(source, image / target)
            else:
                place = image / target / (source.name if target.endswith("/") else "")
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, place)
    return image / "opt/train.py"


def test_a_job_stops_by_itself_when_its_time_is_over(tmp_path: Path) -> None:
    trains = "import time\nfor _ in range(3):\n    time.sleep(0.05)\n    job.epoch(accuracy=0.5)"
    _, over, _ = script(tmp_path, trains, COXSWAIN_EPOCHS=3, COXSWAIN_STOP_AT="2020-01-31T18:00:00Z")
    _, early, _ = script(tmp_path, trains, COXSWAIN_EPOCHS=3, COXSWAIN_STOP_AT="2999-01-31T18:00:00+01:00")
    assert (over["state"], over["epochs"]) == ("stopped", 1)
    assert (early["state"], early["epochs"]) == ("succeeded", 3)
    _, wrong, _ = script(tmp_path, trains, COXSWAIN_STOP_AT="tomorrow")
    assert wrong["reason"] == "BadParameter"
    assert "COXSWAIN_STOP_AT" in wrong["message"]


def test_the_example_shows_its_progress_and_stops_when_asked(tmp_path: Path, free_port: int) -> None:
    example = copied_as_its_image_does(tmp_path / "image")
    environment = {
        "PYTHONPATH": str(tmp_path / "image/opt/coxswain"),
        "COXSWAIN_EPOCHS": "100000",
        "COXSWAIN_JOB_UID": "u",
        "COXSWAIN_TERMINATION_LOG": str(tmp_path / "log.json"),
        "COXSWAIN_METRICS_PORT": str(free_port),
        "COXSWAIN_METRICS_HOST": "127.0.0.1",
        "COXSWAIN_EXTRA": '{"slope": "3"}',
    }
    with subprocess.Popen([sys.executable, example], env=environment) as running:
        text = ""
        deadline = time.monotonic() + 60
        while 'coxswain_worker_loss{phase="validation"}' not in text and time.monotonic() < deadline:
            try:
                with urlopen(f"http://127.0.0.1:{free_port}/metrics") as answer:
                    text = answer.read().decode()
            except OSError:
                time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    words = json.loads((tmp_path / "log.json").read_text())
    assert 'job_uid="u"' in text
    assert (words["state"], words["result"]) == ("stopped", words["best"])
