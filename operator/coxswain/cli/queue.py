"""`cox queue`: how long jobs wait, from numbers by formula, or from records of jobs beside what was measured.

The names in the JSON document are the same in both uses; docs/queueing.md explains each. With records, the upper level
is what was estimated and measured, and `formulas` is what M/M/k and M/G/k make of the estimates.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coxswain.cli.data import Output, read_table
from coxswain.cli.output import Format, Table, emit
from coxswain.core.errors import InputError

if TYPE_CHECKING:
    from coxswain.core.queueing.estimation import QueueEstimate
    from coxswain.core.queueing.formulas import Queue

PERCENTILES = (50, 95, 99)

NO_TAIL = "Tails and percentiles are given for exponential service only: mean and variability do not determine them."
APPROXIMATE = "The wait of M/G/k is Lee and Longton's approximation; docs/queueing.md tables its error."
OVERLOADED = "The jobs ask for more than the servers can do: by formula the queue grows without bound."
CROSSING = "Above the crossing cv2, or above the crossing utilisation (none if empty), the slow servers answer sooner."
INFERRED = "The number of servers is the most jobs that ran at once; give --servers if there were more."
NOT_POISSON = "The times between arrivals do not vary like a Poisson stream's (cv2 1), which the formulas assume."


def queue(
    jobs: Annotated[
        Path | None, typer.Argument(metavar="JOBS.csv", help="Records of jobs: columns arrival, start and end.")
    ] = None,
    *,
    servers: Annotated[
        int | None, typer.Option(help="How many jobs run at once; from records, by default the most that did, else 1.")
    ] = None,
    utilization: Annotated[float | None, typer.Option(help="The share of time a server is busy, below 1.")] = None,
    mu: Annotated[float | None, typer.Option(help="How many jobs one server finishes per unit of time.")] = None,
    arrival_rate: Annotated[
        float | None, typer.Option("--lambda", help="How many jobs arrive per unit of time.")
    ] = None,
    cv2: Annotated[
        float | None,
        typer.Option(help="Variance of the service time over its squared mean; by default 1, exponential."),
    ] = None,
    wait_longer_than: Annotated[
        float | None, typer.Option(help="Also tell the share of jobs that wait longer.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """How long jobs wait: from two of --utilization, --mu and --lambda, or from a file of records.

    Times are in the unit of the rates; from records, in the unit of their numbers, or in seconds for ISO times.
    """
    if jobs is None:
        _by_formula(_asked_queue(servers, utilization, mu, arrival_rate, cv2), wait_longer_than, output)
    elif any(option is not None for option in (utilization, mu, arrival_rate, cv2)):
        raise InputError("--utilization, --mu, --lambda and --cv2 are estimated from the records; leave them out.")
    else:
        _from_records(jobs, servers, wait_longer_than, output)


def _asked_queue(
    servers: int | None, utilization: float | None, mu: float | None, arrival_rate: float | None, cv2: float | None
) -> "Queue":
    from coxswain.core.queueing.checks import require_positive
    from coxswain.core.queueing.formulas import Queue

    count = 1 if servers is None else servers
    variability = 1.0 if cv2 is None else cv2
    match (utilization, mu, arrival_rate):
        case (None, float(rate), float(arriving)):
            asked = Queue(arriving, rate, count, variability)
        case (float(load), float(rate), None):
            asked = Queue.at_utilization(load, rate, count, variability)
        case (float(load), None, float(arriving)):
            require_positive("the utilisation", load)
            asked = Queue(arriving, arriving / Queue.at_utilization(load, 1.0, count).arrival_rate, count, variability)
        case _:
            raise InputError("give two of --utilization, --mu and --lambda, or a file of records.")
    if not asked.is_stable:
        raise InputError(
            f"at utilisation {asked.utilization:.4g} the queue grows without bound; "
            "it must be below 1: give less load, faster servers or more of them."
        )
    return asked


def _by_formula(asked: "Queue", wait_longer_than: float | None, output: Format) -> None:
    answers = _answers(asked, wait_longer_than)
    notes = _reservations(asked)
    tables = [Table(f"{asked.name} in the long run", ("quantity", "value"), _rows(answers), notes)]
    if asked.servers > 1:
        answers["one_fast_server"] = against = _one_fast_server(asked)
        title = f"Instead, one server {asked.servers} times as fast"
        tables.append(Table(title, ("quantity", "value"), _rows(against), [CROSSING]))
    emit(output, tables, {**answers, "notes": notes})


def _from_records(path: Path, servers: int | None, wait_longer_than: float | None, output: Format) -> None:
    from coxswain.core.queueing.estimation import estimate
    from coxswain.core.queueing.records import job_records

    records = job_records(read_table(path))
    found = estimate(records, servers)
    measured = _measured(found)
    if wait_longer_than is not None:
        measured["wait_longer_than"] = wait_longer_than
        measured["p_wait_longer_than"] = float((records.waits > wait_longer_than).mean())
    models = [found.queue(exponential=True), found.queue()]
    formulas = [_answers(model, wait_longer_than) for model in models]
    notes = _notes(found, models[-1])
    measures = [name for name in measured if name in formulas[0] and name != "stable"]
    compared = Table(
        f"{found.jobs} jobs: measured, and by formula from the estimates",
        ("quantity", "measured", *(model.name for model in models)),
        [[name, measured[name], *(formula[name] for formula in formulas)] for name in measures],
        notes,
    )
    estimates = _estimates(found)
    estimated = Table(
        "Estimates with 95 % intervals",
        ("quantity", "value", "standard_error", "low", "high"),
        [[name, *interval.values()] for name, interval in estimates.items()],
    )
    document = {**measured, "estimates": estimates, "formulas": formulas, "notes": notes}
    emit(output, [compared, estimated], document)


def _answers(asked: "Queue", wait_longer_than: float | None) -> dict[str, Any]:
    """Everything the formulas say, by the names of the JSON document."""
    answers: dict[str, Any] = {
        "model": asked.name,
        "exact": asked.is_exact,
        "stable": asked.is_stable,
        "servers": asked.servers,
        "lambda": asked.arrival_rate,
        "mu": asked.service_rate,
        "cv2": asked.cv2,
        "utilization": asked.utilization,
        "p_queue": asked.p_queue,
        "wait_time": asked.wait_time,
        "response_time": asked.response_time,
        "number_in_queue": asked.number_in_queue,
        "number_in_system": asked.number_in_system,
    }
    if wait_longer_than is not None:
        answers["wait_longer_than"] = wait_longer_than
        answers["p_wait_longer_than"] = asked.p_wait_longer_than(wait_longer_than)
    for percent in PERCENTILES:
        answers[f"wait_time_p{percent}"] = asked.wait_time_quantile(percent / 100)
        answers[f"response_time_p{percent}"] = asked.response_time_quantile(percent / 100)
    return answers


def _one_fast_server(asked: "Queue") -> dict[str, Any]:
    from coxswain.core.queueing.comparison import crossing_cv2, crossing_utilization, one_fast_or_many_slow

    choice = one_fast_or_many_slow(asked)
    return {
        "wait_time": choice.fast.wait_time,
        "response_time": choice.fast.response_time,
        "is_faster": choice.fast_wins,
        "crossing_cv2": crossing_cv2(asked.servers, asked.utilization),
        "crossing_utilization": crossing_utilization(asked.servers, asked.cv2),
    }


def _measured(found: "QueueEstimate") -> dict[str, Any]:
    return {
        "jobs": found.jobs,
        "stable": found.utilization < 1,
        "servers": found.servers,
        "servers_inferred": found.servers_inferred,
        "lambda": found.arrival_rate.value,
        "mu": 1 / found.service_time.value,
        "cv2": found.service_cv2.value,
        "utilization": found.utilization,
        "p_queue": found.p_queue,
        "wait_time": found.wait_time,
        "wait_time_relative_error": found.wait_time_relative_error,
        "response_time": found.response_time,
        "number_in_queue": found.number_in_queue,
        "number_in_system": found.number_in_system,
    }


def _estimates(found: "QueueEstimate") -> dict[str, dict[str, float]]:
    estimates = {
        "lambda": found.arrival_rate,
        "service_time": found.service_time,
        "cv2": found.service_cv2,
        "arrival_cv2": found.gap_cv2,
    }
    return {name: vars(estimate) for name, estimate in estimates.items()}


def _rows(answers: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in answers.items() if name not in ("model", "stable")]


def _reservations(asked: "Queue") -> Sequence[str]:
    """What a reader of the formulas should not miss."""
    return [*([] if asked.is_exact else [APPROXIMATE]), *([] if asked.cv2 == 1 else [NO_TAIL])]


def _notes(found: "QueueEstimate", model: "Queue") -> Sequence[str]:
    off = found.wait_time_relative_error
    typically = f"A mean wait over so many jobs at this load is typically {off:.0%} off its long-run value."
    return [
        *([typically] if math.isfinite(off) else []),
        *([INFERRED] if found.servers_inferred else []),
        *([] if found.looks_poisson else [NOT_POISSON]),
        *([] if model.is_stable else [OVERLOADED]),
        *_reservations(model),
    ]
