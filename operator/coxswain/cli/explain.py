"""`cox explain`: a job's forecast, what it is made of, and what would change it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coxswain.cli.cluster import Namespace
from coxswain.cli.data import Output
from coxswain.cli.output import Format, Table, emit
from coxswain.cli.plan import flat, percent, priced, queue_document, settings_text, span
from coxswain.cli.source import (
    Cores,
    Everywhere,
    Gpus,
    Jobs,
    LearnFrom,
    NodeType,
    Price,
    QueueName,
    Source,
    prices_of,
    read_jobs,
)
from coxswain.core.errors import InputError

if TYPE_CHECKING:
    from coxswain.core.steering.account import Part, Said
    from coxswain.core.steering.alternatives import Alternative
    from coxswain.core.steering.scene import Situation

FORECAST = ("", "expected", "bound")
PARTS = ("part", "seconds", "share")
INSTEAD = ("instead", "takes", "done in", "chance", "accuracy")


def explain(
    job: Annotated[str, typer.Argument(metavar="JOB", help="A job by its name, or the manifest of one.")],
    jobs: Jobs = None,
    *,
    learn_from: LearnFrom = None,
    cores: Cores = None,
    gpus: Gpus = None,
    price: Price = None,
    queue: QueueName = None,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    node_type: NodeType = None,
    output: Output = Format.TABLE,
) -> None:
    """Explain the forecast of a job that waits, and what it would be with half and twice of each field.

    Whatever waits beside it, in the same file, folder or queue, is planned with it.
    """
    from coxswain.core.steering.account import account_of, instead_of, made_of, waiting_job

    if jobs is None and Path(job).suffix in {".yaml", ".yml", ".json"}:
        jobs, job = Path(job), _only_job(Path(job))
    source = Source(jobs, learn_from, queue, cores, gpus, prices_of(price), namespace, everywhere, node_type)
    situation = source.situation()
    prospect = waiting_job(situation, job)
    said = next(each for each in account_of(situation) if each.prospect is prospect)
    parts, learned = made_of(said, situation)
    instead = instead_of(situation, prospect)
    document = {
        **queue_document(situation),
        "job": said.document(),
        "parts": [{"part": part.name, "seconds": part.seconds} for part in parts],
        "learned": learned,
        "instead": [
            {"field": each.field, "value": each.value, "change": each.told, **_changed(other)}
            for each, other in instead
        ],
    }
    if output is Format.CSV:
        emit(output, [flat("Instead", document["instead"])], document)
        return
    tables = [
        _forecast_table(said, situation),
        _parts_table(parts, learned),
        _instead_table(said, instead, situation),
    ]
    emit(output, tables, document)


def _only_job(path: Path) -> str:
    from datetime import UTC, datetime

    names = [each.name for each in read_jobs(path, datetime.now(UTC))]
    if len(names) > 1:
        raise InputError(f"{path} has the jobs {', '.join(names)}; write cox explain JOB {path}.")
    return names[0]


def _forecast_table(said: "Said", situation: "Situation") -> Table:
    step, now = said.step, situation.now.timestamp()
    forecast, times = step.decision.forecast, step.candidate.times
    confidence = step.job.spec.steering.confidence_percent
    finish = [None if each is None else each - now for each in (forecast.finish.median, forecast.finish.bound)]
    rows: list[list[Any]] = [
        ["waits", span(forecast.wait.median), span(forecast.wait.bound)],
        ["takes", span(times.quantile(0.5)), span(times.quantile(confidence / 100))],
        ["done in", span(finish[0]), span(finish[1])],
        ["runs with", settings_text(said.setting), None],
    ]
    if said.accuracy is not None:
        rows.append(["accuracy", said.accuracy, None])
    if priced(situation):
        rows.append(["cost", step.cost, None])
    if step.job.deadline is not None:
        rows.append(["deadline in", span(step.job.deadline.timestamp() - now), None])
        rows.append(["chance", percent(forecast.chance), None])
    notes = [step.advice.reason, *([step.advice.remedy] if step.advice.remedy else [])]
    notes.append(
        f"Bounds hold with {confidence} %; it is number {step.rank + 1} of {len(situation.waiting)} that wait."
    )
    notes += situation.notes
    return Table(f"{step.job.name}: what to expect", FORECAST, rows, notes)


def _parts_table(parts: "list[Part]", learned: list[str]) -> Table:
    whole = sum(part.seconds for part in parts) or 1.0
    rows = [[part.name, part.seconds, f"{part.seconds / whole:.0%}"] for part in parts]
    return Table("What it is made of", PARTS, rows, learned)


def _instead_table(said: "Said", instead: "list[tuple[Alternative, Said]]", situation: "Situation") -> Table:
    now, costs = situation.now.timestamp(), priced(situation)

    def row(told: str, one: "Said") -> list[Any]:
        finish = one.step.decision.forecast.finish.median
        return [
            told,
            span(one.step.candidate.times.quantile(0.5)),
            None if finish is None else span(finish - now),
            percent(one.step.decision.forecast.chance),
            one.accuracy,
            *([one.step.cost] if costs else []),
        ]

    rows = [row("as planned", said), *(row(each.told, other) for each, other in instead)]
    columns = (*INSTEAD, "cost") if costs else INSTEAD
    return Table("What would change it", columns, rows, ["One field at a time, everything planned anew."])


def _changed(said: "Said") -> dict[str, Any]:
    document = said.document()
    wanted = ("duration_seconds", "wait_seconds", "finish", "chance", "attainable", "accuracy", "cost")
    return {name: document[name] for name in wanted}
