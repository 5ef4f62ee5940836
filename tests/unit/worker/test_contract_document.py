"""The contract as it is written down names all that the code has."""

import dataclasses
import re
from pathlib import Path
from urllib.request import urlopen

import pytest

from coxswain.worker.report import Job, Reason, Settings, State
from coxswain.worker.report.contract import ExitCode
from coxswain.worker.torch import data, schedules
from coxswain.worker.torch.networks import NETWORKS
from coxswain.worker.torch.options import camel
from coxswain.worker.torch.recipe import TrainingOptions

DOCUMENT = (Path(__file__).parents[3] / "docs/worker-contract.md").read_text()


def names() -> list[str]:
    options = [TrainingOptions, schedules.Options, data.Options, *(network.options for network in NETWORKS.values())]
    return [
        *Settings(termination_log=Path("x"), data_path=Path("x"), output_path=Path("x"), samples=1).environment(),
        *(reason.value for reason in Reason),
        *(state.value for state in State),
        *(str(code.value) for code in ExitCode),
        *NETWORKS,
        *data.NAMES,
        *schedules.Kind,
        *(camel(field.name) for declared in options for field in dataclasses.fields(declared)),
    ]


@pytest.mark.parametrize("name", sorted(set(names())))
def test_a_name_of_the_contract_is_written_down(name: str) -> None:
    assert re.search(rf"\b{re.escape(name)}\b", DOCUMENT)


def test_every_metric_is_written_down() -> None:
    job = Job(Settings(metrics_host="127.0.0.1", metrics_port=0))
    with urlopen(f"http://127.0.0.1:{job.metrics_port}/metrics") as answer:
        shown = set(re.findall(r"^# TYPE (\w+)", answer.read().decode(), re.MULTILINE))
    job.end(State.SUCCEEDED)
    written = DOCUMENT
    for direction in ("receive", "transmit"):
        for unit in ("bytes", "packets"):
            written += f" coxswain_worker_network_{direction}_{unit}_total"
    assert len(shown) > 15
    assert [name for name in sorted(shown) if name not in written] == []
