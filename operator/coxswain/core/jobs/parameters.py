"""What a job runs with: the parameters that were asked for, overlaid with those that were steered."""

from typing import Any

from coxswain.core.api.job import JobSpec, SparkResources, Steered

_OF_PARAMETERS = ("epochs", "batch_size", "learning_rate")
_OF_RESOURCES = ("workers", "cores_per_worker")
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


def started_parameters(spec: JobSpec) -> dict[str, Any]:
    """What is fixed at the start, by the names of the API; `spec` is the effective one."""
    parameters, resources = spec.parameters, spec.resources
    told: dict[str, Any] = {
        "epochs": parameters.epochs,
        "batchSize": parameters.batch_size,
        "learningRate": parameters.learning_rate,
        "optimizer": parameters.optimizer,
        "schedule": parameters.schedule,
        "seed": parameters.seed,
    }
    if spec.engine == "Spark":
        shape = resources.spark or SparkResources()
        told |= {
            "nodes": shape.nodes,
            "executorsPerNode": shape.executors_per_node,
            "coresPerExecutor": shape.cores_per_executor,
        }
    else:
        told |= {
            "workers": resources.workers,
            "processesPerWorker": resources.processes_per_worker,
            "coresPerWorker": resources.cores_per_worker,
        }
    if parameters.extra:
        told["extra"] = [{"name": item.name, "value": item.value} for item in parameters.extra]
    return told


def _chosen(steered: Steered, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(steered, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
