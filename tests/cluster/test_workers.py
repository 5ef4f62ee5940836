"""Workers in pods: real training and reading, applied as the operator will, to the last word of each pod."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster.kube import Cluster
from tests.cluster.localcluster import places
from tests.cluster.training import Training

Train = Callable[..., Training]

# An epoch is a blink with half a core, and all of them take long enough to be seen from outside.
WORKLOAD = {"network": "mlp", "dataset": "digits", "samples": 400}
QUICK = {"epochs": 200, "batchSize": 40}
# Processes that wait for each other take longer for each.
TOGETHER = {**QUICK, "epochs": 60}
HALF_A_CORE = {"coresPerWorker": "500m", "memoryPerWorker": "1Gi"}
# Two of them fit on a node of two cores, and Java starts in half the time.
MOST_OF_A_CORE = {"coresPerWorker": "900m", "memoryPerWorker": "1Gi"}
MOST_OF_A_CORE_OF_SPARK = {"coresPerExecutor": "900m", "memoryPerExecutor": "1Gi"}


@pytest.fixture
def train(crds: Cluster, namespace: str, image: Callable[[str], str]) -> Train:
    """Create a TrainingJob and start its first attempt."""
    numbers = itertools.count(1)

    def start(worker: str = "worker-torch", **spec: Any) -> Training:
        training = Training(crds, namespace, image(worker), f"job-{next(numbers)}", spec)
        training.create()
        training.start()
        return training

    return start


@pytest.fixture
def spark(train: Train) -> Train:
    """Create a TrainingJob for nodes of almost a core and start its first attempt."""

    def start(nodes: int, **spec: Any) -> Training:
        return train(
            "worker-spark", engine="Spark", resources={"spark": {"nodes": nodes, **MOST_OF_A_CORE_OF_SPARK}}, **spec
        )

    return start


@pytest.mark.parametrize(
    ("pods", "processes"),
    [(1, 1), pytest.param(1, 2, marks=pytest.mark.long), pytest.param(2, 1, marks=pytest.mark.long), (2, 2)],
)
def test_torch_trains_in_pods_and_processes(train: Train, pods: int, processes: int) -> None:
    shape = {"workers": pods, "processesPerWorker": processes}
    parameters = QUICK if pods * processes == 1 else TOGETHER
    training = train(workload=WORKLOAD, parameters=parameters, resources={**MOST_OF_A_CORE, **shape})

    metrics = training.scrape()
    training.wait("Complete")

    result = training.result()
    assert result["state"] == "succeeded"
    assert result["epochs"] == parameters["epochs"]
    assert result["curve"]["epoch"][-1] == parameters["epochs"]
    assert {name: result["parameters"][name] for name in (*parameters, *shape)} == {**parameters, **shape}
    assert f'job_uid="{result["jobUid"]}"' in metrics
    assert [word["terminated"]["exitCode"] for word in training.last_words()] == [0] * pods


@pytest.mark.long
@pytest.mark.parametrize("nodes", [1, 2])
def test_spark_trains_on_nodes(spark: Train, nodes: int) -> None:
    parameters = QUICK if nodes == 1 else TOGETHER
    training = spark(nodes, workload=WORKLOAD, parameters=parameters)

    metrics = training.scrape()
    training.wait("Complete")

    result = training.result()
    assert (result["state"], result["epochs"]) == ("succeeded", parameters["epochs"])
    assert result["distribution"] == ("MultiWorker" if nodes > 1 else "OneDevice")
    assert (result["parameters"]["nodes"], result["parameters"]["coresPerExecutor"]) == (nodes, 0.9)
    assert f'job_uid="{result["jobUid"]}"' in metrics


@pytest.mark.long
@pytest.mark.parametrize("nodes", [1, 2])
def test_spark_reads_on_nodes(spark: Train, nodes: int) -> None:
    ingest = {"format": "TFRecord", "batches": 2, "repetitions": 50, "partitions": 2}
    workload = {"type": "Ingest", "dataset": "synthetic", "samples": 64, "ingest": ingest}
    training = spark(nodes, workload=workload, parameters={"batchSize": 16})

    metrics = training.scrape()
    training.wait("Complete")

    result = training.result()
    assert (result["state"], result["epochs"]) == ("succeeded", 50)
    assert (result["imagesWritten"], result["filesWritten"], result["imagesPerRepetition"]) == (64, 2, 32)
    assert result["samplesPerSecond"] > 0
    assert f'job_uid="{result["jobUid"]}"' in metrics


def test_a_script_of_the_user_s_own_reports_like_any_worker(train: Train, image: Callable[[str], str]) -> None:
    workload = {"type": "Custom", "image": image("custom")}
    parameters = {"epochs": 10_000, "batchSize": 10, "extra": [{"name": "slope", "value": "3"}]}
    training = train("custom", workload=workload, parameters=parameters, resources=HALF_A_CORE)

    metrics = training.scrape()
    training.wait("Complete")

    result = training.result()
    assert (result["state"], result["epochs"]) == ("succeeded", 10_000)
    assert result["result"]["accuracy"] > 0.9
    assert f'job_uid="{result["jobUid"]}"' in metrics


@pytest.fixture
def claim(crds: Cluster, namespace: str) -> Iterator[str]:
    """A claim that workers can write to: on the local cluster a folder of the node, else what the cluster gives."""
    name = "models"
    request = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    if crds.is_local:
        folder = places.STATE / "volumes" / namespace
        folder.mkdir(parents=True)
        folder.chmod(0o777)  # a volume on a node's own folder is root's, whatever group a pod asks for
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": namespace},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": "",
                "hostPath": {"path": str(folder)},
            },
        }
        crds.create(volume, namespace=namespace)
        request |= {"volumeName": namespace, "storageClassName": ""}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": request}
    crds.create(claim, namespace=namespace)
    yield name
    if crds.is_local:
        crds.kubectl("delete", "persistentvolume", namespace, "--wait=false")


def test_a_killed_job_goes_on_from_its_checkpoint_until_it_is_stopped(train: Train, claim: str, crds: Cluster) -> None:
    training = train(
        workload=WORKLOAD,
        parameters={"epochs": 100_000, "batchSize": 10},  # it does not end by itself, however fast the machine is
        resources=HALF_A_CORE,
        output={"claim": claim, "path": "mine"},
    )
    training.scrape(epochs=2)
    victim = training.pods()[0]["metadata"]["name"]
    crds.kubectl("delete", "pod", victim, "--force", "--grace-period=0", f"--namespace={training.namespace}")
    # The worker may have had the time to leave politely before its pod was gone, or not.
    training.wait("Failed", "Complete")

    training.start(number=2)
    training.scrape(epochs=3, number=2)
    successor = training.pods(number=2)[0]["metadata"]["name"]
    crds.kubectl("exec", successor, f"--namespace={training.namespace}", "--", "sh", "-c", "kill 1")
    training.wait("Complete", number=2)

    result = training.result(number=2)
    assert result["state"] == "stopped"
    assert result["epochs"] >= result["resumedAfterEpoch"] >= 2
    assert result["result"] == result["best"]


def test_a_bad_parameter_is_named_in_the_termination_message(train: Train) -> None:
    training = train(workload={**WORKLOAD, "network": "perceptron"}, parameters=QUICK, resources=HALF_A_CORE)

    training.wait("Failed")

    result = training.result()
    assert (result["state"], result["reason"]) == ("failed", "BadParameter")
    assert "perceptron" in result["message"]
    assert training.last_words()[0]["terminated"]["exitCode"] == 64


def test_a_job_over_its_memory_limit_is_known_by_the_container_s_own_reason(train: Train) -> None:
    training = train(workload=WORKLOAD, parameters=QUICK, resources={**HALF_A_CORE, "memoryPerWorker": "64Mi"})

    training.wait("Failed")

    assert training.last_words()[0]["terminated"]["reason"] == "OOMKilled"
