"""What a Spark job is told by its environment, and what it says it was told."""

import pytest

from coxswain.worker.report import Failure, Settings

CLUSTER = {
    "COXSWAIN_ENGINE": "Spark",
    "COXSWAIN_NODES": "2",
    "COXSWAIN_EXECUTORS_PER_NODE": "3",
    "COXSWAIN_CORES_PER_EXECUTOR": "500m",
    "COXSWAIN_MEMORY_PER_EXECUTOR": "1.5Gi",
    "COXSWAIN_SPARK_SECRET": "hush",
    "JOB_COMPLETION_INDEX": "1",
}


def test_the_shape_of_the_cluster_is_read_and_told() -> None:
    settings = Settings.from_environment(CLUSTER)
    told = settings.parameters()
    assert {name: told[name] for name in ("nodes", "executorsPerNode", "coresPerExecutor", "memoryPerExecutor")} == {
        "nodes": 2,
        "executorsPerNode": 3,
        "coresPerExecutor": 0.5,
        "memoryPerExecutor": 3 * 2**29,
    }
    assert "workers" not in told
    assert Settings.from_environment(settings.environment()) == settings


def test_a_speed_test_tells_what_it_reads_and_nothing_of_training() -> None:
    settings = Settings.from_environment(
        {**CLUSTER, "COXSWAIN_WORKLOAD": "Ingest", "COXSWAIN_INGEST_CACHE": "true", "COXSWAIN_INGEST_REPETITIONS": "7"}
    )
    told = settings.parameters()
    assert (told["format"], told["cache"], told["repetitions"]) == ("TFRecord", True, 7)
    assert not {"network", "epochs", "learningRate"} & told.keys()
    assert settings.planned_epochs == 7


def test_nobody_prints_the_secret_by_accident() -> None:
    settings = Settings.from_environment(CLUSTER)
    assert "hush" not in repr(settings)
    assert "hush" not in str(settings.parameters())


@pytest.mark.parametrize(
    ("variable", "text", "sentence"),
    [
        ("COXSWAIN_MEMORY_PER_EXECUTOR", "1 GB", "it must be bytes, such as 1073741824, 512Mi or 2Gi."),
        ("COXSWAIN_MEMORY_PER_EXECUTOR", "0", "it must be bytes, such as 1073741824, 512Mi or 2Gi."),
        ("COXSWAIN_INGEST_CACHE", "maybe", "it must be true or false."),
        ("COXSWAIN_EXECUTORS_PER_NODE", "0", "it must be a whole number of at least 1."),
        ("COXSWAIN_NODES", "1", "JOB_COMPLETION_INDEX is 1, but COXSWAIN_NODES says there are 1 workers."),
    ],
)
def test_a_bad_variable_is_named(variable: str, text: str, sentence: str) -> None:
    with pytest.raises(Failure) as caught:
        Settings.from_environment({**CLUSTER, variable: text})
    assert caught.value.sentence.endswith(sentence)
