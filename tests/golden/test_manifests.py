"""The objects of an attempt, whole, as files: a change of a manifest is seen in review.

`COXSWAIN_REFRESH=1 make unit` writes the files anew.
"""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from coxswain.core.api import parse_job
from coxswain.core.manifests import Attempt, batch_job, needs_service, secret, service
from coxswain.core.manifests.environment import variables
from coxswain.worker.report import Settings
from tests.contract.manifests import COMPLETE, MINIMAL_JOB, SPARK_JOB, TORCH_JOB

FOLDER = Path(__file__).parent / "manifests"
JOBS = {"minimal": MINIMAL_JOB, "torch": TORCH_JOB, "spark": SPARK_JOB}


def objects(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    job = parse_job(manifest)
    attempt = Attempt(job.name, "00000000-0000-4000-8000-000000000000", 2, job.spec, "example.com/worker:1")
    found = [service(attempt)] if needs_service(job.spec) else []
    if job.spec.engine == "Spark":
        found.append(secret(attempt, "not a secret"))
    return [*found, batch_job(attempt, "198.18.128.7" if needs_service(job.spec) else None)]


@pytest.mark.parametrize("name", JOBS)
def test_an_attempt_s_objects(name: str) -> None:
    file = FOLDER / f"{name}.yaml"
    rendered = yaml.safe_dump_all(objects(JOBS[name]), sort_keys=False, width=120)
    if os.environ.get("COXSWAIN_REFRESH"):
        file.write_text(rendered)
    assert rendered == file.read_text(), "if this change is meant, run `COXSWAIN_REFRESH=1 make unit` and commit"


@pytest.mark.parametrize("manifest", [job for job in COMPLETE if job["kind"] == "TrainingJob"])
def test_a_worker_reads_every_parameter_that_it_is_told(manifest: dict[str, Any]) -> None:
    told = variables(parse_job(manifest).spec)
    read = Settings.from_environment(told).environment()
    unread = {name: value for name, value in told.items() if name not in read}
    assert unread == {}
