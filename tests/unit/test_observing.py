"""What is taken from a job's last word."""

from datetime import UTC, datetime
from typing import Any

from coxswain.core.api import parse_job
from coxswain.core.expand import single
from coxswain.core.observations import SUCCEEDED, Observation
from coxswain.core.observing import observe
from coxswain.core.verdict import Verdict

JOB = {"apiVersion": "coxswain.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "reads"}, "spec": {}}
BEGAN = datetime(2030, 1, 31, 18, tzinfo=UTC)


def observed(**word: Any) -> Observation:
    run = single(parse_job(JOB))
    return observe("mine", run, run.jobs[0], Verdict(SUCCEEDED, word=word), attempt=1, began=BEGAN, wait=2.0)


def test_reading_and_writing_are_both_responses_of_a_speed_test() -> None:
    both = observed(samplesPerSecond=900.0, imagesWrittenPerSecond=300.0, writeSeconds=2.0, seconds={"total": 9})
    assert both.responses == {
        "duration": 9.0,
        "samplesPerSecond": 900.0,
        "imagesWrittenPerSecond": 300.0,
        "wait": 2.0,
    }


def test_what_a_job_did_not_measure_is_not_a_response_of_it() -> None:
    assert "imagesWrittenPerSecond" not in observed(samplesPerSecond=900.0).responses
