"""`cox fit`: which model predicts rows it has not seen best, how well, and what it goes by."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coxswain.cli.data import (
    Categories,
    DataFile,
    DropMissing,
    Factors,
    Group,
    Output,
    Response,
    read_table,
    split_names,
    with_response,
)
from coxswain.cli.output import Format, Table, emit
from coxswain.core.errors import InputError

if TYPE_CHECKING:
    from coxswain.core.models import FittedModel, Importance, Observations, Scores

Censored = Annotated[
    str | None,
    typer.Option("--censored", metavar="C", help="A column of 0 and 1: runs that were killed, so took at least that."),
]
Share = Annotated[
    bool, typer.Option("--share", help="The response is a share from 0 to 1, such as an accuracy; so are predictions.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of the random folds.")]

COLUMNS = ("name", "r2", "rmse", "mae", "mape", "crps", "coverage", "bound_ratio")
SHOWN = dict.fromkeys(("r2", "mape", "coverage", "bound_ratio"), "{:.3f}".format)


def fit(
    data: DataFile,
    *,
    response: Response,
    factors: Factors,
    group: Group = None,
    categories: Categories = None,
    censored: Censored = None,
    drop_missing: DropMissing = False,
    share: Share = False,
    without: Annotated[
        str | None, typer.Option("--without", metavar="A", help="Also tell what is lost without this factor.")
    ] = None,
    seed: Seed = 0,
    output: Output = Format.TABLE,
) -> None:
    """Compare models by their error on rows not fitted, and choose one."""
    from coxswain.core import models

    observations, notes = read_observations(
        data, response, factors, group=group, categories=categories, censored=censored, drop_missing=drop_missing
    )
    if without:
        observations.without(without)  # a slip is told before the long fit
    with telling() as tell:
        model = models.fit(observations, seed=seed, shares=share, progress=tell)
        tell("importance")
        ranking = models.importance(model, observations, seed=seed)
        ablation = None
        if without:
            tell(f"without {without}")
            ablation = models.ablate(observations, without, seed=seed, shares=share)
    tables = [_models_table(model, notes), _importance_table(model, ranking)]
    document: dict[str, Any] = {
        "response": response,
        "rows": model.rows,
        "observations": len(observations.y),
        "models": [asdict(scores) for scores in model.models],
        "chosen": model.chosen,
        "setting": dict(model.tuned.setting),
        "nested": asdict(model.nested),
        "importance": [asdict(each) for each in ranking],
        "notes": list(notes),
    }
    if ablation:
        tables.append(_ablation_table(model.nested, str(without), *ablation))
        document["without"] = {"factor": without, "chosen": ablation[0], "nested": asdict(ablation[1])}
    emit(output, tables, document)


def read_observations(
    data: Path,
    response: str,
    factors: str,
    *,
    group: str | None,
    categories: str | None,
    censored: str | None,
    drop_missing: bool,
) -> "tuple[Observations, tuple[str, ...]]":
    """The measurements in a CSV file, ready to be fitted, and what to tell of those that are left out."""
    import numpy as np

    from coxswain.core.dataset import make_dataset
    from coxswain.core.models import from_dataset

    table = with_response(read_table(data), response)
    dataset = make_dataset(
        table,
        response,
        split_names(factors),
        group=group,
        categories=split_names(categories),
        drop_missing=drop_missing,
    )
    if censored is None:
        return from_dataset(dataset), dataset.left_out
    if censored not in table.columns:
        raise InputError(f"there is no column {censored}; the columns are {', '.join(map(str, table.columns))}.")
    marks = table[censored].to_numpy()[dataset.rows - 1]
    if not set(marks.tolist()) <= {0, 1}:
        raise InputError(f"column {censored} must be 1 for runs that were killed and 0 for others.")
    return from_dataset(dataset, np.asarray(marks == 1)), dataset.left_out


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """A function to tell how far a long fit has come, heard only where somebody watches."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("fitting") as status:
        yield lambda stage: status.update(f"fitting: {stage}")


def _models_table(model: "FittedModel", left_out: Sequence[str]) -> Table:
    rows = [tuple(getattr(scores, column) for column in COLUMNS) for scores in model.models]
    setting = ", ".join(f"{axis} {value}" for axis, value in model.tuned.setting.items())
    nested, ahead = model.nested, model.models[0].name
    notes = [*left_out, f"Chosen: {model.chosen} ({setting}), fitted to {model.rows} rows."]
    if ahead != model.chosen:
        notes.append(f"Choosing has folds of its own, apart from those above, where {ahead} leads.")
    notes.append(
        f"Choosing anew in each fold gives MAPE {nested.mape:.2%} and bounds that hold for {nested.coverage:.1%} "
        f"of runs, {nested.bound_ratio:.2f} times the actual value on average."
    )
    return Table(f"Models of {model.response}, by their error on rows not fitted", COLUMNS, rows, notes, SHOWN)


def _importance_table(model: "FittedModel", ranking: tuple["Importance", ...]) -> Table:
    what = f"of log {model.response}" if model.comparison.logarithmic else f"of {model.response}"
    rows = [(each.factor, each.permutation, each.impurity) for each in ranking]
    notes = [f"Permutation: growth of the mean absolute error {what} when the factor is shuffled."]
    return Table("What the predictions go by", ("factor", "permutation", "impurity"), rows, notes)


def _ablation_table(full: "Scores", factor: str, chosen: str, without: "Scores") -> Table:
    columns = ("features", *COLUMNS)
    rows = [
        (label, name, *(getattr(scores, column) for column in COLUMNS[1:]))
        for label, name, scores in (("all", full.name, full), (f"without {factor}", chosen, without))
    ]
    return Table(f"What is lost without {factor}", columns, rows, shown=SHOWN)
