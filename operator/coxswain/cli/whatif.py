"""`cox whatif`: what would change for each job if the queue had other capacity, or prices were others."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coxswain.cli.cluster import Namespace
from coxswain.cli.data import Output
from coxswain.cli.output import Format, Table, emit
from coxswain.cli.plan import flat, percent, priced, queue_document, settings_text, span
from coxswain.cli.source import Everywhere, Jobs, LearnFrom, NodeType, QueueName, Source, prices_of
from coxswain.core.errors import InputError

if TYPE_CHECKING:
    from coxswain.core.steering.account import Said
    from coxswain.core.steering.scene import Situation

COLUMNS = ("job", "with", "then", "done in", "then", "chance", "then")


def whatif(
    jobs: Jobs = None,
    *,
    cores: Annotated[float | None, typer.Option(metavar="N", help="Cores that the queue would have.")] = None,
    gpus: Annotated[int | None, typer.Option(metavar="N", help="GPUs that the queue would have.")] = None,
    price: Annotated[
        list[str] | None,
        typer.Option("--price", metavar="WHAT=X", help="What a core, gib or gpu would cost an hour: core=0.05."),
    ] = None,
    base_cores: Annotated[
        float | None, typer.Option(metavar="N", help="Cores that it has; by default what others leave of the nodes.")
    ] = None,
    base_gpus: Annotated[
        int | None, typer.Option(metavar="N", help="GPUs that it has; by default what others leave of the nodes.")
    ] = None,
    base_price: Annotated[
        list[str] | None, typer.Option("--base-price", metavar="WHAT=X", help="What an hour costs now.")
    ] = None,
    learn_from: LearnFrom = None,
    queue: QueueName = None,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    node_type: NodeType = None,
    output: Output = Format.TABLE,
) -> None:
    """Compare the plan with the one that another capacity, or other prices, would give."""
    from coxswain.core.steering.account import account_of

    if cores is None and gpus is None and not price:
        raise InputError("nothing differs; give --cores, --gpus or --price.")
    source = Source(
        jobs,
        learn_from,
        queue,
        base_cores,
        base_gpus,
        prices_of(base_price, "--base-price"),
        namespace,
        everywhere,
        node_type,
    )
    if jobs is not None and base_cores is None:
        raise InputError("files do not say what their queue has now; give --base-cores.")
    before = source.situation()
    after = _changed(before, cores, gpus, price)
    accounts = {said.step.decision.name: said for said in account_of(after)}
    pairs = [(said, accounts[said.step.decision.name]) for said in account_of(before)]
    told = [{"name": one.step.job.name, "before": one.document(), "after": then.document()} for one, then in pairs]
    document = {"before": queue_document(before), "after": queue_document(after), "jobs": told}
    if output is Format.CSV:
        emit(output, [flat("What would change", told)], document)
        return
    costs = priced(before) or priced(after)
    columns = (*COLUMNS, "cost", "then") if costs else COLUMNS
    rows = [_row(one, then, before)[: len(columns)] for one, then in pairs]
    emit(output, [Table("As it is, and as it would be", columns, rows, _notes(pairs, before, after))], document)


def _changed(situation: "Situation", cores: float | None, gpus: int | None, price: list[str] | None) -> "Situation":
    from coxswain.core.planning.values import Capacity

    capacity = situation.capacity
    for option, amount in (("--cores", cores), ("--gpus", gpus)):
        if amount is not None and not 0 <= amount <= 1e6:
            raise InputError(f"{option} is {amount:g}; give a number from 0 to 1000000.")
    return replace(
        situation,
        capacity=Capacity(
            capacity.cores if cores is None else round(1000 * cores), capacity.gpus if gpus is None else gpus
        ),
        prices=prices_of(price) if price else situation.prices,
    )


def _row(one: "Said", then: "Said", situation: "Situation") -> list[Any]:
    now = situation.now.timestamp()
    cells = []
    for said in (one, then):
        finish = said.step.decision.forecast.finish.median
        cells.append(
            [
                settings_text(said.setting),
                None if finish is None else span(finish - now),
                percent(said.step.decision.forecast.chance),
                said.step.cost,
            ]
        )
    return [one.step.job.name, *(cell for pair in zip(*cells, strict=True) for cell in pair)]


def _notes(pairs: "list[tuple[Said, Said]]", before: "Situation", after: "Situation") -> list[str]:
    from coxswain.core.planning.words import told_amount

    told = []
    for situation, which in ((before, 0), (after, 1)):
        steps = [pair[which].step for pair in pairs]
        timed = [step for step in steps if step.advice.attainable is not None]
        in_time, cost = sum(bool(step.advice.attainable) for step in timed), sum(step.cost for step in steps)
        told.append(
            f"{told_amount(situation.capacity)}: {in_time} of {len(timed)} in time"
            + (f", {cost:.4g} in all" if cost else "")
        )
    return [f"{told[0]}; then {told[1]}.", *before.notes]
