"""The CRD files as values, and the one part of them that is a copy.

An experiment's `template.spec` is a TrainingJob's `spec`. Kubernetes has no way to refer from one schema to another, so
the lines are repeated; `make crds` (this module, run) copies them, and a test holds that the copy is current.
"""

import textwrap
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "crds"
JOBS = FOLDER / "trainingjobs.yaml"
EXPERIMENTS = FOLDER / "trainingexperiments.yaml"

BEGIN = "                  # >>> copied from trainingjobs.yaml by `make crds`\n"
END = "                  # <<< end of the copy\n"


def schema(path: Path) -> dict[str, Any]:
    """The schema of a CRD's one version."""
    crd = yaml.safe_load(path.read_text())
    versions: list[dict[str, Any]] = crd["spec"]["versions"]
    (version,) = versions
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return found


def with_current_template(jobs: str, experiments: str) -> str:
    """The text of the experiments' CRD with the jobs' spec copied between its two marks."""
    after_spec = jobs.split("\n          spec:\n", 1)[1]
    spec = "          spec:\n" + after_spec.split("\n          status:\n", 1)[0] + "\n"
    depth = BEGIN.index("#")
    copy = textwrap.indent(textwrap.dedent(spec), " " * depth)
    before, rest = experiments.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    return before + BEGIN + copy + END + after


if __name__ == "__main__":
    EXPERIMENTS.write_text(with_current_template(JOBS.read_text(), EXPERIMENTS.read_text()))
