"""How large a job's cluster is, and Spark's settings for one of that size.

Executors fill their nodes exactly, so that every node has the same number of them. A slot is what runs one task at a
time: a core, or a fraction of one. Of an executor's memory one half is the heap of its JVM, the other is left to its
Python processes, which do the work.
"""

import math
from dataclasses import dataclass
from pathlib import Path

from coxswain.worker.report import Failure, Reason, Settings

MIB = 2**20
_LEAST_HEAP = 480
"""In MiB. Spark refuses less than 450, of which the garbage collector keeps some for itself."""

# JVMs only coordinate here: they should start quickly and stay small, not become fast after minutes.
JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
_DRIVER_HEAP = 512


@dataclass(frozen=True)
class Shape:
    """The size of a cluster."""

    nodes: int
    executors_per_node: int
    cores_per_executor: float
    heap: int
    """Of an executor, in MiB."""

    @classmethod
    def from_settings(cls, settings: Settings) -> "Shape":
        """The cluster a job asks for; too little memory is refused before anything starts."""
        heap = settings.memory_per_executor // 2 // MIB
        if heap < _LEAST_HEAP:
            raise Failure(
                Reason.BAD_PARAMETER,
                f"memoryPerExecutor is {settings.memory_per_executor // MIB}Mi, but a Spark executor needs at least "
                f"{2 * _LEAST_HEAP}Mi, one half for its JVM and one for its Python processes.",
            )
        return cls(settings.nodes, settings.executors_per_node, settings.cores_per_executor, heap)

    @property
    def executors(self) -> int:
        """All executors."""
        return self.nodes * self.executors_per_node

    @property
    def slots_per_executor(self) -> int:
        """How many tasks an executor runs at a time."""
        return math.ceil(self.cores_per_executor)

    @property
    def slots_per_node(self) -> int:
        """How many tasks a node runs at a time."""
        return self.executors_per_node * self.slots_per_executor

    @property
    def heap_per_node(self) -> int:
        """In MiB, of all executors of a node together."""
        return self.executors_per_node * self.heap


def configuration(shape: Shape, *, address: str, secret: str, folder: Path, slots_per_task: int) -> dict[str, str]:
    """Spark's settings for the Master, the Workers, the driver and the executors of such a cluster."""
    return {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secret,
        "spark.master.rest.enabled": "false",  # it knows no authentication
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        "spark.driver.memory": f"{_DRIVER_HEAP}m",
        "spark.driver.extraJavaOptions": JVM_OPTIONS,
        "spark.executor.memory": f"{shape.heap}m",
        "spark.executor.cores": str(shape.slots_per_executor),
        "spark.executor.extraJavaOptions": JVM_OPTIONS,
        "spark.cores.max": str(shape.nodes * shape.slots_per_node),
        "spark.task.cpus": str(slots_per_task),
        # A failure is reported, not tried again in silence: what is measured here is one attempt.
        "spark.task.maxFailures": "1",
        "spark.stage.maxConsecutiveAttempts": "1",
        # Where a task should run is where it runs: only there its data are.
        "spark.locality.wait": "1h",
    }
