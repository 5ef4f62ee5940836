"""Steering on a real cluster: what a family has taught decides what its waiting jobs run with."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.helm import Release
from tests.cluster.kube import KubectlError
from tests.cluster.operating import API_VERSION, Manifest, Operating, job

# A worker whose epochs take half a second each and whose accuracy grows with them: it measures and says so as any does.
SCRIPT = """
trap 'exit 143' TERM
now() { cut -d' ' -f1 /proc/uptime; }
began=$(date -u +%Y-%m-%dT%H:%M:%SZ); start=$(now); n=$COXSWAIN_EPOCHS; i=1; e=''; s=''; a=''
sleep 1
while [ $i -le $n ]; do
  before=$(now); sleep 0.5; took=$(echo $before $(now) | awk '{print $2 - $1}')
  e="$e,$i"; s="$s,$took"; a="$a,0.$((900 - 400 / i))"; i=$((i + 1))
done
total=$(echo $start $(now) | awk '{print $2 - $1}')
printf '{"state":"succeeded","jobUid":"%s","epochs":%s,"seconds":{"total":%s,"startup":1},"startedAt":"%s",\
"result":{"accuracy":0.8},"curve":{"epoch":[%s],"seconds":[%s],"accuracy":[%s]}}' \
"$COXSWAIN_JOB_UID" "$n" "$total" "$began" "${e#,}" "${s#,}" "${a#,}" > /dev/termination-log
"""
STEERING = "fieldManager=coxswain-steering"
ADJUST = [{"field": "epochs", "min": 1, "max": 60}]


def template(image: str) -> Manifest:
    return {
        "workload": {"type": "Custom", "image": image, "command": ["sh", "-c", SCRIPT]},
        "resources": {"coresPerWorker": "100m", "memoryPerWorker": "32Mi"},
    }


def timed(name: str, image: str, within: str, /, **spec: Any) -> Manifest:
    asked = {"parameters": {"epochs": 60}, "adjust": ADJUST, "deadline": {"within": within}}
    return job(name, **template(image), **{**asked, **spec})


@pytest.fixture(scope="module")
def taught(release: Release, busybox: str) -> Iterator[Operating]:
    """The operator, once six runs have taught it how long an epoch takes."""
    factors = [{"name": "epochs", "field": "parameters.epochs", "levels": [1, 4]}]
    design = {"type": "FullFactorial", "replications": 3}
    spec = {"factors": factors, "design": design, "template": {"spec": template(busybox)}, "parallelism": 1}
    with release.cluster.namespace() as namespace:
        operating = Operating(release, namespace)
        metadata = {"name": "lessons"}
        operating.apply({"apiVersion": API_VERSION, "kind": "TrainingExperiment", "metadata": metadata, "spec": spec})
        operating.until_state("lessons", "Succeeded", kind="trainingexperiment")
        # A job that does not start shows when the models are ready.
        operating.apply(timed("witness", busybox, "10m", suspend=True))
        learned = "forecast from 6 finished runs like it."
        operating.until("the models", lambda: operating.condition("witness", "ModelReady").get("message") == learned)
        yield operating


def test_a_waiting_job_is_rewritten_so_that_it_is_done_in_time(taught: Operating, busybox: str) -> None:
    taught.apply(timed("steered", busybox, "25s"))
    done = taught.until_state("steered", "Succeeded", "Failed")
    spec, status = done["spec"], done["status"]
    assert spec["parameters"]["epochs"] == 60
    chosen = spec["steered"]["epochs"]
    assert 1 < chosen < 50, json.dumps([status, taught.get("trainingjob", "witness")["status"]], indent=1)
    assert status["startedParameters"]["epochs"] == status["result"]["epochs"] == chosen
    # Each rewrite is recorded, and once. There is one, unless somebody else changed the job as it was to start: then it
    # is planned again, with less time.
    adjustments = status["adjustments"]
    writes = taught.writes("trainingjobs", ("patch",))
    rewrites = [each for each in writes if each["objectRef"]["name"] == "steered" and STEERING in each["requestURI"]]
    assert len(rewrites) == len(adjustments)
    assert {each["field"] for each in adjustments} == {"epochs"}
    steps = [adjustments[0]["from"], *(each["to"] for each in adjustments)]
    assert steps[0] == 60
    assert steps[-1] == chosen
    assert steps == sorted(set(steps), reverse=True) == [each["from"] for each in adjustments] + [chosen]
    assert status["columns"]["adjusted"] == f"epochs={chosen}"
    # One in twenty may be late at the confidence of 95 %, so what is promised is what is held to.
    assert adjustments[-1]["finishAfter"] <= status["deadlineTime"]


def test_a_steered_job_whose_pod_is_lost_goes_on_with_what_it_was_given(taught: Operating, busybox: str) -> None:
    taught.apply(timed("unlucky", busybox, "25s"))
    chosen = taught.until_state("unlucky", "Running")["spec"]["steered"]["epochs"]
    (pod,) = taught.all("pods", "--selector=coxswain.dev/job=unlucky")
    taught.delete("pod", pod["metadata"]["name"], "--grace-period=0", "--force")
    # The next attempt comes too late for its deadline, and even the least would: nothing of it may change, and it runs.
    done = taught.until_state("unlucky", "Succeeded", "Failed")
    status = done["status"]
    assert (status["state"], len(status["attempts"])) == ("Succeeded", 2), status
    assert done["spec"]["steered"]["epochs"] == status["startedParameters"]["epochs"] == chosen
    assert status["result"]["epochs"] == chosen
    assert taught.condition("unlucky", "DeadlineAttainable")["status"] == "False"


def test_applying_a_manifest_again_neither_conflicts_nor_reverts(taught: Operating, busybox: str) -> None:
    manifest = timed("again", busybox, "5m", suspend=True, steered=None)
    del manifest["spec"]["steered"]
    taught.apply(manifest)
    # As the operator would write it while the job waits; it is suspended, so that nothing starts meanwhile.
    patch = {"apiVersion": API_VERSION, "kind": "TrainingJob", "metadata": {"name": "again"}}
    options = ("apply", "--server-side", f"--namespace={taught.namespace}", "--filename=-")
    text = json.dumps({**patch, "spec": {"steered": {"epochs": 7}}})
    taught.cluster.kubectl(*options, "--field-manager=coxswain-steering", stdin=text)
    for way in (
        (),
        ("--server-side", "--field-manager=gitops", "--force-conflicts"),
        ("--server-side", "--field-manager=gitops"),
    ):
        given = ("apply", *way, f"--namespace={taught.namespace}", "--filename=-")
        taught.cluster.kubectl(*given, stdin=json.dumps(manifest))
        assert taught.get("trainingjob", "again")["spec"]["steered"] == {"epochs": 7}
    outside = json.dumps({**patch, "spec": {"steered": {"epochs": 61}}})
    with pytest.raises(KubectlError, match="within the bounds of adjust"):
        taught.cluster.kubectl(*options, "--field-manager=coxswain-steering", stdin=outside)


def test_a_job_that_waits_in_kueue_is_steered_until_kueue_starts_it(taught: Operating, busybox: str) -> None:
    manifest = timed("queued", busybox, "40s")
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    taught.apply(manifest)

    def told() -> int:
        found = [each["spec"]["template"] for each in taught.all("jobs") if each["metadata"]["name"] == "queued-1"]
        return int(found[0]["metadata"]["annotations"]["coxswain.dev/epochs"]) if found else 60

    taught.until("pods that are told to do less", lambda: told() < 60)
    waiting = taught.get("trainingjob", "queued")
    assert (waiting["spec"]["steered"]["epochs"], waiting["status"]["state"]) == (told(), "Pending")
    assert taught.condition("queued", "Admitted")["reason"] == "WaitsInKueue"
    assert taught.all("pods", "--selector=coxswain.dev/job=queued") == []
    # What Kueue does when there is room.
    patch = json.dumps({"spec": {"suspend": False}})
    taught.cluster.kubectl(
        "patch", "job", "queued-1", f"--namespace={taught.namespace}", "--type=merge", f"--patch={patch}"
    )
    status = taught.until_state("queued", "Succeeded", "Failed")["status"]
    assert status["state"] == "Succeeded", status
    assert status["startedParameters"]["epochs"] == status["result"]["epochs"] == told()
    assert status["adjustments"][-1]["to"] == told()
    (job,) = [each for each in taught.writes("jobs", ("create",)) if each["objectRef"]["name"].startswith("queued")]
    assert job["objectRef"]["name"] == "queued-1"


def test_a_dry_run_says_what_it_would_do_and_does_not(taught: Operating, busybox: str) -> None:
    taught.apply(timed("dry", busybox, "15s", steering={"mode": "DryRun"}, parameters={"epochs": 40}))
    told = taught.until("what it would do", lambda: taught.condition("dry", "Steered"))
    assert (told["status"], told["reason"]) == ("False", "DryRun")
    assert told["message"].startswith("it would change epochs 40 → ")
    assert "steered" not in taught.get("trainingjob", "dry")["spec"]
    taught.delete("trainingjob", "dry", "--wait=false")


def test_a_job_that_cannot_make_it_is_held_or_fails_if_it_says_so(taught: Operating, busybox: str) -> None:
    hopeless = {"adjust": [{"field": "epochs", "min": 40, "max": 60}]}
    taught.apply(
        timed("held", busybox, "10s", steering={"whenInfeasible": "Hold"}, **hopeless),
        timed("failed", busybox, "10s", steering={"whenInfeasible": "Fail"}, **hopeless),
    )
    taught.until_state("held", "Held")
    assert taught.condition("held", "Admitted")["reason"] == "Infeasible"
    failed = taught.until_state("failed", "Failed")["status"]
    assert "attempts" not in failed
    assert "cannot meet its deadline" in taught.condition("failed", "Failed")["message"]
