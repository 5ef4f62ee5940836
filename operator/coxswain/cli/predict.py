"""`cox predict`: what to expect at settings, and how sure that is."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coxswain.cli.data import Categories, DataFile, DropMissing, Factors, Group, Output, Response
from coxswain.cli.fit import Censored, Seed, Share, read_observations, telling
from coxswain.cli.output import Format, Table, emit
from coxswain.core.errors import InputError

if TYPE_CHECKING:
    from coxswain.core.models import FittedModel

COLUMNS = ("at", "point", "bound", "low", "high", "basis", "seen", "extrapolation")
# One setting a line: side by side they leave no room for what is predicted.
SHOWN = {"at": lambda text: text.replace(", ", "\n")}


def predict(
    data: DataFile,
    *,
    response: Response,
    factors: Factors,
    at: Annotated[list[str], typer.Option("--at", metavar="A=1,B=2,…", help="Settings to predict; may repeat.")],
    confidence: Annotated[float, typer.Option("--confidence", metavar="PERCENT", help="Of bound and interval.")] = 95,
    limit: Annotated[
        float | None, typer.Option("--limit", metavar="Y", help="Also tell the chance to stay within this.")
    ] = None,
    group: Group = None,
    categories: Categories = None,
    censored: Censored = None,
    drop_missing: DropMissing = False,
    share: Share = False,
    seed: Seed = 0,
    output: Output = Format.TABLE,
) -> None:
    """Predict the response at settings: a point, an upper bound, an interval, and what they rest on."""
    from coxswain.core import models
    from coxswain.core.models.observations import settings_array

    if not 50 <= confidence < 100:
        raise InputError(f"--confidence {confidence:g} is not a percentage from 50 to below 100; give one such as 95.")
    if limit is not None and not math.isfinite(limit):
        raise InputError(f"--limit {limit:g} is not a finite number; give one.")
    named = [_settings(text) for text in at]
    observations, left_out = read_observations(
        data, response, factors, group=group, categories=categories, censored=censored, drop_missing=drop_missing
    )
    numbers = {factor.name for factor in observations.factors if factor.is_numeric}
    queries = [{name: _value(text) if name in numbers else text for name, text in query.items()} for query in named]
    settings_array(observations.factors, queries)  # a slip in --at is told before the long fit
    with telling() as tell:
        model = models.fit(observations, seed=seed, shares=share, progress=tell)
    predictions = _predictions(model, queries, confidence / 100, limit)
    document: dict[str, Any] = {
        "response": response,
        "confidence": confidence,
        "chosen": model.chosen,
        "rows": model.rows,
        "predictions": predictions,
        "notes": list(left_out),
    }
    notes = [*left_out, f"By {model.chosen}, fitted to {model.rows} rows; bounds hold with {confidence:g} %."]
    if not share and bool((abs(observations.y - 0.5) <= 0.5).all()) and any(each["high"] > 1 for each in predictions):
        notes.append(f"If {response} is a share, which cannot be above 1, say so by --share.")
    if len(queries) > 1:
        picked = model.best_of(queries, confidence / 100)
        best = {"at": queries[picked.best], "bound": picked.bounds[picked.best], "level": 100 * picked.level}
        document["best"] = best
        notes.append(
            f"If the best of these is picked, {_text(best['at'])}, its bound is {best['bound']:.4g}: "
            "picking favours settings that the model is too hopeful about."
        )
    columns: tuple[str, ...] = COLUMNS if limit is None else (*COLUMNS, "chance")
    if output is Format.TABLE:  # no column has room for sentences
        columns = tuple(column for column in columns if column != "extrapolation")
        notes += [f"{_text(each['at'])}: {note}." for each in predictions for note in each["extrapolation"]]
    rows = [[_cell(each[column]) for column in columns] for each in predictions]
    emit(output, [Table(f"Predictions of {response}", columns, rows, notes, SHOWN)], document)


def _predictions(
    model: "FittedModel", queries: Sequence[Mapping[str, Any]], confidence: float, limit: float | None
) -> list[dict[str, Any]]:
    predictive = model.predict(queries)
    bound, (low, high) = predictive.quantile(confidence), predictive.interval(confidence)
    basis = predictive.basis(confidence)
    chances = None if limit is None else predictive.cdf(limit)
    return [
        {
            "at": query,
            "point": predictive.point[index],
            "bound": bound[index],
            "low": low[index],
            "high": high[index],
            "basis": basis[index].value,
            "seen": bool(predictive.seen[index]),
            "extrapolation": list(predictive.notes[index]),
            **({} if chances is None else {"chance": chances[index]}),
        }
        for index, query in enumerate(queries)
    ]


def _settings(text: str) -> dict[str, str]:
    """The settings in `a=1,b=x`, as they are written."""
    settings: dict[str, str] = {}
    for part in text.split(","):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not (name and sign and value):
            raise InputError(f"--at {text} cannot be read at '{part}'; write factor=value, separated by commas.")
        if name in settings:
            raise InputError(f"--at {text} names {name} twice; name it once.")
        settings[name] = value
    return settings


def _value(text: str) -> float | str:
    """The number that a text is; one that is none is refused where the settings are read."""
    try:
        return float(text)
    except ValueError:
        return text


def _text(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in settings.items()
    )


def _cell(value: Any) -> Any:
    match value:
        case Mapping():
            return _text(value)
        case list():
            return "; ".join(value)
        case str() | bool():
            return value
        case _:
            return float(value)
