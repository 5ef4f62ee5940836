"""`cox ledger`: the observations that the operator keeps in a cluster, to see, take out, bring in, and leave out.

It works on the same objects as the operator and asks nothing of it: what is changed here, the operator sees by itself
within its next resync. The cluster, and the namespace where none is given, are those that kubectl would use.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coxswain.cli.cluster import Answer, Namespace, ask
from coxswain.cli.data import Output
from coxswain.cli.manifest import read_manifest
from coxswain.cli.output import Format, Table, emit
from coxswain.core.errors import InputError

if TYPE_CHECKING:
    from coxswain.core.ledger import Entry
    from coxswain.core.ledger.measured import Like
    from coxswain.shell.cluster import Cluster
    from coxswain.shell.ledger import Ledger

app = typer.Typer(help="The observations of finished runs that a cluster keeps.", no_args_is_help=True)

Family = Annotated[str | None, typer.Option(metavar="KEY", help="Only those of this family.")]
Experiment = Annotated[str | None, typer.Option(metavar="NAME", help="Only those of the experiment of this name.")]
Runs = Annotated[list[str], typer.Argument(metavar="RUN…", help="Runs, by UID or by the name of the job.")]

COLUMNS = ("uid", "job", "family", "state", "epochs", "duration", "accuracy", "finished", "excluded")


SCORES = (
    "family",
    "made",
    "forecasts",
    "confidence",
    "interval_held",
    "bound_held",
    "mape",
    "crps",
    "skill",
    "promised",
    "kept",
)
ABOUT_SCORES = (
    "confidence is what was stated: the shares interval_held and bound_held (of the latest finish) should be as large.",
    "skill is the share of the CRPS of plain history that was saved; kept is how many promised deadlines were met.",
)


@app.command(name="list")
def list_(
    *, namespace: Namespace = None, family: Family = None, experiment: Experiment = None, output: Output = Format.TABLE
) -> None:
    """List observations; as JSON with all that is known of them."""
    entries = _selected(namespace, family, experiment)
    families = {entry.family.key: entry.family for entry in entries}
    notes = [f"{key}  {families[key].title}" for key in sorted(families)]
    count = sum(entry.excluded is None for entry in entries)
    notes.append(f"{len(entries)} observations, {len(entries) - count} of them excluded.")
    rows = [
        (
            entry.uid,
            entry.job,
            entry.family.key,
            entry.observation.state,
            entry.observation.epochs,
            entry.observation.responses.get("duration"),
            entry.observation.responses.get("accuracy"),
            entry.observation.finished,
            entry.excluded,
        )
        for entry in entries
    ]
    document = {
        "families": [{"key": key, "title": each.title, **asdict(each)} for key, each in sorted(families.items())],
        "observations": [
            {**json.loads(entry.to_json()), "family": entry.family.key, "excluded": entry.excluded} for entry in entries
        ],
    }
    emit(output, [Table("Observations", COLUMNS, rows, notes)], document)


@app.command()
def scores(*, namespace: Namespace = None, family: Family = None, output: Output = Format.TABLE) -> None:
    """Say how good forecasts were, by family: how often they held, how far off they were, which promises were kept."""
    from coxswain.core.forecasts.scores import Made, scores_of

    entries = [entry for entry in _selected(namespace, family, None) if entry.excluded is None]
    families = {entry.family.key: entry.family for entry in entries}
    found = [
        {"family": key, "made": str(made), **asdict(scores_of([each for each in entries if each.family == one], made))}
        for key, one in sorted(families.items())
        for made in Made
    ]
    rows = [[each[column] for column in SCORES] for each in found]
    tables = [Table("Forecasts and what came", SCORES, rows)]
    if output is Format.TABLE and families:
        # Eleven columns do not fit a terminal: a table a family, upright.
        tables = [
            _upright(f"Forecasts of {one.title}, family {key}", [each for each in found if each["family"] == key])
            for key, one in sorted(families.items())
        ]
        tables[-1] = replace(tables[-1], notes=ABOUT_SCORES)
    emit(output, tables, {"scores": found})


def _upright(title: str, scores: Sequence[Mapping[str, object]]) -> Table:
    """The scores of a family, a column for each time that forecasts were made."""
    rows = [(name, *(each[name] for each in scores)) for name in SCORES[2:]]
    return Table(title, ("", *(f"at {each['made']}" for each in scores)), rows)


@app.command()
def export(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE.csv]", help="By default it is printed.")] = None,
    *,
    namespace: Namespace = None,
    family: Family = None,
    experiment: Experiment = None,
) -> None:
    """Write observations as CSV, which `cox analyze` and `cox ledger import` read."""
    from coxswain.core.ledger.table import to_csv

    text = to_csv(_selected(namespace, family, experiment))
    if file is None:
        print(text, end="")
        return
    try:
        file.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"{file} cannot be written ({error.strerror}); give another file.") from None


@app.command(name="import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="DATA.csv", help="As exported, or a table of fields and responses.")],
    *,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="JOB.yaml", help="The TrainingJob or TrainingExperiment that says what a table's runs were."
        ),
    ] = None,
    node_type: Annotated[
        str,
        typer.Option(metavar="TYPE", help="With --like, where the runs were made; the nodes' label instance-type."),
    ] = "",
    namespace: Namespace = None,
) -> None:
    """Take in observations from a CSV file; those that are there already are left as they are."""
    from coxswain.core.ledger.table import read_csv

    text = _text(file)
    described = _like(like, node_type)
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

    async def take_in(ledger: "Ledger", where: str) -> str:
        try:
            entries = read_csv(text, where, described, now)
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
        new = await ledger.add(entries)
        return f"{new} of {len(entries)} observations were new and are in the ledger of namespace {where} now."

    print(_with_ledger(namespace, take_in))


@app.command()
def exclude(
    runs: Runs,
    *,
    reason: Annotated[
        str, typer.Option("--reason", "-r", metavar="TEXT", help="Why nothing should be learnt from them.")
    ],
    namespace: Namespace = None,
) -> None:
    """Leave runs out of all models and analyses, for a reason; they stay in the ledger."""

    async def leave_out(ledger: "Ledger", where: str) -> None:
        for entry in _named(runs, ledger.all(), where):
            await ledger.exclude(*entry.key, reason)
            print(f"{entry.job} ({entry.uid}) is excluded.")

    _with_ledger(namespace, leave_out)


@app.command()
def include(runs: Runs, *, namespace: Namespace = None) -> None:
    """Take excluded runs back in."""

    async def take_back(ledger: "Ledger", where: str) -> None:
        for entry in _named(runs, ledger.all(), where):
            await ledger.include(*entry.key)
            print(f"{entry.job} ({entry.uid}) is included.")

    _with_ledger(namespace, take_back)


def _with_ledger(namespace: str | None, act: "Callable[[Ledger, str], Awaitable[Answer]]") -> Answer:
    """Do something with the ledger of a namespace, as it is now."""

    async def load_and_act(cluster: "Cluster", where: str) -> Answer:
        from coxswain.shell.ledger import Ledger

        ledger = Ledger(cluster, [where])
        await ledger.load()
        return await act(ledger, where)

    return ask(namespace, load_and_act)


def _selected(namespace: str | None, family: str | None, experiment: str | None) -> "Sequence[Entry]":
    async def select(ledger: "Ledger", _: str) -> "Sequence[Entry]":
        chosen = [
            entry
            for entry in ledger.all()
            if family in {None, entry.family.key} and experiment in {None, entry.observation.experiment}
        ]
        return sorted(chosen, key=lambda entry: (entry.observation.finished, entry.uid))

    return _with_ledger(namespace, select)


def _named(names: Sequence[str], entries: "Collection[Entry]", namespace: str) -> "Sequence[Entry]":
    """The entries that are meant; all are found before anything is done to one."""
    return [_one(name, entries, namespace) for name in names]


def _one(name: str, entries: "Collection[Entry]", namespace: str) -> "Entry":
    found = [entry for entry in entries if name in {entry.uid, entry.job}]
    if not found:
        raise InputError(f"the ledger of namespace {namespace} has no run {name}; `cox ledger list` lists them.")
    if len(found) > 1:
        raise InputError(
            f"{len(found)} runs have the name {name}; give a UID: {', '.join(each.uid for each in found)}."
        )
    return found[0]


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no file {file}; check the path.") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}); give a CSV file.") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not text in UTF-8; save it as CSV in UTF-8.") from None


def _like(path: Path | None, node_type: str) -> "Like | None":
    from coxswain.core.api import parse
    from coxswain.core.ledger.measured import Like

    if path is None:
        if node_type:
            raise InputError("--node-type is for tables that need --like; an exported one says itself where it ran.")
        return None
    return Like.of(parse(read_manifest(path, "TrainingJob", "TrainingExperiment", nameable=False)), node_type)
