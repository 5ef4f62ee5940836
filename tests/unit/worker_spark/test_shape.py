"""How large a cluster becomes, and what Spark is told of it."""

from pathlib import Path

import pytest

from coxswain.worker.report import Failure, Reason, Settings
from coxswain.worker.spark.shape import Shape, configuration


def shape(**values: object) -> Shape:
    return Shape.from_settings(
        Settings.from_environment({f"COXSWAIN_{name.upper()}": str(value) for name, value in values.items()})
    )


@pytest.mark.parametrize(("cores", "slots"), [("0.25", 1), ("500m", 1), ("1", 1), ("1.5", 2), ("2", 2)])
def test_a_fraction_of_a_core_is_a_slot(cores: str, slots: int) -> None:
    assert shape(cores_per_executor=cores).slots_per_executor == slots


def test_executors_fill_their_nodes_exactly() -> None:
    asked = shape(nodes=2, executors_per_node=3, cores_per_executor=2, memory_per_executor="2Gi")
    told = configuration(asked, address="10.0.0.1", secret="hush", folder=Path("/tmp/x"), slots_per_task=1)  # noqa: S106, S108
    assert asked.executors == 6
    assert (asked.slots_per_node, asked.heap_per_node) == (6, 3 * 1024)
    assert (told["spark.executor.cores"], told["spark.executor.memory"]) == ("2", "1024m")
    assert int(told["spark.cores.max"]) == asked.nodes * asked.slots_per_node


def test_nobody_talks_to_the_cluster_without_the_secret() -> None:
    told = configuration(shape(), address="10.0.0.1", secret="hush", folder=Path("/tmp/x"), slots_per_task=1)  # noqa: S106, S108
    assert (told["spark.authenticate"], told["spark.authenticate.secret"]) == ("true", "hush")
    assert told["spark.master.rest.enabled"] == told["spark.ui.enabled"] == "false"


@pytest.mark.parametrize(("memory", "enough"), [("959Mi", False), ("960Mi", True), ("16Mi", False)])
def test_too_little_memory_is_refused_with_what_would_do(memory: str, enough: bool) -> None:
    if enough:
        assert shape(memory_per_executor=memory).heap == 480
        return
    with pytest.raises(Failure) as caught:
        shape(memory_per_executor=memory)
    assert caught.value.reason is Reason.BAD_PARAMETER
    assert caught.value.sentence == (
        f"memoryPerExecutor is {memory}, but a Spark executor needs at least 960Mi, "
        "one half for its JVM and one for its Python processes."
    )
