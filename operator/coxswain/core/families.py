"""Families: which jobs can learn from each other, and in what the jobs of one family differ.

Jobs of one family share a model. They run the same thing on the same kind of node in one namespace; what is left to
differ, the parameters and resources, is what the family's model has as its inputs. Nothing that a person in another
namespace records can reach this one's forecasts.
"""

import hashlib
import json
from dataclasses import astuple, dataclass
from functools import cached_property
from textwrap import shorten

from coxswain.core.api.fields import leaves, level_of
from coxswain.core.api.job import Ingest, JobSpec, SparkResources
from coxswain.core.factors import Level

# What makes the family, and the seed, which is chance: everything else may tell one job of a family from another.
_OF_THE_FAMILY = {"workload.type", "workload.network", "workload.dataset", "workload.image", "workload.command"}
_CHANCE = {"parameters.seed"}
# Spark brings nodes and executors of its own shape; these then say nothing.
_TORCH_ONLY = {f"resources.{name}" for name in ("workers", "processesPerWorker", "coresPerWorker", "memoryPerWorker")}
_KEY_LENGTH = 16


@dataclass(frozen=True)
class Family:
    """What the jobs of one family have in common."""

    namespace: str
    engine: str
    workload: str
    """The type of the workload: Train, Ingest or Custom."""
    network: str
    dataset: str
    """The data set, and where it is read from if the job says so: a folder of images is told by its place alone."""
    image: str
    """The image that the job asks for; empty for the one that Coxswain was installed with."""
    command: tuple[str, ...]
    node_type: str
    """The type of node, as the cloud calls it; empty where nodes have none."""

    @cached_property
    def key(self) -> str:
        """A short hash that names the family for good and fits into a label."""
        return hashlib.sha256(json.dumps(astuple(self)).encode()).hexdigest()[:_KEY_LENGTH]

    @property
    def title(self) -> str:
        """What people call it."""
        what = {
            "Train": f"{self.network} on {self.dataset}",
            "Ingest": f"ingest of {self.dataset}",
            "Custom": shorten(" ".join((self.image, *self.command)), 60, placeholder=" …"),
        }.get(self.workload, self.workload)
        where = f", {self.node_type}" if self.node_type else ""
        return f"{what} ({self.engine}{where})"


def family_of(namespace: str, spec: JobSpec, node_type: str) -> Family:
    """The family of a job that runs, or would run, on nodes of a type."""
    workload = spec.workload
    return Family(
        namespace=namespace,
        engine=spec.engine,
        workload=workload.type,
        network=workload.network,
        dataset=_dataset(spec),
        image=workload.image or "",
        command=workload.command or (),
        node_type=node_type,
    )


def fields_of(spec: JobSpec) -> dict[str, Level]:
    """In what a job may differ from others of its family, by short names such as `batchSize`, `spark.nodes`, `extra.x`.

    The spec is that of the job as it runs, with what was steered in the place of what was asked for. Memory is in GiB.
    A field that is left out and has no default, such as `samples`, is not there.
    """
    workload, resources = spec.workload, spec.resources
    if workload.type == "Ingest":
        workload = workload.model_copy(update={"ingest": workload.ingest or Ingest()})
    if spec.engine == "Spark":
        resources = resources.model_copy(update={"spark": resources.spark or SparkResources()})
    left_out = _OF_THE_FAMILY | _CHANCE | (_TORCH_ONLY if spec.engine == "Spark" else set())
    sections = {"workload": workload, "parameters": spec.parameters, "resources": resources}
    return {
        field.removeprefix(f"{name}."): level_of(field, value)
        for name, section in sections.items()
        for field, value in leaves(section, name)
        if field not in left_out
    }


def _dataset(spec: JobSpec) -> str:
    data = spec.data
    if data is None:
        return spec.workload.dataset
    place = data.url or "/".join(part for part in (data.claim, data.path) if part)
    return f"{spec.workload.dataset} from {place}"
