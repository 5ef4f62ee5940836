from pathlib import Path

from coxswain.local.environment import job_settings, worker_environment
from coxswain.worker.report import Settings
from tests.unit.local.conftest import Manifest, job, runs_of


def settings_of(spec: Manifest, *, fresh: bool = True, worker: int = 0) -> Settings:
    manifest = job()
    manifest["spec"] = spec
    [planned] = runs_of(manifest)[0].jobs
    claims = {"images": Path("/data"), "models": Path("/models")}
    told, _ = worker_environment(job_settings(planned, 2, claims, fresh=fresh), worker, Path("/words/0"))
    return Settings.from_environment(told)


def test_a_worker_is_told_everything_the_manifest_says() -> None:
    found = settings_of(
        {
            "workload": {"network": "mlp", "dataset": "mnist", "samples": 500, "strategy": "FederatedAveraging"},
            "parameters": {
                "epochs": 3,
                "batchSize": 32,
                "learningRate": 0.5,
                "optimizer": "SGD",
                "schedule": "Cosine",
                "seed": 9,
                "extra": [{"name": "dropout", "value": "0.2"}],
            },
            "resources": {"workers": 2, "processesPerWorker": 3, "coresPerWorker": "1500m"},
            "data": {"claim": "images", "path": "mnist"},
            "output": {"claim": "models", "path": "mine"},
        },
        worker=1,
    )
    assert (found.network, found.dataset, found.samples, found.strategy) == ("mlp", "mnist", 500, "FederatedAveraging")
    assert (found.epochs, found.batch_size, found.learning_rate) == (3, 32, 0.5)
    assert (found.optimizer, found.schedule, found.seed, found.extra) == ("SGD", "Cosine", 9, {"dropout": "0.2"})
    assert (found.workers, found.processes_per_worker, found.cores_per_worker, found.worker) == (2, 3, 1.5, 1)
    assert found.data_path == Path("/data/mnist")
    assert found.output_path == Path("/models/mine/attempt-2")
    assert (found.attempt, found.termination_log) == (2, Path("/words/0"))
    assert found.metrics_host == found.rendezvous_host == "127.0.0.1"
    assert found.metrics_port != found.rendezvous_port


def test_a_job_by_itself_goes_on_from_its_checkpoint() -> None:
    output = {"claim": "models", "path": "mine"}
    assert settings_of({"output": output}, fresh=False).output_path == Path("/models/mine")


def test_the_nodes_of_a_spark_cluster_share_a_secret_and_have_addresses_of_their_own() -> None:
    spec = {
        "engine": "Spark",
        "workload": {"type": "Ingest", "ingest": {"format": "Parquet", "batches": 4, "repetitions": 2, "cache": True}},
        "resources": {"spark": {"nodes": 2, "executorsPerNode": 3, "coresPerExecutor": "500m"}},
        "data": {"url": "s3://bucket/images"},
    }
    first, second = settings_of(spec), settings_of(spec, worker=1)
    assert (first.nodes, first.executors_per_node, first.cores_per_executor) == (2, 3, 0.5)
    assert (first.ingest_format, first.ingest_batches, first.ingest_cache) == ("Parquet", 4, True)
    assert (first.planned_epochs, first.data_url) == (2, "s3://bucket/images")
    assert first.spark_secret
    assert first.spark_secret != second.spark_secret  # these are two attempts
    assert first.pod_ip != second.pod_ip


def test_every_attempt_has_ports_of_its_own() -> None:
    assert settings_of({}).rendezvous_port != settings_of({}).rendezvous_port


def test_the_uid_is_that_of_the_job_whatever_the_attempt() -> None:
    manifest = job()
    planned = runs_of(manifest)[0].jobs[0]
    uids = {job_settings(planned, attempt, {}, fresh=True).job_uid for attempt in (1, 2)}
    assert len(uids) == 1
    manifest["spec"]["parameters"]["epochs"] = 5
    assert job_settings(runs_of(manifest)[0].jobs[0], 1, {}, fresh=True).job_uid not in uids
