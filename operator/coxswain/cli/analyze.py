"""`cox analyze`: what made the difference in a table of measurements, and whether to believe it."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from coxswain.cli.data import (
    Categories,
    DataFile,
    DropMissing,
    Factors,
    Group,
    LogCoded,
    Output,
    Response,
    read_table,
    split_names,
    with_response,
)
from coxswain.cli.output import Format, Table, emit
from coxswain.core.errors import InputError

if TYPE_CHECKING:
    from coxswain.core.analysis import Analysis

DEFAULT_ORDER = 2
# With more bars than these a chart on a terminal no longer shows what stands out.
MOST_BARS = 20
BAR_WIDTH = 24


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


# How people see columns: an interaction may go on in the next line, and digits beyond those that matter are left out.
SHOWN: Mapping[str, Callable[[Any], str]] = {
    "term": lambda term: term.replace(":", ": "),
    **dict.fromkeys(("p", "p "), _p),
    **dict.fromkeys(("f", "percent"), "{:.2f}".format),
    **dict.fromkeys(("Pearson", "Spearman"), "{:.3f}".format),
}


def analyze(
    data: DataFile,
    *,
    response: Response,
    factors: Factors,
    interactions: Annotated[
        int | None, typer.Option(metavar="N", help=f"All interactions up to this order ({DEFAULT_ORDER} by default).")
    ] = None,
    formula: Annotated[
        str | None, typer.Option(metavar="F", help="The model's terms instead, such as 'a*b + c' or '(a + b)^2 + a^2'.")
    ] = None,
    sums_of_squares: Annotated[
        Literal["I", "II", "III"], typer.Option("--type", help="The type of sums of squares.")
    ] = "III",
    group: Group = None,
    block: Annotated[
        str | None,
        typer.Option(metavar="B", help="A column that tells which rows were measured in one go, on one day or node."),
    ] = None,
    log: LogCoded = None,
    categories: Categories = None,
    drop_missing: DropMissing = False,
    reduce: Annotated[bool, typer.Option("--reduce", help="Leave out terms that do not matter.")] = False,
    alpha: Annotated[float, typer.Option(help="The chance of error that tests and intervals allow.")] = 0.05,
    output: Output = Format.TABLE,
) -> None:
    """Effects, analysis of variance, R² and checks of the measurements in a CSV file."""
    from coxswain.core import analysis
    from coxswain.core.dataset import make_dataset
    from coxswain.core.factors import Coding

    if interactions is not None and formula is not None:
        raise InputError("--interactions and --formula both say what the model is; give one of them.")
    measurements = make_dataset(
        with_response(read_table(data), response),
        response,
        split_names(factors),
        group=group,
        block=block,
        categories=split_names(categories),
        codings=dict.fromkeys(split_names(log), Coding.LOG),
        drop_missing=drop_missing,
    )
    if formula is None:
        terms = analysis.interactions(measurements.factors, DEFAULT_ORDER if interactions is None else interactions)
    else:
        terms = analysis.parse_formula(formula, measurements.factors)
    found = analysis.analyze(
        measurements, terms, kind=analysis.SumsOfSquares(sums_of_squares), alpha=alpha, reduce=reduce
    )
    emit(output, _tables(found), analysis.document(found))


def _tables(found: "Analysis") -> list[Table]:
    tables = [_anova(found), _summary(found), effects_table(found), _pareto(found), _checks(found)]
    if found.correlations:
        tables.append(_correlations(found))
    if found.alternatives:
        tables.append(_alternatives(found))
    return tables


def _anova(found: "Analysis") -> Table:
    rows = [
        (row.term, row.df, row.sum_sq, _number(row.mean_sq), _number(row.f), _number(row.p), row.percent)
        for row in found.anova
    ]
    columns = ("term", "df", "sum_sq", "mean_sq", "f", "p", "percent")
    title = f"Analysis of variance of {found.response} (type {found.type})"
    return Table(title, columns, rows, found.notes, shown=SHOWN)


def _summary(found: "Analysis") -> Table:
    r2 = [found.r2, found.r2_adjusted, found.r2_predicted, found.r2_folds]
    shares = [None if value is None or math.isnan(value) else round(100 * value, 2) for value in r2]
    columns = ("s", "R² %", "adjusted %", "predicted %", "on folds %")
    return Table("How well the model fits and predicts", columns, [(_number(found.s), *shares)])


def effects_table(found: "Analysis") -> Table:
    """What each term does to the response, with its interval and p-value."""
    from coxswain.core.analysis import equation

    rows = [
        (each.term, each.effect, each.coefficient, _number(each.low), _number(each.high), _number(each.p))
        for each in found.coefficients
    ]
    title = f"Effects and coefficients in coded units, with intervals at {100 * (1 - found.alpha):g} %"
    notes = ["", f"In natural units: {equation(found)}"]
    return Table(title, ("term", "effect", "coefficient", "from", "to", "p"), rows, notes, shown=SHOWN)


def _pareto(found: "Analysis") -> Table:
    chart = found.pareto
    measure = "|t|" if chart.measure == "t" else "|effect|"
    bars = [bar for bar in chart.bars if not math.isnan(bar.value)][:MOST_BARS]
    longest = max((bar.value for bar in bars), default=0.0)
    longest = max(longest, chart.limit) if math.isfinite(chart.limit) else longest
    rows = [(bar.term, bar.value, "*" if bar.active else "", _bar(bar.value, chart.limit, longest)) for bar in bars]
    notes = [f"The line is at {chart.limit:.4g}: what lies beyond it (*) stands out (alpha {found.alpha:g})."]
    if chart.lenth:
        limits = f"margin of error {chart.lenth.me:.4g} (the line; * beyond it), simultaneous {chart.lenth.sme:.4g}"
        notes = [f"Lenth's method: {limits}, pseudo standard error {chart.lenth.pse:.4g}."]
    if len(chart.bars) > len(bars):
        notes.append(f"{len(chart.bars) - len(bars)} shorter bars are not shown.")
    return Table("What stands out", ("term", measure, "", ""), rows, notes, shown=SHOWN)


def _bar(value: float, limit: float, longest: float) -> str:
    """A bar with the limit drawn across it."""
    length = round(BAR_WIDTH * value / longest) if longest else 0
    mark = round(BAR_WIDTH * limit / longest) if longest and math.isfinite(limit) else -1
    return "".join("│" if place == mark else "█" if place < length else " " for place in range(BAR_WIDTH + 1)).rstrip()


def _checks(found: "Analysis") -> Table:
    signs = {True: "ok", False: "!!", None: "–"}
    rows: list[tuple[Any, ...]] = [
        (signs[check.ok], check.name.replace("_", " "), check.test, check.sentence) for check in found.checks
    ]
    if found.box_cox:
        fine = found.box_cox.suggestion == found.response
        rows.append((signs[fine], "transformation", "Box–Cox", found.box_cox.sentence))
    return Table("Can it be trusted?", ("", "check", "test", "what was found"), rows)


def _correlations(found: "Analysis") -> Table:
    rows = [
        (
            each.factor,
            round(each.pearson, 3),
            _number(each.pearson_p),
            round(each.spearman, 3),
            _number(each.spearman_p),
        )
        for each in found.correlations
    ]
    title = f"Correlation of each factor with {found.response}"
    return Table(title, ("factor", "Pearson", "p", "Spearman", "p "), rows, shown=SHOWN)


def _alternatives(found: "Analysis") -> Table:
    rows = [
        (
            " + ".join(each.added) or "(as it is)",
            *(round(100 * value, 2) for value in (each.r2, each.r2_adjusted)),
            None if math.isnan(each.r2_predicted) else round(100 * each.r2_predicted, 2),
        )
        for each in found.alternatives
    ]
    notes = ["R² always grows with terms; whether they help shows in what they predict."]
    return Table("With powers added", ("added", "R² %", "adjusted %", "predicted %"), rows, notes)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
