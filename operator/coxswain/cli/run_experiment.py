"""An experiment on this machine, from its manifest to its report."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from coxswain.cli.analyze import effects_table
from coxswain.cli.output import Format, Table, emit
from coxswain.cli.progress import make_runs
from coxswain.core.api.design import SEARCHES
from coxswain.core.api.experiment import MEASURED_RESPONSES
from coxswain.core.designs.from_spec import design_of
from coxswain.core.errors import InputError
from coxswain.core.expand import expand
from coxswain.local.folder import Folder
from coxswain.local.plan import fractions, in_vain
from coxswain.local.runner import Options

if TYPE_CHECKING:
    from coxswain.core.api import TrainingExperiment
    from coxswain.core.api.experiment import ExperimentSpec
    from coxswain.core.designs import Design
    from coxswain.core.observations import Observation
    from coxswain.core.results import Result
    from coxswain.local.plan import Claims

REPORT = "report.html"


def run_experiment(
    experiment: "TrainingExperiment",
    manifest: Mapping[str, Any],
    path: Path,
    parallelism: int | None,
    *,
    claims: "Claims",
    output: Format,
) -> None:
    """Make the runs that are not done, then analyse, print and report all of them."""
    spec = experiment.spec
    if spec.suspend:
        raise InputError("suspend is true, so no run may be started; set it to false.")
    if spec.design.type in SEARCHES:
        raise InputError(
            f"design.type {spec.design.type} is a search, which cox run cannot make; use a design, say FullFactorial."
        )
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
        folder.of(runs)  # what is there of something else is refused before anything of it is touched
        folder.write_manifest(manifest)
        try:
            gave_up = make_runs(runs, folder, options, [*in_vain(spec.template.spec, spec), *fractions(runs)])
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


def _check_expressions(spec: "ExperimentSpec") -> None:
    """Understand the expressions of responses before runs are made for them."""
    expressions = [response.expression for response in spec.analysis.responses if response.expression is not None]
    if expressions:
        from coxswain.core.expressions import parse_expression

        for expression in expressions:
            parse_expression(expression, MEASURED_RESPONSES)


def _conclude(
    experiment: "TrainingExperiment",
    design: "Design",
    observations: "Sequence[Observation]",
    table: Path,
    output: Format,
) -> None:
    # Imported only now: it takes seconds, and the runs need not wait for that.
    from coxswain.core.results import analyze_experiment
    from coxswain.report import render

    results = analyze_experiment(experiment.spec, observations)
    report = table.with_name(REPORT)
    report.write_text(render(experiment, design, observations, results), encoding="utf-8")
    tables = [*map(_effects, results), Table("Where to look", ("file",), [[str(path)] for path in (table, report)])]
    emit(output, tables, _document(experiment, observations, results))


def _effects(result: "Result") -> Table:
    found = result.analysis
    if found is None:
        return Table(f"{result.response} is not analysed", ("reason",), [[note] for note in result.notes])
    table = effects_table(found)
    title = f"{result.response}: effects in coded units, {100 * (1 - found.alpha):g} % intervals"
    return replace(table, title=title, notes=[*result.notes, *found.notes, *table.notes])


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
