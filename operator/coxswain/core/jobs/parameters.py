"""What a job runs with: the parameters that were asked for, overlaid with those that were steered."""

from collections.abc import Mapping
from typing import Any

from coxswain.core.api.job import JobSpec, SparkResources, Steered
from coxswain.core.manifests.environment import annotation

_OF_PARAMETERS = ("epochs", "batch_size", "learning_rate")
_OF_RESOURCES = ("workers", "cores_per_worker")
# By which variable a worker is told a parameter.
_VARIABLES = {
    "epochs": "COXSWAIN_EPOCHS",
    "batchSize": "COXSWAIN_BATCH_SIZE",
    "learningRate": "COXSWAIN_LEARNING_RATE",
    "optimizer": "COXSWAIN_OPTIMIZER",
    "schedule": "COXSWAIN_SCHEDULE",
    "seed": "COXSWAIN_SEED",
}
_OF_SPARK = ("nodes", "executors_per_node", "cores_per_executor")


def effective(spec: JobSpec) -> JobSpec:
    """The job as it would start now."""
    steered = spec.steered
    if steered is None:
        return spec
    resources = spec.resources.model_copy(update=_chosen(steered, _OF_RESOURCES))
    spark = _chosen(steered, _OF_SPARK)
    if spark:
        shape = resources.spark or SparkResources()
        resources = resources.model_copy(update={"spark": shape.model_copy(update=spark)})
    parameters = spec.parameters.model_copy(update=_chosen(steered, _OF_PARAMETERS))
    return spec.model_copy(update={"parameters": parameters, "resources": resources})


def as_started(spec: JobSpec, started: Mapping[str, Any]) -> JobSpec:
    """The job as it was started, whatever has been written into its spec since: what was fixed then stands."""
    fixed = {field: started[field] for field in asked_for(spec) if field in started}
    return effective(spec.model_copy(update={"steered": Steered.model_validate(fixed, strict=False)}))


def asked_for(spec: JobSpec) -> dict[str, float]:
    """The fields that can be steered, by their names in the API, as a spec has them."""
    parameters, resources = spec.parameters, spec.resources
    fields: dict[str, float] = {
        "epochs": parameters.epochs,
        "batchSize": parameters.batch_size,
        "learningRate": parameters.learning_rate,
    }
    if spec.engine == "Spark":
        shape = resources.spark or SparkResources()
        return fields | {
            "nodes": shape.nodes,
            "executorsPerNode": shape.executors_per_node,
            "coresPerExecutor": shape.cores_per_executor,
        }
    return fields | {"workers": resources.workers, "coresPerWorker": resources.cores_per_worker}


def steered_to(steered: Steered | None) -> dict[str, Any]:
    """What is steered, by the names of the API."""
    return steered.model_dump(by_alias=True, exclude_none=True) if steered else {}


def started_parameters(spec: JobSpec) -> dict[str, Any]:
    """What is fixed at the start, by the names of the API; `spec` is the effective one."""
    parameters = spec.parameters
    told: dict[str, Any] = {
        **asked_for(spec),
        "optimizer": parameters.optimizer,
        "schedule": parameters.schedule,
        "seed": parameters.seed,
    }
    if spec.engine != "Spark":
        told["processesPerWorker"] = spec.resources.processes_per_worker
    if parameters.extra:
        told["extra"] = [{"name": item.name, "value": item.value} for item in parameters.extra]
    return told


def parameters_told(spec: JobSpec, annotations: Mapping[str, str]) -> dict[str, Any]:
    """What a Job's pods are told to run with, by the annotations of its template; the rest is as the spec has it."""
    told = started_parameters(spec)
    kinds = {"epochs": int, "batchSize": int, "learningRate": float, "optimizer": str, "schedule": str, "seed": int}
    for field, kind in kinds.items():
        name = annotation(_VARIABLES[field])
        if name in annotations:
            told[field] = kind(annotations[name])
    return told


def _chosen(steered: Steered, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(steered, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
