from coxswain.core.api import parse_job
from coxswain.core.api.job import JobSpec
from coxswain.core.workloads import DATASETS, NETWORKS, problem_of
from coxswain.worker.torch import data, networks


def _spec(**workload: str) -> JobSpec:
    manifest = {"apiVersion": "coxswain.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "a"}}
    return parse_job({**manifest, "spec": {"workload": workload}}).spec


def test_the_names_are_those_that_the_workers_know() -> None:
    assert set(NETWORKS) == set(networks.NETWORKS)
    assert DATASETS == data.NAMES


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    assert "no network alexnet; choose one of fashion-cnn" in str(problem_of(_spec(network="alexnet")))
    assert "no data set cifar; choose one of digits" in str(problem_of(_spec(dataset="cifar")))
    assert problem_of(_spec(network="mlp", dataset="mnist")) is None


def test_an_image_of_ones_own_may_know_others() -> None:
    assert problem_of(_spec(network="alexnet", image="mine")) is None
