"""What every published image has in common, as its Dockerfile says; that each builds and runs, cluster tests show."""

import re
from pathlib import Path

import pytest

IMAGES = Path(__file__).parents[3] / "images"
PUBLISHED = ["operator", "worker-torch", "worker-spark"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_an_image_is_made_in_stages_is_labelled_and_is_not_root_s(name: str) -> None:
    stages = re.split(r"^FROM ", (IMAGES / name / "Dockerfile").read_text(), flags=re.MULTILINE)[1:]
    assert len(stages) > 1
    labels = re.findall(r"org\.opencontainers\.image\.(\w+)=", stages[-1])
    assert labels == ["title", "description", "licenses", "version"]
    users = re.findall(r"^USER (\S+)$", stages[-1], re.MULTILINE)
    assert users == ([] if name == "worker-spark" else ["65532:65532"]), "Spark's has that of the worker it starts from"
