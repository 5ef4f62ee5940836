"""`cox run`: an experiment, or a single job, as processes of this machine.

The folder given by --out keeps what is known. Interrupted by Ctrl-C, a signal or a power cut, the same command goes on
where it was: finished runs are never made again, failed ones are.
"""

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from coxswain.cli.data import Output
from coxswain.cli.manifest import read_manifest
from coxswain.cli.output import Format
from coxswain.core.errors import InputError

DEFAULT_FOLDER = Path("out")


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TrainingExperiment or a TrainingJob in YAML.")],
    *,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results are kept; by default out/NAME.")
    ] = None,
    parallelism: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Runs at a time, in place of what the manifest says.")
    ] = None,
    claim: Annotated[
        list[str] | None, typer.Option(metavar="NAME=DIR", help="The folder that stands for a claim; repeatable.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Which one to run if the file has several.")] = None,
    deadline: Annotated[
        str | None, typer.Option(metavar="TIME", help="When a job has to be done, such as 90s or 5m after its start.")
    ] = None,
    learn_from: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="The --out of an experiment by which a job's epochs are chosen."),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Run an experiment or a job on this machine, without a cluster; run again to go on after an interruption.

    A job that has a deadline and allows other epochs (adjust) trains for the most that are sure to be done in time, by
    what an experiment (--from) has measured.
    """
    if sys.platform != "linux":
        raise InputError("cox run needs Linux, where processes can be pinned to cores; use it there or a cluster.")
    try:
        from coxswain.cli.run_experiment import run_experiment
        from coxswain.cli.run_job import run_job
    except ModuleNotFoundError as error:
        raise InputError(f"cox run needs the workers, and {error.name} is missing; install coxswain[torch].") from None
    from coxswain.core.api import parse_experiment, parse_job

    manifest = read_manifest(file, "TrainingExperiment", "TrainingJob", name=name)
    claims = _claims(claim)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if manifest["kind"] == "TrainingJob":
        job = parse_job(manifest)
        if deadline is not None:
            job = parse_job(_due(manifest, deadline))
        run_job(job, out or DEFAULT_FOLDER / job.name, claims, learn_from, output)
    elif deadline is not None or learn_from is not None:
        raise InputError("--deadline and --from are for a TrainingJob; this is a TrainingExperiment.")
    else:
        experiment = parse_experiment(manifest)
        folder = out or DEFAULT_FOLDER / experiment.name
        run_experiment(experiment, manifest, folder, parallelism, claims=claims, output=output)


def _claims(given: Sequence[str] | None) -> dict[str, Path]:
    claims = {}
    for text in given or ():
        name, separator, folder = text.partition("=")
        if not (name and separator and folder):
            raise InputError(f"--claim is {text!r}; write it as NAME=DIR.")
        if not Path(folder).is_dir():
            raise InputError(f"--claim {text}: there is no folder {folder}; make it or correct the path.")
        claims[name] = Path(folder).absolute()
    return claims


def _due(manifest: dict[str, Any], within: str) -> dict[str, Any]:
    """The manifest of a job, which is known to be one, with another deadline."""
    spec = manifest["spec"]
    before = {field: value for field, value in (spec.get("deadline") or {}).items() if field != "at"}
    return {**manifest, "spec": {**spec, "deadline": {**before, "within": within}}}
