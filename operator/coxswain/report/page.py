"""The whole report: what was done, then for each response what was found and whether to believe it, then every run."""

import math
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from coxswain.core.analysis import Analysis, equation
from coxswain.core.api import TrainingExperiment
from coxswain.core.designs import Design
from coxswain.core.observations import Observation
from coxswain.core.results import Result
from coxswain.core.search import Course
from coxswain.report import charts
from coxswain.report.markup import Markup, element, join
from coxswain.report.plot import number

_SIGNS = {True: ("ok", "✓"), False: ("bad", "!"), None: ("none", "–")}
_FEW_RUNS = 40


def render(
    experiment: TrainingExperiment,
    design: Design,
    observations: Sequence[Observation],
    results: Sequence[Result],
    course: Course | None = None,
) -> str:
    """The report as a self-contained HTML document; `course` is that of a search."""
    body = [
        element("h1", experiment.name),
        _summary(design, observations),
        *_search(course),
        element("nav", *(element("a", result.response, href=f"#{result.response}") for result in results)),
        *(_response(result) for result in results),
        *_learning(observations),
        _runs(observations),
    ]
    head = [
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"{experiment.name}: results"),
        element("style", Markup((files("coxswain.report") / "style.css").read_text(encoding="utf-8"))),
    ]
    page = element("html", element("head", *head), element("body", *body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _summary(design: Design, observations: Sequence[Observation]) -> Markup:
    options = design.options
    resolution = f", resolution {design.resolution}" if design.resolution else ""
    times = "once" if options.replications == 1 else f"{options.replications} times"
    sentences = [
        f"{options.kind} of {len(design.factors)} factors: {len(design.rows)} rows, each run {times}{resolution}.",
        _done(design, observations),
        *design.notes,
    ]
    factors = [
        (factor.name, ", ".join(_cell(value) for value in factor.values), str(factor.coding) if factor.levels else "")
        for factor in design.factors
    ]
    return element(
        "section",
        *(element("p", sentence) for sentence in sentences),
        _table(("factor", "values", "coding"), factors),
    )


def _done(design: Design, observations: Sequence[Observation]) -> str:
    succeeded = len({each.run for each in observations}) - len(
        {each.run for each in observations if not each.succeeded}
    )
    if not observations:
        return f"None of {design.run_count} runs is finished."
    last = max(each.finished for each in observations)
    return f"{succeeded} of {design.run_count} runs succeeded; the last one ended at {last}."


def _search(course: Course | None) -> Iterable[Markup]:
    if course is None:
        return
    names = [factor.name for factor in course.space.factors]
    rows = []
    for step in course.steps:
        known = step.trial if step.trial and step.trial.has_values else None
        rows.append(
            (
                str(step.row),
                *step.settings,
                known.mean if known else None,
                known.error if known else None,
                step.verdict,
            )
        )
    yield element("h2", "Search")
    yield element(
        "section",
        element("p", course.message),
        _table(("row", *names, course.search.minimize, "standard error", "verdict"), rows),
        *charts.search_steps(course),
    )


def _response(result: Result) -> Markup:
    heading = element("h2", result.response, id=result.response)
    notes = [element("p", note) for note in result.notes]
    found = result.analysis
    if found is None:
        return join(heading, element("section", *notes))
    return join(
        heading,
        element("section", _facts(found), *notes, *(element("p", note, class_="soft") for note in found.notes)),
        element("section", element("h3", "What stands out"), charts.pareto_chart(found), _line_meaning(found)),
        element("section", element("h3", "Effects"), _effects(found), element("p", equation(found), class_="soft")),
        _plots("Main effects", charts.main_effects(found)),
        _plots("Interactions", charts.interactions(found)),
        _plots("What the model leaves", charts.residuals(found) if found.fit.residuals.any() else ()),
        element("section", element("h3", "Can it be trusted?"), _checks(found)),
    )


def _facts(found: Analysis) -> Markup:
    facts = {
        "R²": found.r2,
        "adjusted": found.r2_adjusted,
        "predicted": found.r2_predicted,
        "on runs left out": found.r2_folds,
    }
    told = {name: f"{100 * value:.1f} %" for name, value in facts.items() if value is not None and math.isfinite(value)}
    if math.isfinite(found.s):
        told["standard deviation of a run"] = number(found.s)
    return element(
        "dl",
        *(element("div", element("dt", name), element("dd", value)) for name, value in told.items()),
        class_="facts",
    )


def _line_meaning(found: Analysis) -> Markup:
    if found.pareto.measure == "t":
        told = f"Bars are |t|; the line is where chance alone gets once in {1 / found.alpha:.0f} times."
    else:
        told = "Bars are |effect|; the line is Lenth's margin of error, because there are no replicates to judge by."
    return element("p", told, class_="soft")


def _effects(found: Analysis) -> Markup:
    rows = [(each.term, each.effect, each.coefficient, each.low, each.high, _p(each.p)) for each in found.coefficients]
    columns = ("term", "effect", "coefficient", f"{100 * (1 - found.alpha):g} % from", "to", "p")
    return _table(columns, rows)


def _checks(found: Analysis) -> Markup:
    verdicts = [(check.ok, check.name.replace("_", " "), check.sentence) for check in found.checks]
    if found.box_cox:
        verdicts.append((found.box_cox.suggestion == found.response, "transformation", found.box_cox.sentence))
    rows = []
    for ok, name, sentence in verdicts:
        style, sign = _SIGNS[ok]
        rows.append(
            element("tr", *(element("td", text, class_=style) for text in (sign, name)), element("td", sentence))
        )
    return element("table", *rows)


def _learning(observations: Sequence[Observation]) -> Iterable[Markup]:
    drawn = charts.learning_curves(observations)
    if drawn is not None:
        yield element("h2", "Learning")
        yield element("section", element("h3", "Validation accuracy over the epochs, a line a run"), drawn)


def _runs(observations: Sequence[Observation]) -> Markup:
    shown = ("duration", "accuracy", "loss", "samplesPerSecond", "imagesWrittenPerSecond", "startup", "wait")
    responses = [name for name in shown if any(name in each.responses for each in observations)]
    factors = list(observations[0].settings) if observations else []
    rows = [
        (
            each.job,
            *(each.settings[name] for name in factors),
            *(each.responses.get(name) for name in responses),
            each.state if each.succeeded else f"{each.state}: {each.reason}: {each.message}",
        )
        for each in observations
    ]
    table = _table(("run", *factors, *responses, "state"), rows)
    if len(rows) > _FEW_RUNS:
        table = element("details", element("summary", f"All {len(rows)}"), table)
    return join(element("h2", "Runs"), element("section", table))


def _plots(title: str, plots: Iterable[Markup]) -> Markup:
    drawn = list(plots)
    if not drawn:
        return Markup()
    return element("section", element("h3", title), element("div", *drawn, class_="plots"))


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markup:
    numeric = [
        any(isinstance(row[place], float) for row in rows) and not any(isinstance(row[place], str) for row in rows)
        for place in range(len(columns))
    ]
    styles = [{"class_": "number"} if each else {} for each in numeric]
    head = element("tr", *(element("th", name, **style) for name, style in zip(columns, styles, strict=True)))
    body = [
        element("tr", *(element("td", _cell(value), **style) for value, style in zip(row, styles, strict=True)))
        for row in rows
    ]
    return element("table", head, *body)


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _p(value: float) -> str:
    return "" if math.isnan(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"
