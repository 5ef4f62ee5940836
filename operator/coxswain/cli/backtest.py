"""`cox backtest`: what policies would have made of deadlines, on runs that are recorded."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coxswain.cli.data import DataFile, Factors, Output, read_table, split_names, with_response
from coxswain.cli.fit import Seed, telling
from coxswain.cli.output import Format, Table, emit
from coxswain.core.errors import InputError

if TYPE_CHECKING:
    from coxswain.core.baselines import Result

COLUMNS = ("name", "met", "met_of_feasible", "promised", "kept_of_promised", "kept_error", "accuracy", "gain")


def backtest(
    data: DataFile,
    *,
    response: Annotated[
        str, typer.Option("--response", "-r", metavar="T", help="The column with the time a run took.")
    ],
    factors: Factors,
    adjust: Annotated[str, typer.Option("--adjust", metavar="B,…", help="The factors that a policy may choose.")],
    accuracy: Annotated[
        str | None,
        typer.Option("--accuracy", metavar="A", help="The column with what a run is worth; else more of --adjust is."),
    ] = None,
    deadlines: Annotated[
        str,
        typer.Option(
            "--deadlines",
            metavar="contested|normal:MEAN,SPREAD",
            help="Between the fastest and the slowest candidate of a context, or normal.",
        ),
    ] = "contested",
    policies: Annotated[
        str, typer.Option("--policies", metavar="P,…", help="Which policies: see docs/steering.md.")
    ] = "coxswain,courier,fltk,random,minimum,oracle",
    confidence: Annotated[float, typer.Option("--confidence", metavar="PERCENT", help="Of a promise.")] = 95,
    repetitions: Annotated[int, typer.Option("--repetitions", metavar="N", help="Jobs of each context.")] = 50,
    seed: Seed = 0,
    output: Output = Format.TABLE,
) -> None:
    """Try policies on recorded runs, with whole contexts left out of what they learn from."""
    from threadpoolctl import threadpool_limits

    from coxswain.core import baselines

    if not 50 <= confidence < 100:
        raise InputError(f"--confidence {confidence:g} is not a percentage from 50 to below 100; give one such as 95.")
    if repetitions < 1:
        raise InputError(f"--repetitions {repetitions} leaves nothing to try; give at least 1.")
    table = with_response(read_table(data), response)
    drawn = baselines.parse_deadlines(deadlines)
    recorded = baselines.read_recorded(
        table, response=response, value=accuracy, factors=split_names(factors), adjust=split_names(adjust)
    )
    with telling() as tell, threadpool_limits(1):
        results = baselines.backtest(
            recorded,
            policies=split_names(policies),
            deadlines=drawn,
            confidences=[confidence / 100],
            repetitions=repetitions,
            seed=seed,
            progress=tell,
        )
    document: dict[str, Any] = {
        "response": response,
        "contexts": len(recorded.contexts),
        "jobs": results[0].jobs,
        "deadlines": deadlines,
        "confidence": confidence,
        "policies": [_document(result) for result in results],
    }
    rows = [[getattr(result, column) for column in COLUMNS] for result in results]
    notes = [
        f"{results[0].jobs} jobs in {len(recorded.contexts)} contexts, each unknown to the models that chose for it.",
        "gain: 0 is always the fastest setting, 1 is knowing the true times; who is late gains nothing.",
    ]
    emit(output, [Table(f"Deadlines {deadlines}, promises at {confidence:g} %", COLUMNS, rows, notes)], document)


def _document(result: "Result") -> dict[str, Any]:
    return {name: value for name, value in asdict(result).items() if name not in ("confidence", "jobs")}
