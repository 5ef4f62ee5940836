"""`cox plan`: what the operator would do now with the jobs that wait, and why."""

from typing import TYPE_CHECKING, Any

from coxswain.cli.cluster import Namespace
from coxswain.cli.data import Output
from coxswain.cli.output import Format, Table, emit
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
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coxswain.core.steering.account import Said
    from coxswain.core.steering.scene import Situation

COLUMNS = ("job", "starts", "with", "done in", "latest", "deadline", "chance")
WHY = ("job", "why")


def plan(
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
    """Tell which of the jobs that wait would start now, with which settings, and what each may expect.

    Nothing is written: the operator decides by the same code.
    """
    from coxswain.core.steering.account import account_of

    source = Source(jobs, learn_from, queue, cores, gpus, prices_of(price), namespace, everywhere, node_type)
    situation = source.situation()
    account = account_of(situation)
    told = [said.document() for said in account]
    document = {**queue_document(situation), "jobs": told}
    if output is Format.CSV:
        emit(output, [flat("The plan", told)], document)
        return
    columns = (*COLUMNS, "cost") if priced(situation) else COLUMNS
    rows = [_row(said, situation) for said in account]
    reasons = [
        (said.step.job.name, " ".join(filter(None, (said.step.advice.reason, said.step.advice.remedy))))
        for said in account
    ]
    tables = [Table("The plan, in its order", columns, rows, _notes(account, situation)), Table("Why", WHY, reasons)]
    emit(output, tables, document)


def queue_document(situation: "Situation") -> dict[str, Any]:
    """What was looked at."""
    return {
        "time": situation.now.isoformat(timespec="seconds"),
        "cores": situation.capacity.cores / 1000,
        "gpus": situation.capacity.gpus,
        "waiting": len(situation.waiting),
        "running": len(situation.running),
        "notes": list(situation.notes),
    }


def priced(situation: "Situation") -> bool:
    """Whether anything costs money."""
    return any(vars(situation.prices).values())


def flat(title: str, documents: "Sequence[Mapping[str, Any]]") -> Table:
    """Documents as a table for programs: a column for each value, those inside another by both names with a dot."""
    rows = [_flattened(each) for each in documents]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return Table(title, columns, [[row.get(name) for name in columns] for row in rows])


def _flattened(document: "Mapping[str, Any]", within: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            found |= _flattened(value, f"{within}{name}.")
        else:
            found[f"{within}{name}"] = value
    return found


def span(seconds: float | None) -> str | None:
    """Seconds as people say them; a time that has passed has a minus."""
    from coxswain.core.planning.words import told_span

    if seconds is None:
        return None
    return told_span(seconds) if seconds >= 0 else f"-{told_span(-seconds)}"


def percent(chance: float | None) -> str | None:
    """A chance in per cent, rounded down."""
    return None if chance is None else f"{int(100 * chance + 1e-9)} %"


def settings_text(settings: dict[str, float]) -> str:
    """Settings by their names."""
    from coxswain.core.planning.words import told_settings

    return told_settings(settings)


def _row(said: "Said", situation: "Situation") -> list[Any]:
    step, now = said.step, situation.now.timestamp()
    forecast = step.decision.forecast
    finish = [None if each is None else each - now for each in (forecast.finish.median, forecast.finish.bound)]
    deadline = step.job.deadline
    return [
        step.job.name,
        "now" if step.decision.starts_now else span(forecast.wait.median),
        settings_text(said.setting),
        span(finish[0]),
        span(finish[1]),
        None if deadline is None else span(deadline.timestamp() - now),
        percent(forecast.chance),
        *([step.cost] if priced(situation) else []),
    ]


def _notes(account: "list[Said]", situation: "Situation") -> list[str]:
    from coxswain.core.planning.words import told_amount

    running = len(situation.running)
    notes = [
        f"The queue has {told_amount(situation.capacity)}; {running} of its jobs run{'s' if running == 1 else ''}."
    ]
    unknown = [said.step.job.name for said in account if not (said.prospect.model and said.prospect.model.durations)]
    if unknown:
        notes.append(
            f"Too little has been observed of jobs like {', '.join(unknown[:5])}: they are guessed, and run as asked."
        )
    if not account:
        notes.append("No job waits.")
    return [*notes, *situation.notes]
