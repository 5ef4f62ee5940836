"""A job's parameters as the variables that workers read; docs/worker-contract.md tells what each means.

Workers of this machine get them as they are. In a cluster they are annotations of the pod, and the variables refer to
those: a Job that waits suspended may still change its pods' annotations, but not their environment, so this is what
lets a waiting job be steered.
"""

import json

from coxswain.core.api.job import Ingest, JobSpec, SparkResources
from coxswain.core.api.values import render_cores

PREFIX = "COXSWAIN_"


def variables(spec: JobSpec) -> dict[str, str]:
    """Every parameter that a worker of this job is told, by the name of its variable; what is not set is left out."""
    workload, parameters = spec.workload, spec.parameters
    extra = {item.name: item.value for item in parameters.extra or ()}
    told: dict[str, object] = {
        "ENGINE": spec.engine,
        "WORKLOAD": workload.type,
        "NETWORK": workload.network,
        "DATASET": workload.dataset,
        "SAMPLES": workload.samples,
        "STRATEGY": workload.strategy,
        "EPOCHS": parameters.epochs,
        "BATCH_SIZE": parameters.batch_size,
        "LEARNING_RATE": parameters.learning_rate,
        "OPTIMIZER": parameters.optimizer,
        "SCHEDULE": parameters.schedule,
        "SEED": parameters.seed,
        "EXTRA": json.dumps(extra) if extra else None,
        "DATA_URL": spec.data.url if spec.data else None,
    }
    told |= _spark(spec) if spec.engine == "Spark" else _torch(spec)
    if workload.type == "Ingest":
        told |= _ingest(workload.ingest or Ingest())
    return {PREFIX + name: str(value) for name, value in told.items() if value is not None}


def _torch(spec: JobSpec) -> dict[str, object]:
    return {
        "WORKERS": spec.resources.workers,
        "PROCESSES_PER_WORKER": spec.resources.processes_per_worker,
        "CORES_PER_WORKER": render_cores(spec.resources.cores_per_worker),
    }


def _spark(spec: JobSpec) -> dict[str, object]:
    shape = spec.resources.spark or SparkResources()
    return {
        "NODES": shape.nodes,
        "EXECUTORS_PER_NODE": shape.executors_per_node,
        "CORES_PER_EXECUTOR": render_cores(shape.cores_per_executor),
        "MEMORY_PER_EXECUTOR": shape.memory_per_executor,
    }


def _ingest(ingest: Ingest) -> dict[str, object]:
    return {
        "INGEST_FORMAT": ingest.format,
        "INGEST_BATCHES": ingest.batches,
        "INGEST_REPETITIONS": ingest.repetitions,
        "INGEST_PARTITIONS": ingest.partitions,
        "INGEST_CACHE": str(ingest.cache).lower(),
    }


def annotation(variable: str) -> str:
    """The annotation that holds a variable's value: COXSWAIN_BATCH_SIZE is coxswain.dev/batch-size."""
    return "coxswain.dev/" + variable.removeprefix(PREFIX).lower().replace("_", "-")
