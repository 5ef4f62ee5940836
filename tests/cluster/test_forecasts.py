"""Forecasts on a real cluster: made at creation, kept, scored; and what a job does that cannot be forecast yet."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.helm import Release
from tests.cluster.operating import API_VERSION, Manifest, Operating, job
from tests.cluster.test_steering import template

JOBS = 30
LONG_SECONDS = 900.0


def sized(image: str) -> Manifest:
    """A job of which a few run at a time, so that most of many wait."""
    return {**template(image), "resources": {"coresPerWorker": "300m", "memoryPerWorker": "32Mi"}}


@pytest.fixture
def operating(release: Release) -> Iterator[Operating]:
    with release.cluster.namespace() as namespace:
        yield Operating(release, namespace)


def scores(operating: Operating) -> dict[str, Any]:
    """What `cox ledger scores` says of the one family there is, by when forecasts were made."""
    told = json.loads(operating.cox("ledger", "scores", f"--namespace={operating.namespace}", "--output=json"))
    return {each["made"]: each for each in told["scores"]}


@pytest.mark.long
def test_thirty_jobs_are_forecast_at_creation_better_than_by_plain_history(operating: Operating, busybox: str) -> None:
    factors = [{"name": "epochs", "field": "parameters.epochs", "levels": [1, 3, 6]}]
    design = {"type": "FullFactorial", "replications": 4}
    spec = {"factors": factors, "design": design, "template": {"spec": sized(busybox)}, "parallelism": 3}
    metadata = {"name": "lessons"}
    operating.apply({"apiVersion": API_VERSION, "kind": "TrainingExperiment", "metadata": metadata, "spec": spec})
    operating.until_state("lessons", "Succeeded", kind="trainingexperiment", seconds=LONG_SECONDS)
    operating.apply(job("witness", **sized(busybox), suspend=True))
    learned = "forecast from 12 finished runs like it."
    operating.until("the models", lambda: operating.condition("witness", "ModelReady").get("message") == learned)
    before = scores(operating)
    names = [f"job-{number}" for number in range(JOBS)]
    operating.apply(
        *(job(name, **sized(busybox), parameters={"epochs": 1 + number % 8}) for number, name in enumerate(names))
    )
    done = [operating.until_state(name, "Succeeded", "Failed", seconds=LONG_SECONDS)["status"] for name in names]
    assert {each["state"] for each in done} == {"Succeeded"}
    for each in done:
        first, at_start = each["issued"]["first"], each["issued"]["atStart"]
        assert first["durationSeconds"]["low"] <= first["durationSeconds"]["expected"]
        assert first["time"] <= at_start["time"] <= each["completionTime"]
        assert len(first["quantiles"]) == 13
    found = scores(operating)
    sys.stdout.write(operating.cox("ledger", "scores", f"--namespace={operating.namespace}"))
    for made in ("creation", "start"):
        assert found[made]["forecasts"] == before[made]["forecasts"] + JOBS
        assert found[made]["skill"] > 0


@pytest.mark.long
def test_a_job_that_cannot_be_forecast_makes_short_runs_first_if_it_says_so(operating: Operating, busybox: str) -> None:
    cold = {"parameters": {"epochs": 5}}
    operating.apply(
        job("held", **sized(busybox), **cold, steering={"coldStart": "Hold"}),
        job("probing", **sized(busybox), **cold, steering={"coldStart": "Probe"}),
    )
    missing = "coldStart is Hold: 3 more finished runs like it are needed before it can be forecast."
    # Until it has been looked up what runs like it have taught, it says so.
    operating.until("the hold", lambda: operating.condition("held", "Admitted").get("message") == missing)
    held = operating.condition("held", "Admitted")
    assert (held["status"], held["reason"]) == ("False", "ColdStart")
    done = operating.until_state("probing", "Succeeded", "Failed", seconds=LONG_SECONDS)["status"]
    assert (done["state"], done["startedParameters"]["epochs"]) == ("Succeeded", 5)
    probes = [each for each in operating.all("trainingjob") if each["metadata"]["name"].startswith("probing-probe-")]
    assert sorted(each["metadata"]["name"] for each in probes) == [f"probing-probe-{number}" for number in (1, 2, 3)]
    assert {each["status"]["startedParameters"]["epochs"] for each in probes} == {2}
    # What the probes have taught serves the other as well.
    assert operating.until_state("held", "Succeeded", "Failed")["status"]["state"] == "Succeeded"
