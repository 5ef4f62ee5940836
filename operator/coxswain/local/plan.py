"""What of a manifest can be run on this machine, and what it asks for in vain.

What cannot be run is refused before anything starts. What has no meaning without a cluster is left alone and said, so
that nobody relies on it.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from coxswain.core.api.experiment import ExperimentSpec
from coxswain.core.api.job import JobSpec, SparkResources
from coxswain.core.errors import InputError
from coxswain.core.expand import PlannedRun
from coxswain.local.cores import Cores

Claims = Mapping[str, Path]
"""The folders of this machine that stand for the claims of a cluster."""

# Fields that only a cluster's scheduler and its queue understand.
_CLUSTER_ONLY = {
    "queue_name": "queueName",
    "priority": "priority",
    "start_timeout_seconds": "startTimeoutSeconds",
    "node_selector": "nodeSelector",
    "tolerations": "tolerations",
    "priority_class_name": "priorityClassName",
    "image_pull_secrets": "imagePullSecrets",
    "ttl_seconds_after_finished": "ttlSecondsAfterFinished",
}


def command_of(spec: JobSpec) -> list[str]:
    """The program of a worker."""
    if spec.workload.command is not None:
        return list(spec.workload.command)
    return [sys.executable, "-m", "coxswain.worker"]


def cores_of(spec: JobSpec) -> list[float]:
    """The cores of each worker, which with engine Spark is a node."""
    if spec.engine == "Spark":
        spark = spec.resources.spark or SparkResources()
        return [spark.executors_per_node * spark.cores_per_executor] * spark.nodes
    return [spec.resources.cores_per_worker] * spec.resources.workers


def cores_of_run(run: PlannedRun) -> list[float]:
    """The cores of each worker of each job of a run, which all start at the same time."""
    return [cores for job in run.jobs for cores in cores_of(job.spec)]


def check(runs: Sequence[PlannedRun], cores: Sequence[int], claims: Claims) -> None:
    """Refuse what cannot be run here.

    Raises:
        InputError: in one sentence that says what to change.
    """
    for run in runs:
        in_the_way = obstacle(run, cores)
        if in_the_way is not None:
            raise InputError(f"run {run.name} {in_the_way}; ask for fewer workers, cores or jobs at a time.")
        for job in run.jobs:
            _check_job(job.spec, claims)


def obstacle(run: PlannedRun, cores: Sequence[int]) -> str | None:
    """Why a machine with these cores cannot hold a run; None where it can."""
    wanted = cores_of_run(run)
    if Cores(cores).take(wanted) is not None:
        return None
    return f"asks for {_told_cores(wanted)}, but this machine has {len(cores)}"


def _check_job(spec: JobSpec, claims: Claims) -> None:
    if spec.suspend:
        raise InputError("suspend is true, so nothing may be started; set it to false.")
    if spec.engine == "Spark" and not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise InputError("engine Spark needs Java, which is not here; install a Java 17 runtime.")
    if spec.workload.type == "Custom" and spec.workload.command is None:
        raise InputError("a workload of type Custom runs here without its image; give the command that it would run.")
    for field, place in (("data", spec.data), ("output", spec.output)):
        if place is not None and place.claim is not None and place.claim not in claims:
            raise InputError(f"{field}.claim {place.claim} has no folder here; give --claim {place.claim}=DIR.")


def in_vain(spec: JobSpec, experiment: ExperimentSpec | None = None) -> Iterator[str]:
    """A sentence for everything that is asked for but has no meaning here."""
    ignored = [name for field, name in _CLUSTER_ONLY.items() if field in spec.model_fields_set]
    if experiment is not None and experiment.budget is not None:
        ignored.append("budget")
    if ignored:
        yield f"Without a cluster, these fields are not used: {', '.join(ignored)}."
    if "memory_per_worker" in spec.resources.model_fields_set and spec.engine == "Torch":
        yield "memoryPerWorker is not a limit here: workers may use all memory of this machine."
    if spec.resources.gpus_per_worker:
        yield "gpusPerWorker does not divide the GPUs here: every worker sees all of them."
    if spec.workload.type == "Custom":
        yield "The image is not used here: the command runs on this machine as it is."


def fractions(runs: Sequence[PlannedRun]) -> Iterator[str]:
    """What to know where workers ask for a part of a core."""
    if any(cores % 1 for run in runs for cores in cores_of_run(run)):
        yield (
            "A part of a core is shared but not capped here: a worker alone on its core may use all of it. "
            "Only a cluster holds it to its part."
        )


def _told_cores(wanted: Sequence[float]) -> str:
    if len(wanted) == 1:
        return f"{wanted[0]:g} cores"
    return f"{len(wanted)} workers of {max(wanted):g} cores each"
