"""The examples as files: each is valid, and its design can be made."""

from pathlib import Path

import pytest
import yaml

from coxswain.core.api import TrainingExperiment, parse, parse_experiment
from coxswain.core.designs.from_spec import design_of
from coxswain.core.expand import expand

EXAMPLES = Path(__file__).parents[2] / "examples"
MANIFESTS = {
    manifest["metadata"]["name"]: manifest
    for file in sorted(EXAMPLES.glob("*.yaml"))
    for manifest in yaml.safe_load_all(file.read_text())
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_an_example_is_valid(name: str) -> None:
    described = parse(MANIFESTS[name])
    if isinstance(described, TrainingExperiment) and described.spec.design.search is None:
        assert expand(described, design_of(described.spec))


def test_the_speed_test_analyses_reading_and_writing() -> None:
    responses = {each.name for each in parse_experiment(MANIFESTS["ingest"]).spec.analysis.responses}
    assert {"samplesPerSecond", "imagesWrittenPerSecond"} <= responses
