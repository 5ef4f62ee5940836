"""Parameters by environment: what is read, what is refused, and that it can be written again."""

from pathlib import Path

import pytest

from coxswain.worker.report import ExitCode, Failure, Reason, Settings


def test_what_is_written_is_read_again() -> None:
    settings = Settings(
        job_uid="u",
        attempt=2,
        samples=10,
        epochs=7,
        learning_rate=1e-5,
        cores_per_worker=0.5,
        extra={"dropout": "0.2"},
        workers=3,
        worker=2,
        output_path=Path("/out"),
        metrics_port=9000,
        termination_log=Path("/out/log"),
    )
    assert Settings.from_environment(settings.environment()) == settings


def test_an_empty_variable_counts_as_one_that_is_not_there() -> None:
    nothing = Settings.from_environment({})
    assert Settings.from_environment({"COXSWAIN_EPOCHS": "", "COXSWAIN_SAMPLES": " ", "COXSWAIN_EXTRA": ""}) == nothing


@pytest.mark.parametrize(("text", "cores"), [("500m", 0.5), ("2", 2.0), ("0.25", 0.25), ("1500m", 1.5)])
def test_cores_are_read_as_kubernetes_writes_them(text: str, cores: float) -> None:
    assert Settings.from_environment({"COXSWAIN_CORES_PER_WORKER": text}).cores_per_worker == cores


@pytest.mark.parametrize(
    ("variable", "text", "wanted"),
    [
        ("COXSWAIN_EPOCHS", "0", "a whole number of at least 1"),
        ("COXSWAIN_EPOCHS", "2.5", "a whole number of at least 1"),
        ("COXSWAIN_EPOCHS", "-3", "a whole number of at least 1"),
        ("COXSWAIN_LEARNING_RATE", "nan", "a number above 0"),
        ("COXSWAIN_LEARNING_RATE", "inf", "a number above 0"),
        ("COXSWAIN_LEARNING_RATE", "fast", "a number above 0"),
        ("COXSWAIN_CORES_PER_WORKER", "half", "cores, such as 2, 0.5 or 500m"),
        ("COXSWAIN_EXTRA", "dropout=0.2", "a JSON object of strings"),
        ("COXSWAIN_EXTRA", '{"dropout": 0.2}', "a JSON object of strings"),
        ("COXSWAIN_EXTRA", "[1]", "a JSON object of strings"),
    ],
)
def test_a_bad_value_is_refused_with_the_name_of_its_variable(variable: str, text: str, wanted: str) -> None:
    with pytest.raises(Failure) as refused:
        Settings.from_environment({variable: text})
    assert (refused.value.reason, refused.value.reason.exit_code) == (Reason.BAD_PARAMETER, ExitCode.USER_ERROR)
    assert refused.value.sentence.startswith(f"{variable} is {text!r}; it must be {wanted}")


def test_a_worker_beyond_the_last_is_refused() -> None:
    with pytest.raises(Failure, match="JOB_COMPLETION_INDEX is 2, but COXSWAIN_WORKERS says there are 2 workers"):
        Settings.from_environment({"COXSWAIN_WORKERS": "2", "JOB_COMPLETION_INDEX": "2"})
