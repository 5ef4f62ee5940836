"""`cox run`: an experiment, or a single job, as processes of this machine.

The folder given by --out keeps what is known. Interrupted by Ctrl-C, a signal or a power cut, the same command goes on
where it was: finished runs are never made again, failed ones are.
"""

import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coxswain.cli.analyze import effects_table
from coxswain.cli.data import Output
from coxswain.cli.manifest import read_manifest
from coxswain.cli.output import Format, Table, emit
from coxswain.core.errors import InputError

if TYPE_CHECKING:
    from coxswain.core.api import TrainingExperiment, TrainingJob
    from coxswain.core.api.experiment import ExperimentSpec
    from coxswain.core.designs import Design
    from coxswain.core.expand import PlannedRun
    from coxswain.core.observations import Observation
    from coxswain.core.results import Result
    from coxswain.local.folder import Folder
    from coxswain.local.runner import Options

DEFAULT_FOLDER = Path("out")
REPORT = "report.html"


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TrainingExperiment or a TrainingJob in YAML.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where results are kept; by default out/NAME."),
    ] = None,
    parallelism: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Runs at a time, in place of what the manifest says.")
    ] = None,
    claim: Annotated[
        list[str] | None, typer.Option(metavar="NAME=DIR", help="The folder that stands for a claim; repeatable.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Which one to run if the file has several.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Run an experiment or a job on this machine, without a cluster; run again to go on after an interruption."""
    from coxswain.core.api import TrainingExperiment, parse

    found = parse(read_manifest(file, "TrainingExperiment", "TrainingJob", name=name))
    folder = out or DEFAULT_FOLDER / found.name
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if isinstance(found, TrainingExperiment):
        _run_experiment(found, folder, parallelism, _claims(claim), output)
    else:
        _run_job(found, folder, _claims(claim), output)


def _run_experiment(
    experiment: "TrainingExperiment", path: Path, parallelism: int | None, claims: dict[str, Path], output: Format
) -> None:
    from coxswain.core.designs.from_spec import design_of
    from coxswain.core.expand import expand
    from coxswain.local.folder import Folder
    from coxswain.local.plan import fractions, in_vain
    from coxswain.local.runner import Options

    spec = experiment.spec
    if spec.suspend:
        raise InputError("suspend is true, so no run may be started; set it to false.")
    _check_expressions(spec)
    design = design_of(spec)
    runs = expand(experiment, design)
    options = Options(
        experiment=experiment.name,
        parallelism=parallelism or spec.parallelism,
        most_failures=spec.max_failed_runs,
        claims=claims,
        fresh=True,
    )
    with Folder(path) as folder:
        try:
            gave_up = _make(runs, folder, options, [*in_vain(spec.template.spec, spec), *fractions(runs)])
        finally:
            observations = folder.of(runs)
            table = folder.write_table(observations)
    _conclude(experiment, design, observations, table, output)
    if gave_up:
        print(
            f"cox: more than {spec.max_failed_runs} runs failed (maxFailedRuns), so the experiment was ended; "
            f"{table} has the reasons.",
            file=sys.stderr,
        )
        raise typer.Exit(1)


def _conclude(
    experiment: "TrainingExperiment",
    design: "Design",
    observations: "Sequence[Observation]",
    table: Path,
    output: Format,
) -> None:
    """Analyse, print, and write the report."""
    # Imported only now: it takes seconds, and the runs need not wait for that.
    from coxswain.core.results import analyze_experiment
    from coxswain.report import render

    results = analyze_experiment(experiment.spec, observations)
    report = table.with_name(REPORT)
    report.write_text(render(experiment, design, observations, results), encoding="utf-8")
    emit(output, _tables(results, [table, report]), _document(experiment, observations, results))


def _check_expressions(spec: "ExperimentSpec") -> None:
    """Understand the expressions of responses before runs are made for them."""
    expressions = [response.expression for response in spec.analysis.responses if response.expression is not None]
    if expressions:
        from coxswain.core.api.experiment import MEASURED_RESPONSES
        from coxswain.core.expressions import parse_expression

        for expression in expressions:
            parse_expression(expression, MEASURED_RESPONSES)


def _run_job(job: "TrainingJob", path: Path, claims: dict[str, Path], output: Format) -> None:
    from coxswain.core.expand import single
    from coxswain.core.observations import FAILED
    from coxswain.local.folder import Folder
    from coxswain.local.plan import fractions, in_vain
    from coxswain.local.runner import Options

    runs = [single(job)]
    options = Options(experiment="", parallelism=1, most_failures=0, claims=claims, fresh=False)
    with Folder(path) as folder:
        _make(runs, folder, options, [*in_vain(job.spec), *fractions(runs)])
        [observation] = folder.of(runs)
        folder.write_table([observation])
    emit(output, [_job_table(observation)], asdict(observation))
    if observation.state == FAILED:
        raise typer.Exit(1)


def _make(runs: "Sequence[PlannedRun]", folder: "Folder", options: "Options", notes: Sequence[str]) -> bool:
    """Make the runs that are not done; tells whether too many failed to go on."""
    from coxswain.cli.progress import Progress
    from coxswain.local.plan import check
    from coxswain.local.runner import Runner, machine_cores

    check(runs, machine_cores(), options.claims)
    with Progress(folder.path.name) as display:
        for note in notes:
            display.say(note)
        runner = Runner(runs, folder, options, display)
        try:
            runner.run()
        except KeyboardInterrupt:
            display.say("Interrupted. Run the same command again to go on; what is finished is kept.")
            raise typer.Exit(130) from None
    return runner.gave_up


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


def _tables(results: "Sequence[Result]", files: Sequence[Path]) -> list[Table]:
    tables = []
    for result in results:
        if result.analysis is None:
            tables.append(Table(f"{result.response} is not analysed", ("reason",), [[note] for note in result.notes]))
            continue
        effects = effects_table(result.analysis)
        notes = [*result.notes, *result.analysis.notes, *effects.notes]
        title = f"{result.response}: effects in coded units, {100 * (1 - result.analysis.alpha):g} % intervals"
        tables.append(replace(effects, title=title, notes=notes))
    files_table = Table("Where to look", ("file",), [[str(path)] for path in files])
    return [*tables, files_table]


def _document(
    experiment: "TrainingExperiment", observations: "Sequence[Observation]", results: "Sequence[Result]"
) -> dict[str, Any]:
    from coxswain.core.analysis import document

    return {
        "experiment": experiment.name,
        "observations": [asdict(each) for each in observations],
        "responses": {
            result.response: {
                "analysis": document(result.analysis) if result.analysis else None,
                "notes": list(result.notes),
            }
            for result in results
        },
    }


def _job_table(observation: "Observation") -> Table:
    facts = {"state": observation.state, "reason": observation.reason, "message": observation.message}
    rows: list[tuple[str, Any]] = [(name, value) for name, value in facts.items() if value is not None]
    rows += [("epochs", observation.epochs), *observation.responses.items()]
    return Table(observation.job, ("", "value"), rows)
