"""`cox backtest`: what policies would have made of deadlines, on runs that are recorded."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coxswain.cli.data import DataFile, Factors, Output, read_table, split_names, with_response
from coxswain.cli.fit import Seed, telling
from coxswain.cli.output import Format, Table, emit
from coxswain.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coxswain.core.baselines import QueuedResult, Result

COLUMNS = ("name", "met", "met_of_feasible", "promised", "kept_of_promised", "kept_error", "accuracy", "gain")
QUEUED = (*COLUMNS, "mean_wait", "longest_wait", "wait_bounds_held")
SERVED = "coxswain and the oracle plan all that wait together; the others choose as jobs come and serve them in turn."


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
    arrivals: Annotated[
        str | None,
        typer.Option(
            "--arrivals",
            metavar="poisson:UTILISATION",
            help="Let jobs come over time and wait for each other; by default each is alone.",
        ),
    ] = None,
    servers: Annotated[
        int, typer.Option("--servers", metavar="K", help="With --arrivals, jobs that run at a time.")
    ] = 4,
    contention: Annotated[
        float,
        typer.Option(
            "--contention", metavar="C", help="With --arrivals, by what share a job is slower with all else busy."
        ),
    ] = 0.0,
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
    named, coming = split_names(policies), None if arrivals is None else baselines.parse_arrivals(arrivals)
    if servers < 1:
        raise InputError(f"--servers {servers} runs nothing; give at least 1.")
    if not 0 <= contention < float("inf"):
        raise InputError(f"--contention {contention:g} makes no sense; give 0 or more, such as 0.5.")
    results: Sequence[Result | QueuedResult]
    with telling() as tell, threadpool_limits(1):
        if coming is None:
            results = baselines.backtest(
                recorded,
                policies=named,
                deadlines=drawn,
                confidences=[confidence / 100],
                repetitions=repetitions,
                seed=seed,
                progress=tell,
            )
        else:
            results = baselines.backtest_queue(
                recorded,
                policies=named,
                deadlines=drawn,
                confidence=confidence / 100,
                repetitions=repetitions,
                arrivals=coming,
                servers=servers,
                contention=contention,
                seed=seed,
                progress=tell,
            )
    document: dict[str, Any] = {
        "response": response,
        "contexts": len(recorded.contexts),
        "jobs": results[0].jobs,
        "deadlines": deadlines,
        "confidence": confidence,
        **({} if coming is None else {"arrivals": arrivals, "servers": servers, "contention": contention}),
        "policies": [_document(result) for result in results],
    }
    columns = COLUMNS if coming is None else QUEUED
    rows = [[getattr(result, column) for column in columns] for result in results]
    notes = [
        f"{results[0].jobs} jobs in {len(recorded.contexts)} contexts, each unknown to the models that chose for it.",
        "gain: 0 is always the fastest setting, 1 is knowing the true times; who is late gains nothing.",
        *([] if coming is None else [SERVED]),
    ]
    emit(output, [Table(f"Deadlines {deadlines}, promises at {confidence:g} %", columns, rows, notes)], document)


def _document(result: "Result | QueuedResult") -> dict[str, Any]:
    return {name: value for name, value in asdict(result).items() if name not in ("confidence", "jobs")}
