"""TrainingExperiments on a real cluster: every run observed once, whatever ends the operator, and then analysed."""

import base64
import csv
import io
import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.localcluster.places import REPOSITORY
from tests.cluster.operating import API_VERSION, SLEEP, WORD, Manifest, Operating

INDEX = "batch.kubernetes.io/job-completion-index"


def experiment(name: str, template: Manifest, factors: list[Manifest], /, **spec: Any) -> Manifest:
    design = {"type": "FullFactorial", "seed": 1, **spec.pop("design", {})}
    given = {"factors": factors, "design": design, "template": {"spec": template}, **spec}
    return {"apiVersion": API_VERSION, "kind": "TrainingExperiment", "metadata": {"name": name}, "spec": given}


def epochs(*levels: int) -> Manifest:
    return {"name": "epochs", "field": "parameters.epochs", "levels": list(levels)}


def batch(*levels: int) -> Manifest:
    return {"name": "batch", "field": "parameters.batchSize", "levels": list(levels)}


def scripted(image: str, script: str = WORD) -> Manifest:
    return {
        "workload": {"type": "Custom", "image": image, "command": ["sh", "-c", script]},
        "resources": {"coresPerWorker": "100m", "memoryPerWorker": "32Mi"},
    }


def test_fltks_screening_runs_to_its_end_and_its_effects_are_those_of_its_observations(
    operating: Operating, tmp_path: Path
) -> None:
    manifest = yaml.safe_load((REPOSITORY / "examples" / "fltk-screening.yaml").read_text())
    spec = manifest["spec"]
    # One replicate of FLTK's own design, and less to train: the same path in less time.
    spec["design"]["replications"] = 1
    spec["parallelism"] = 2
    spec["template"]["spec"]["workload"]["samples"] = 300
    operating.apply(manifest)
    done = operating.until_state("fltk-screening", "Succeeded", "Failed", kind="trainingexperiment", seconds=900)
    status = done["status"]
    assert status["counts"]["succeeded"] == 8
    assert status["design"]["resolution"] == "III"
    _check_started_parameters(operating)
    exported = operating.cox("ledger", "export", f"--namespace={operating.namespace}")
    rows = list(csv.DictReader(io.StringIO(exported)))
    assert Counter(row["Row"] for row in rows) == Counter(str(row) for row in range(8))
    assert {int(float(row["Epochs"])) for row in rows} == {1, 3}
    path = tmp_path / "observations.csv"
    path.write_text(exported)
    factors = [factor["name"] for factor in spec["factors"]]
    for response in ("duration", "accuracy"):
        analysed = _analysed(operating, path, response, factors)
        told = [effect for effect in status["effects"] if effect["response"] == response]
        for effect in told:
            same = next(row for row in analysed["anova"] if row["term"] == effect["term"])
            assert effect["percent"] == pytest.approx(same["percent"], rel=1e-6)
        assert len(told) == len(factors)


def _analysed(operating: Operating, path: Path, response: str, factors: list[str]) -> Manifest:
    options = (f"--response={response}", f"--factors={','.join(factors)}", "--interactions=1", "--output=json")
    found: Manifest = json.loads(operating.cox("analyze", str(path), *options))
    return found


def _check_started_parameters(operating: Operating) -> None:
    """Each run began with what its first worker says that it ran with."""
    for job in operating.all("trainingjobs"):
        name, started = job["metadata"]["name"], job["status"]["startedParameters"]
        pods = operating.all("pods", f"--selector=coxswain.dev/job={name},{INDEX}=0")
        (word,) = [json.loads(pod["status"]["containerStatuses"][0]["state"]["terminated"]["message"]) for pod in pods]
        both = started.keys() & word["parameters"].keys()
        assert {"epochs", "batchSize", "learningRate", "optimizer", "seed", "workers"} <= both
        assert {field: started[field] for field in both} == {field: word["parameters"][field] for field in both}


@pytest.mark.long
def test_whatever_ends_the_operator_every_run_is_made_and_observed_once(operating: Operating, busybox: str) -> None:
    """Kill it at twenty random moments of an experiment of sixteen runs."""
    chance = random.Random(7)
    factors, design = [epochs(1, 2, 3, 4), batch(8, 16)], {"replications": 2}
    template = scripted(busybox, f"sleep 4; {WORD}")
    operating.apply(experiment("hunted", template, factors, parallelism=3, design=design))
    for _ in range(20):
        time.sleep(chance.uniform(0.5, 6.0))
        operating.kill()
    operating.until_state("hunted", "Succeeded", kind="trainingexperiment", seconds=600)
    operating.apply(experiment("calm", scripted(busybox), factors, parallelism=3, design=design))
    operating.until_state("calm", "Succeeded", kind="trainingexperiment")
    exported = operating.cox("ledger", "export", f"--namespace={operating.namespace}")
    rows = list(csv.DictReader(io.StringIO(exported)))
    hunted, calm = ([_told(row) for row in rows if row["Experiment"] == name] for name in ("hunted", "calm"))
    assert len(hunted) == 16
    assert sorted(hunted) == sorted(calm)
    created = Counter(entry["objectRef"]["name"] for entry in operating.writes("jobs", ("create",)))
    assert len(created) == 32
    assert set(created.values()) == {1}
    assert {job["status"]["attempts"][-1]["number"] for job in operating.all("trainingjobs")} == {1}


def test_of_two_operators_one_works_and_the_other_takes_over(operating: Operating, busybox: str) -> None:
    """End the one that leads, while the other is alive, in the middle of an experiment."""
    release = operating.release
    scale = ("scale", f"deployment/{release.name}", f"--namespace={release.namespace}")
    operating.cluster.kubectl(*scale, "--replicas=2")
    try:
        operating.cluster.kubectl(
            "rollout", "status", f"deployment/{release.name}", f"--namespace={release.namespace}", "--timeout=120s"
        )
        factors, design = [epochs(1, 2, 3, 4)], {"replications": 2}
        template = scripted(busybox, f"sleep 2; {WORD}")
        operating.apply(experiment("shared", template, factors, parallelism=2, design=design))
        operating.until("a result", operating.observations)
        before = _leader(operating)
        operating.cluster.kubectl(
            "delete", "pod", before, f"--namespace={release.namespace}", "--grace-period=0", "--force"
        )
        operating.until_state("shared", "Succeeded", kind="trainingexperiment")
        assert _leader(operating) != before
    finally:
        operating.cluster.kubectl(*scale, "--replicas=1")
    exported = operating.cox("ledger", "export", f"--namespace={operating.namespace}")
    rows = list(csv.DictReader(io.StringIO(exported)))
    assert Counter((row["Row"], row["Replicate"]) for row in rows) == Counter(
        (str(row), str(replicate)) for row in range(4) for replicate in range(2)
    )
    created = Counter(entry["objectRef"]["name"] for entry in operating.writes("jobs", ("create",)))
    assert len(created) == 8
    assert set(created.values()) == {1}


def _leader(operating: Operating) -> str:
    """The pod whose operator holds the Lease."""
    release = operating.release
    lease = operating.cluster.get("lease", release.name, f"--namespace={release.namespace}")
    holder: str = lease["spec"]["holderIdentity"]
    return holder.rpartition("-")[0]


def _told(row: dict[str, str]) -> tuple[str, ...]:
    """Which run an observation is of, what it ran with, and what came out."""
    return tuple(row[name] for name in ("Row", "Replicate", "epochs", "batch", "loss", "State"))


def test_deleting_a_run_repeats_it_and_deleting_the_experiment_ends_it(operating: Operating, busybox: str) -> None:
    operating.apply(experiment("study", scripted(busybox, f"sleep 3; {WORD}"), [epochs(1, 2)], parallelism=1))
    (first,) = operating.until("a run", lambda: operating.all("trainingjobs"))
    operating.delete("trainingjob", first["metadata"]["name"])
    operating.until_state("study", "Succeeded", kind="trainingexperiment")
    assert len(operating.observations()) == 2
    for job in operating.all("trainingjobs"):
        operating.delete("trainingjob", job["metadata"]["name"])
    time.sleep(3)
    assert operating.all("trainingjobs") == []
    operating.delete("trainingexperiment", "study")
    assert len(operating.observations()) == 2


def test_an_experiment_that_is_deleted_takes_its_runs_with_it(operating: Operating, busybox: str) -> None:
    operating.apply(experiment("brief", scripted(busybox, SLEEP), [epochs(1, 2)], parallelism=2))
    operating.until("pods", lambda: len(operating.all("pods")) == 2)
    operating.delete("trainingexperiment", "brief", "--wait=false")
    operating.until("nothing is left", lambda: not operating.all("trainingjobs") and not operating.all("jobs"))


def test_what_makes_no_design_is_told_and_nothing_is_created(operating: Operating) -> None:
    template = {"parameters": {"batchSize": 4}}
    workers = {"name": "workers", "field": "resources.workers", "levels": [1, 8]}
    operating.apply(experiment("odd", template, [workers]))
    condition = operating.until(
        "a sentence",
        lambda: operating.get("trainingexperiment", "odd").get("status", {}).get("conditions"),
        seconds=10,
    )[0]
    assert (condition["type"], condition["status"]) == ("Valid", "False")
    assert "batchSize must be at least the number of training processes" in condition["message"]
    assert operating.all("trainingjobs") == []


def test_failed_runs_end_an_experiment_and_are_said(operating: Operating, busybox: str) -> None:
    failing = scripted(busybox, "exit 64")
    operating.apply(experiment("doomed", failing, [epochs(1, 2, 3, 4)], parallelism=1, maxFailedRuns=1))
    failed = operating.until_state("doomed", "Failed", kind="trainingexperiment")["status"]
    condition = next(each for each in failed["conditions"] if each["type"] == "Failed")
    assert condition["reason"] == "TooManyFailedRuns"
    assert "2 of 4 runs are left undone" in condition["message"]


# What a worker says whose loss is the least after four epochs.
VALLEY = (
    "e=$COXSWAIN_EPOCHS; d=$((e > 4 ? e - 4 : 4 - e)); "
    'printf \'{"state":"succeeded","jobUid":"%s","epochs":%s,"seconds":{"total":1.5,"startup":0.5},'
    '"result":{"loss":1.%s,"accuracy":0.8}}\' "$COXSWAIN_JOB_UID" "$e" "$d" > /dev/termination-log'
)


@pytest.mark.long
def test_a_search_makes_each_row_by_what_the_last_one_gave_whatever_ends_the_operator(
    operating: Operating, busybox: str
) -> None:
    search = {"minimize": "loss", "stopWhenImprovementBelowPercent": 1}
    manifest = experiment(
        "climb",
        scripted(busybox, f"sleep 2; {VALLEY}"),
        [epochs(1, 2, 4, 8)],
        design={"type": "HillClimb", "replications": 2, "search": search},
        analysis={"responses": [{"name": "loss"}]},
        parallelism=2,
    )
    operating.apply(manifest)
    operating.until("the second row", lambda: len(operating.all("trainingjobs")) > 2)
    operating.kill()
    status = operating.until_state("climb", "Succeeded", kind="trainingexperiment")["status"]
    assert status["counts"]["succeeded"] == status["counts"]["total"] == 8
    found = status["search"]
    assert (found["best"], found["row"], found["response"]) == ([{"name": "epochs", "level": 4}], 3, 1.0)
    assert found["message"].startswith("Around epochs 4 no step lowers loss by 1 % or more beyond chance; the best is")
    rows = {job["metadata"]["name"]: job["spec"]["parameters"]["epochs"] for job in operating.all("trainingjobs")}
    tried = (1, 2, 8, 4)
    assert rows == {f"climb-row{row}-{replicate}": tried[row] for row in range(4) for replicate in range(2)}
    results = operating.get("configmap", "climb-results")
    document = json.loads(base64.b64decode(results["binaryData"]["results.json"]))
    assert [step["settings"]["epochs"] for step in document["search"]["steps"]] == list(tried)
