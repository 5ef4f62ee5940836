"""An experiment on this machine, from its manifest to its report."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from coxswain.cli.analyze import effects_table
from coxswain.cli.output import Format, Table, emit
from coxswain.cli.progress import make_runs
from coxswain.core.api.design import SEARCHES
from coxswain.core.designs.from_spec import design_of
from coxswain.core.errors import InputError
from coxswain.core.expand import expand
from coxswain.core.observations import FAILED
from coxswain.local.folder import TABLE, Folder
from coxswain.local.plan import fractions, in_vain
from coxswain.local.runner import Options

if TYPE_CHECKING:
    from coxswain.core.api import TrainingExperiment
    from coxswain.core.api.experiment import ExperimentSpec
    from coxswain.core.designs import Design
    from coxswain.core.observations import Observation
    from coxswain.core.results import Result
    from coxswain.core.search import Course
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
    _check_expressions(spec)
    searches = spec.design.type in SEARCHES
    options = Options(
        experiment=experiment.name,
        parallelism=parallelism or spec.parallelism,
        most_failures=spec.max_failed_runs,
        claims=claims,
        fresh=True,
        keep_failed=searches,
    )
    with Folder(path) as folder:
        made = (_search if searches else _design)(experiment, manifest, folder, options)
        table = folder.path / TABLE
    _conclude(experiment, made, table, output)
    if made.gave_up:
        print(
            f"cox: more than {spec.max_failed_runs} runs failed (maxFailedRuns), so the experiment was ended; "
            f"{table} has the reasons.",
            file=sys.stderr,
        )
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Made:
    """The runs that were made, of a design or of a search."""

    design: "Design"
    observations: "Sequence[Observation]"
    gave_up: bool
    course: "Course | None" = None


def _design(experiment: "TrainingExperiment", manifest: Mapping[str, Any], folder: Folder, options: Options) -> _Made:
    spec = experiment.spec
    design = design_of(spec)
    runs = expand(experiment, design)
    folder.of(runs)  # what is there of something else is refused before anything of it is touched
    folder.write_manifest(manifest)
    try:
        gave_up = make_runs(runs, folder, options, [*in_vain(spec.template.spec, spec), *fractions(runs)])
    finally:
        observations = folder.of(runs)
        folder.write_table(observations)
    return _Made(design, observations, gave_up)


def _search(experiment: "TrainingExperiment", manifest: Mapping[str, Any], folder: Folder, options: Options) -> _Made:
    from coxswain.cli.run_search import make_search, plan_here

    plan_here(experiment, folder)  # what is there of something else is refused before anything of it is touched
    folder.write_manifest(manifest)
    try:
        make_search(experiment, folder, options)
    finally:
        plan = plan_here(experiment, folder)
        observations = folder.of(plan.runs)
        folder.write_table(observations)
    failed = {each.run for each in observations if each.state == FAILED}
    return _Made(plan.design, observations, len(failed) > options.most_failures, plan.course)


def _check_expressions(spec: "ExperimentSpec") -> None:
    """Understand the expressions of responses before runs are made for them."""
    expressions = [response.expression for response in spec.analysis.responses if response.expression is not None]
    if expressions:
        from coxswain.core.expressions import parse_expression

        for expression in expressions:
            parse_expression(expression, spec.names_in_expressions)


def _conclude(experiment: "TrainingExperiment", made: _Made, table: Path, output: Format) -> None:
    # Imported only now: it takes seconds, and the runs need not wait for that.
    from coxswain.cli.run_search import search_tables
    from coxswain.core.results import analyze_experiment
    from coxswain.core.search import search_document
    from coxswain.report import render

    results = analyze_experiment(experiment.spec, made.observations)
    report = table.with_name(REPORT)
    report.write_text(render(experiment, made.design, made.observations, results, made.course), encoding="utf-8")
    tables = search_tables(made.course) if made.course else list(map(_effects, results))
    files = Table("Where to look", ("file",), [[str(path)] for path in (table, report)])
    document = _document(experiment, made.observations, results)
    if made.course is not None:
        document["search"] = search_document(made.course)
    emit(output, [*tables, files], document)


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
