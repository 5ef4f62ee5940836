import re
from typing import Any

import pytest

from coxswain.core.api import parse_job
from coxswain.core.api.job import JobSpec
from coxswain.core.families import family_of, fields_of
from tests.contract.manifests import SPARK_JOB, TORCH_JOB


def spec(**content: Any) -> JobSpec:
    return parse_job(
        {"apiVersion": "coxswain.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "a"}, "spec": content}
    ).spec


def test_parameters_and_resources_do_not_change_the_family() -> None:
    one = spec(parameters={"epochs": 3, "seed": 7}, resources={"workers": 2}, priority=4)
    assert family_of("a", one, "n2") == family_of("a", spec(), "n2")


@pytest.mark.parametrize(
    "other",
    [
        spec(engine="Spark"),
        spec(workload={"network": "vit"}),
        spec(workload={"dataset": "mnist"}),
        spec(workload={"image": "example.com/mine:1"}),
        spec(workload={"type": "Custom", "image": "example.com/mine:1", "command": ["train", "--fast"]}),
        spec(data={"claim": "images", "path": "cats"}),
        spec(data={"claim": "images", "path": "dogs"}),
        spec(data={"url": "gs://bucket/images"}),
    ],
    ids=str,
)
def test_what_a_job_runs_on_which_data_makes_another_family(other: JobSpec) -> None:
    assert family_of("a", other, "n2").key != family_of("a", spec(), "n2").key


def test_namespace_and_node_type_make_another_family() -> None:
    keys = {family_of(namespace, spec(), node).key for namespace in ("a", "b") for node in ("", "n2", "n2d")}
    assert len(keys) == 6


def test_the_key_of_a_family_never_changes_and_fits_into_a_label() -> None:
    key = family_of("default", spec(), "n2-standard-4").key
    assert key == "b05a79d9f3429aaf"
    assert re.fullmatch(r"[a-z0-9]{1,63}", key)


def test_a_family_s_title_says_what_it_is() -> None:
    assert family_of("a", spec(data={"claim": "c"}), "n2").title == "fashion-cnn on digits from c (Torch, n2)"
    assert family_of("a", parse_job(TORCH_JOB).spec, "").title == "example.com/mine:1 python train.py (Torch)"
    assert family_of("a", parse_job(SPARK_JOB).spec, "").title == "ingest of digits from gs://bucket/images (Spark)"


def test_the_fields_of_a_torch_job() -> None:
    content = {
        "workload": {"samples": 6000},
        "parameters": {"epochs": 3, "extra": [{"name": "dropout", "value": "0.2"}, {"name": "norm", "value": "nan"}]},
        "resources": {"coresPerWorker": "500m", "memoryPerWorker": "512Mi"},
    }
    assert fields_of(spec(**content)) == {
        "samples": 6000,
        "strategy": "DataParallel",
        "epochs": 3,
        "batchSize": 64,
        "learningRate": 0.01,
        "optimizer": "Adam",
        "schedule": "Constant",
        "extra.dropout": 0.2,
        "extra.norm": "nan",
        "workers": 1,
        "processesPerWorker": 1,
        "coresPerWorker": 0.5,
        "memoryPerWorker": 0.5,
        "gpusPerWorker": 0,
    }


def test_the_fields_of_a_spark_job_are_its_cluster_s_and_its_ingest_s_even_where_they_are_left_out() -> None:
    fields = fields_of(spec(engine="Spark", workload={"type": "Ingest"}))
    assert fields["spark.memoryPerExecutor"] == 1
    assert fields["ingest.cache"] == "false"
    assert fields["ingest.repetitions"] == 3
    assert not fields.keys() & {"workers", "processesPerWorker", "coresPerWorker", "memoryPerWorker"}
