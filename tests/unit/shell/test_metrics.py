"""The operator's metrics: names by convention, bounded labels, a page that lists them, and a server that shows them."""

import re
import urllib.request
from pathlib import Path

import pytest

from coxswain.shell.metrics import EXPERIMENT_STATES, JOB_STATES, Metrics
from coxswain.shell.scraping import Outcome
from tests.contract.crds import EXPERIMENTS, JOBS, schema

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
UNITS = ("_seconds", "_ratio", "_bytes", "_info", "_cores", "_gpus")
COUNTS = {"jobs", "experiments", "queue_pending_jobs", "leader", "work_queue_length", "families_drifting"}


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def names(metrics: Metrics) -> dict[str, str]:
    """The names people query, with their types."""
    suffix = {"counter": "_total", "info": "_info"}
    return {
        family.name + suffix.get(family.type, ""): family.type
        for family in metrics.registry.collect()
        if family.name.startswith("coxswain_")
    }


def labels(metrics: Metrics) -> dict[str, tuple[str, ...]]:
    return {
        metric._name + ("_total" if metric._type == "counter" else ""): tuple(metric._labelnames)
        for metric in vars(metrics).values()
        if hasattr(metric, "_labelnames")
    }


def test_names_follow_the_conventions(metrics: Metrics) -> None:
    for name, kind in names(metrics).items():
        assert re.fullmatch(r"coxswain_[a-z]+(_[a-z]+)*", name)
        if kind == "counter":
            assert name.endswith("_total")
        else:
            assert name.endswith(UNITS) or name.removeprefix("coxswain_") in COUNTS, name


def test_the_page_lists_every_metric_with_its_labels_and_no_other(metrics: Metrics) -> None:
    rows = re.findall(r"^\| `(coxswain_\w+)(?:\{([\w, ]*)\})?`", PAGE.read_text(), re.MULTILINE)
    listed = {name: tuple(part.strip() for part in inside.split(",") if part) for name, inside in rows}
    assert listed == {**labels(metrics), "coxswain_build_info": ("version",)}


def test_states_are_those_of_the_resources(metrics: Metrics) -> None:
    for crd, states in ((JOBS, JOB_STATES), (EXPERIMENTS, EXPERIMENT_STATES)):
        assert tuple(schema(crd)["properties"]["status"]["properties"]["state"]["enum"]) == states
    metrics.show_jobs({"Running": 3})
    metrics.show_jobs({"Pending": 2})
    metrics.show_experiments({"Running": 1})
    shown = {state: metrics.registry.get_sample_value("coxswain_jobs", {"state": state}) for state in JOB_STATES}
    assert shown == dict.fromkeys(JOB_STATES, 0.0) | {"Pending": 2.0}


def test_requests_and_scrapes_are_counted(metrics: Metrics) -> None:
    metrics.observe_request("GET", "Pod", 200, 0.02)
    metrics.observe_request("GET", "Pod", 0, 30)
    metrics.observe_scrape(Outcome.OTHER_JOB)
    value = metrics.registry.get_sample_value
    assert value("coxswain_api_requests_total", {"verb": "GET", "kind": "Pod", "code": "0"}) == 1
    assert value("coxswain_api_request_duration_seconds_count", {"verb": "GET"}) == 2
    assert value("coxswain_scrapes_total", {"outcome": "other_job"}) == 1
    assert value("coxswain_scrapes_total", {"outcome": "timeout"}) == 0


def test_metrics_are_served_and_the_port_is_free_again_afterwards(metrics: Metrics) -> None:
    metrics.leader.set(1)
    with metrics.served(0) as port:
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    assert "\ncoxswain_leader 1.0\n" in text
    assert "\nprocess_cpu_seconds_total" in text
    with Metrics().served(port):
        pass
