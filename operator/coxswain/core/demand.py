"""What the pods of a job ask of their nodes."""

from dataclasses import dataclass

from coxswain.core.api.job import JobSpec, SparkResources
from coxswain.core.cost import Reserved

# Spark keeps a worker and, on the first node, a master and a driver beside the executors.
_SPARK_OVERHEAD_BYTES = 2**30
_GIB = 2**30


@dataclass(frozen=True)
class Demand:
    """So many pods, each with so many cores, bytes of memory and GPUs."""

    pods: int
    cores: float
    memory: int
    gpus: int

    @property
    def all_cores(self) -> float:
        """The cores of all pods together."""
        return self.pods * self.cores

    @property
    def all_gpus(self) -> int:
        """The GPUs of all pods together."""
        return self.pods * self.gpus

    @property
    def reserved(self) -> Reserved:
        """The same as what is paid for."""
        return Reserved(self.cores, self.memory / _GIB, self.gpus, self.pods)


def demand_of(spec: JobSpec) -> Demand:
    """What a job's pods ask for; `spec` is the effective one."""
    resources = spec.resources
    if spec.engine == "Spark":
        shape = resources.spark or SparkResources()
        cores = shape.cores_per_executor * shape.executors_per_node
        memory = shape.memory_per_executor * shape.executors_per_node + _SPARK_OVERHEAD_BYTES
        return Demand(shape.nodes, cores, memory, resources.gpus_per_worker)
    return Demand(resources.workers, resources.cores_per_worker, resources.memory_per_worker, resources.gpus_per_worker)
