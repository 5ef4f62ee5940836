"""TrainingJobs on a real cluster, from apply to the ledger, and everything that can come between."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.cluster.operating import SLEEP, WORD, Operating, job, shell_job

SMALL = {"workload": {"network": "mlp", "samples": 400}, "parameters": {"epochs": 2, "batchSize": 100}}
HALF_A_CORE = {"coresPerWorker": "500m", "memoryPerWorker": "1Gi"}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_job_is_started_trained_and_recorded(operating: Operating, workers: int) -> None:
    resources = {**HALF_A_CORE, "workers": workers}
    operating.apply(job("train", **SMALL, resources=resources))
    done = operating.until_state("train", "Succeeded", "Failed")
    status = done["status"]
    assert status["state"] == "Succeeded", status
    assert status["columns"]["epochs"] == "2/2"
    assert status["result"]["outcome"] == "Completed"
    assert 0 < status["result"]["accuracy"] <= 1
    (first, *_) = [
        pod
        for pod in operating.all("pods")
        if pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == "0"
    ]
    word = json.loads(first["status"]["containerStatuses"][0]["state"]["terminated"]["message"])
    started = status["startedParameters"]
    assert {name: started[name] for name in word["parameters"] if name in started} == {
        name: value for name, value in word["parameters"].items() if name in started
    }
    assert {"epochs", "batchSize", "learningRate", "seed"} <= word["parameters"].keys()
    operating.until("no finalizer", lambda: not operating.get("trainingjob", "train")["metadata"].get("finalizers"))
    assert operating.all("services") == []
    (entry,) = operating.observations()
    assert entry["uid"] == done["metadata"]["uid"]


@pytest.mark.parametrize(
    ("nodes", "workload"),
    [
        (2, {"network": "mlp", "samples": 400}),
        (1, {"type": "Ingest", "dataset": "synthetic", "samples": 64, "ingest": {"batches": 2, "repetitions": 2}}),
    ],
    ids=["training on two nodes", "reading on one"],
)
def test_a_job_of_spark_is_started_and_recorded(
    operating: Operating, image: Callable[[str], str], nodes: int, workload: dict[str, Any]
) -> None:
    image("worker-spark")
    shape = {"nodes": nodes, "coresPerExecutor": "850m", "memoryPerExecutor": "1Gi"}
    parameters = {"epochs": 2, "batchSize": 32}
    operating.apply(job("spark", engine="Spark", workload=workload, parameters=parameters, resources={"spark": shape}))
    status = operating.until_state("spark", "Succeeded", "Failed")["status"]
    assert status["state"] == "Succeeded", status
    assert status["startedParameters"]["nodes"] == nodes
    assert (status["result"]["epochs"], len(operating.observations())) == (2, 1)
    operating.until("no helpers", lambda: not operating.all("services") and not operating.all("secrets"))


def test_what_only_the_operator_can_refuse_is_held_with_a_sentence_and_few_writes(operating: Operating) -> None:
    operating.apply(job("odd", workload={"network": "alexnet"}), job("wide", resources={"coresPerWorker": 64}))
    for name, sentence in (("odd", "there is no network alexnet"), ("wide", "but the largest node has")):
        operating.until_state(name, "Held", seconds=10)
        condition = operating.condition(name, "Admitted")
        assert condition["status"] == "False"
        assert sentence in condition["message"]
    time.sleep(5)  # what is known of jobs like it may be told once as well
    settled = len(operating.writes("trainingjobs"))
    time.sleep(12)  # longer than a resync
    assert len(operating.writes("trainingjobs")) == settled
    assert settled <= 8
    operating.apply(job("odd", workload={"network": "mlp", "samples": 100}, suspend=True))
    operating.until_state("odd", "Suspended", seconds=10)


def test_a_suspended_job_waits_and_goes_on_when_it_may(operating: Operating, busybox: str) -> None:
    operating.apply(shell_job("later", busybox, WORD, suspend=True))
    operating.until_state("later", "Suspended")
    assert operating.all("jobs") == []
    operating.apply(shell_job("later", busybox, WORD))
    operating.until_state("later", "Succeeded")


def test_a_running_job_that_is_suspended_is_taken_down_and_tried_again(operating: Operating, busybox: str) -> None:
    script = f"if test $COXSWAIN_ATTEMPT = 1; then {SLEEP}; fi; {WORD}"
    operating.apply(shell_job("pause", busybox, script))
    operating.until_state("pause", "Running")
    operating.apply(shell_job("pause", busybox, script, suspend=True))
    operating.until_state("pause", "Suspended")
    assert [pod for pod in operating.all("pods") if pod["status"]["phase"] == "Running"] == []
    operating.apply(shell_job("pause", busybox, script))
    done = operating.until_state("pause", "Succeeded")
    assert [attempt["reason"] for attempt in done["status"]["attempts"]] == ["Suspended", "Succeeded"]


def test_why_pods_do_not_start_is_told_in_the_clusters_own_words(operating: Operating, busybox: str) -> None:
    operating.apply(shell_job("lost-image", "localhost/nowhere/nothing:latest", "true"))
    condition = operating.until(
        "why it does not start",
        lambda: (found := operating.condition("lost-image", "Placed")) and "mage" in found["reason"] and found,
        seconds=60,
    )
    assert "localhost/nowhere/nothing" in condition["message"]
    operating.cluster.kubectl("create", "quota", "none", "--hard=pods=1", f"--namespace={operating.namespace}")
    operating.apply(shell_job("no-room", busybox, "true"))
    condition = operating.until(
        "the quota",
        lambda: (found := operating.condition("no-room", "Placed")) and "quota" in found["message"] and found,
        seconds=60,
    )
    assert "exceeded quota: none" in condition["message"]


def test_a_gang_that_does_not_start_in_time_goes_back_to_the_queue(operating: Operating) -> None:
    image = "localhost/nowhere/nothing:latest"
    operating.apply(shell_job("stuck", image, "true", startTimeoutSeconds=10))
    stuck = operating.until(
        "a second attempt",
        lambda: len((found := operating.get("trainingjob", "stuck"))["status"].get("attempts", [])) > 1 and found,
    )
    first = stuck["status"]["attempts"][0]
    assert first["reason"] == "StartTimeout"
    assert "did not all start within startTimeoutSeconds" in first["message"]


@pytest.mark.parametrize("what", ["pods", "jobs"])
def test_what_is_deleted_under_a_running_job_is_tried_again(operating: Operating, busybox: str, what: str) -> None:
    operating.apply(shell_job("robbed", busybox, f"if test $COXSWAIN_ATTEMPT = 1; then {SLEEP}; fi; {WORD}"))
    operating.until_state("robbed", "Running")
    (victim,) = operating.all(what)
    operating.delete(what, victim["metadata"]["name"], "--wait=false")
    done = operating.until_state("robbed", "Succeeded", "Failed")
    first, second = done["status"]["attempts"]
    assert first["reason"] in {"DeletionByPodGC", "DisruptionTarget", "Killed", "JobMissing", "ResultLost"}, first
    assert second["reason"] == "Succeeded"
    assert len(operating.observations()) == 1


def test_a_service_that_is_deleted_under_a_running_job_is_not_missed(operating: Operating, busybox: str) -> None:
    operating.apply(shell_job("pair", busybox, f"sleep 5; {WORD}", resources={"workers": 2}))
    operating.until_state("pair", "Running")
    operating.delete("service", "pair-1")
    done = operating.until_state("pair", "Succeeded", "Failed")["status"]
    assert [attempt["reason"] for attempt in done["attempts"]] == ["Succeeded"]
    assert len(operating.observations()) == 1


def test_what_happens_while_no_operator_runs_is_found_by_the_next(operating: Operating, busybox: str) -> None:
    once = f"if test $COXSWAIN_ATTEMPT = 1; then {SLEEP}; fi; {WORD}"
    scripts = {"robbed": once, "unwanted": SLEEP, "finished": f"sleep 5; {WORD}"}
    operating.apply(*(shell_job(name, busybox, script) for name, script in scripts.items()))
    for name in scripts:
        operating.until_state(name, "Running")
    with operating.without_operator():
        operating.apply(shell_job("waiting", busybox, WORD))
        operating.delete("job", "robbed-1")
        # It goes when somebody has looked whether it left a result.
        operating.delete("trainingjob", "unwanted", "--wait=false")
        operating.until("the end of one", lambda: operating.get("job", "finished-1")["status"].get("succeeded"))
    for name in ("robbed", "finished", "waiting"):
        operating.until_state(name, "Succeeded")
    operating.until("it is gone", lambda: "unwanted" not in {_name(each) for each in operating.all("trainingjobs")})
    attempts = operating.get("trainingjob", "robbed")["status"]["attempts"]
    assert [attempt["reason"] for attempt in attempts] == ["JobMissing", "Succeeded"]
    assert sorted(entry["job"] for entry in operating.observations()) == ["finished", "robbed", "waiting"]
    created = [entry["objectRef"]["name"] for entry in operating.writes("jobs", ("create",))]
    assert sorted(created) == ["finished-1", "robbed-1", "robbed-2", "unwanted-1", "waiting-1"]
    assert {_name(each) for each in operating.all("jobs")} <= {"finished-1", "robbed-2", "waiting-1"}


def _name(manifest: dict[str, Any]) -> str:
    name: str = manifest["metadata"]["name"]
    return name


def test_a_job_of_its_own_fault_is_not_tried_again(operating: Operating, busybox: str) -> None:
    hungry = "x=a; while true; do x=$x$x; done"
    operating.apply(
        shell_job("greedy", busybox, hungry), shell_job("wrong", busybox, "echo no such column >&2; exit 64")
    )
    greedy = operating.until_state("greedy", "Failed")["status"]
    assert [attempt["reason"] for attempt in greedy["attempts"]] == ["OutOfMemory"]
    wrong = operating.until_state("wrong", "Failed")["status"]
    assert len(wrong["attempts"]) == 1
    assert "no such column" in wrong["result"]["message"]


def test_a_job_can_be_deleted_at_any_stage_and_holds_nothing_afterwards(operating: Operating, busybox: str) -> None:
    operating.apply(
        shell_job("held", busybox, SLEEP, resources={"coresPerWorker": 64}),
        shell_job("waiting", busybox, SLEEP, suspend=True),
        shell_job("running", busybox, SLEEP, resources={"coresPerWorker": "1200m"}),
        shell_job("finished", busybox, WORD),
    )
    for name, state in (("held", "Held"), ("waiting", "Suspended"), ("running", "Running"), ("finished", "Succeeded")):
        operating.until_state(name, state)
        operating.delete("trainingjob", name, "--timeout=30s")
    operating.until("no Job is left", lambda: operating.all("jobs") == [])
    operating.apply(shell_job("after", busybox, WORD, resources={"coresPerWorker": "1200m"}))
    operating.until_state("after", "Succeeded")
    assert sorted(entry["job"] for entry in operating.observations()) == ["after", "finished"]


def test_a_finished_job_goes_when_its_time_is_over_and_its_result_stays(operating: Operating, busybox: str) -> None:
    operating.apply(shell_job("brief", busybox, WORD, ttlSecondsAfterFinished=1))
    operating.until("it is gone", lambda: operating.observations() and not operating.all("trainingjobs"))
    assert [entry["job"] for entry in operating.observations()] == ["brief"]


def test_a_job_that_takes_too_long_is_ended(operating: Operating, busybox: str) -> None:
    operating.apply(shell_job("long", busybox, SLEEP, activeDeadlineSeconds=3))
    failed = operating.until_state("long", "Failed")["status"]
    assert [attempt["reason"] for attempt in failed["attempts"]] == ["DeadlineExceeded"]


def test_a_job_that_is_to_stop_at_its_deadline_ends_with_the_best_it_has(operating: Operating) -> None:
    deadline = {"within": "30s", "enforce": "Stop"}
    endless = {"epochs": 100_000, "batchSize": 100}
    operating.apply(
        job("brief", workload=SMALL["workload"], parameters=endless, resources=HALF_A_CORE, deadline=deadline)
    )
    status = operating.until_state("brief", "Succeeded", "Failed")["status"]
    assert (status["state"], status["result"]["outcome"]) == ("Succeeded", "Stopped"), status
    assert 0 < status["result"]["epochs"] < 100_000
    assert 0 < status["result"]["accuracy"] <= 1
    assert len(status["attempts"]) == len(operating.observations()) == 1


def test_gpus_are_counted_and_asked_for(operating: Operating, busybox: str, gpus: int) -> None:
    two: dict[str, Any] = {"gpusPerWorker": 2}
    operating.apply(
        shell_job("first", busybox, f"sleep 3; {WORD}", resources=two),
        shell_job("second", busybox, WORD, resources=two),
        shell_job("many", busybox, WORD, resources={"gpusPerWorker": gpus + 1}),
    )
    operating.until_state("many", "Held")
    first = operating.until_state("first", "Succeeded")["status"]
    second = operating.until_state("second", "Succeeded")["status"]
    assert second["startTime"] >= first["completionTime"]
    (pod, *_) = operating.all("pods", "--selector=coxswain.dev/job=first")
    assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "2"
