"""What a worker of this machine is told: the job's parameters as every worker gets them, and where its own files are.

The variables themselves are the worker's to name; see docs/worker-contract.md.
"""

import itertools
import os
import secrets
import socket
from dataclasses import replace
from pathlib import Path

from coxswain.core.api.job import Ingest, SparkResources
from coxswain.core.expand import PlannedJob
from coxswain.local.plan import Claims
from coxswain.worker.report import Settings

_LOOPBACK = "127.0.0.1"
# Below the range from which systems take the ports of outgoing connections: nobody gets one of these by chance.
_PORTS = itertools.cycle(range(20000 + os.getpid() % 100 * 100, 32000))


def job_settings(job: PlannedJob, attempt: int, claims: Claims, *, fresh: bool) -> Settings:
    """What all workers of an attempt are told.

    With `fresh`, every attempt has an output folder of its own and so starts from the beginning: in an experiment its
    duration is the measurement.
    """
    spec = job.spec
    workload, parameters, resources = spec.workload, spec.parameters, spec.resources
    spark, ingest = resources.spark or SparkResources(), workload.ingest or Ingest()
    data = output = None
    if spec.data is not None and spec.data.claim is not None:
        data = claims[spec.data.claim] / (spec.data.path or "")
    if spec.output is not None:
        output = claims[spec.output.claim] / (spec.output.path or "") / (f"attempt-{attempt}" if fresh else "")
    return Settings(
        job_uid=uid(job),
        attempt=attempt,
        engine=spec.engine,
        workload=workload.type,
        network=workload.network,
        dataset=workload.dataset,
        samples=workload.samples,
        strategy=workload.strategy,
        epochs=parameters.epochs,
        batch_size=parameters.batch_size,
        learning_rate=parameters.learning_rate,
        optimizer=parameters.optimizer,
        schedule=parameters.schedule,
        seed=parameters.seed,
        extra={item.name: item.value for item in parameters.extra or ()},
        workers=resources.workers,
        processes_per_worker=resources.processes_per_worker,
        cores_per_worker=resources.cores_per_worker,
        nodes=spark.nodes,
        executors_per_node=spark.executors_per_node,
        cores_per_executor=spark.cores_per_executor,
        memory_per_executor=spark.memory_per_executor,
        spark_secret=secrets.token_hex(32),
        rendezvous_host=_LOOPBACK,
        rendezvous_port=_free_port(),
        ingest_format=ingest.format,
        ingest_batches=ingest.batches,
        ingest_repetitions=ingest.repetitions,
        ingest_partitions=ingest.partitions,
        ingest_cache=ingest.cache,
        data_path=data,
        data_url=(spec.data.url if spec.data else None) or "",
        output_path=output,
        metrics_host=_LOOPBACK,
    )


def worker_environment(settings: Settings, worker: int, termination_log: Path) -> tuple[dict[str, str], int]:
    """The environment of one worker, and the port of its metrics."""
    own = replace(
        settings,
        worker=worker,
        pod_ip=f"127.0.0.{worker % 254 + 1}",  # so that the nodes of a Spark cluster are told apart
        metrics_port=_free_port(),
        termination_log=termination_log,
    )
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COXSWAIN_")}
    return {**inherited, **own.environment()}, own.metrics_port or 0


def uid(job: PlannedJob) -> str:
    """What stands for the UID that a cluster would give the job: the same for every attempt of the same job."""
    return f"{job.name}.{job.digest.removeprefix('sha256:')[:12]}"


def _free_port() -> int:
    """A port nobody listens on."""
    for port in _PORTS:
        with socket.socket() as probe:
            try:
                probe.bind((_LOOPBACK, port))
            except OSError:
                continue
            return port
    raise AssertionError("the ports repeat for ever")
