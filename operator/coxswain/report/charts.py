"""The charts of one response: what stands out, how each factor and pair of factors works, and what the model leaves."""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np
from scipy import stats

from coxswain.core.analysis import Analysis
from coxswain.core.factors import Factor
from coxswain.core.observations import Observation
from coxswain.core.search import Course
from coxswain.report.markup import Markup, element
from coxswain.report.plot import Axis, Plot, named_axis, number, number_axis

MOST_BARS = 20
MOST_INTERACTIONS = 6
# With more levels than these a mean a level is mostly noise, and lines between them tell nothing.
MOST_LEVELS = 8
MOST_LINES = 5
_BAR, _NAMES, _BARS = 22, 200, 420


def pareto_chart(found: Analysis) -> Markup:
    """The standardised effects, longest first, and the line beyond which one is no chance."""
    chart = found.pareto
    bars = [bar for bar in chart.bars if math.isfinite(bar.value)][:MOST_BARS]
    limit = chart.limit if math.isfinite(chart.limit) else None
    longest = max([bar.value for bar in bars] + ([limit] if limit else [])) or 1.0
    pieces = []
    for place, bar in enumerate(bars):
        top, length = place * _BAR, bar.value / longest * _BARS
        pieces += [
            element("text", bar.term, x=_NAMES - 8, y=top + 15, class_="tick", text_anchor="end"),
            element(
                "rect", x=_NAMES, y=top + 3, width=length, height=_BAR - 6, class_="bar active" if bar.active else "bar"
            ),
            element("text", number(bar.value), x=_NAMES + length + 5, y=top + 15, class_="tick"),
        ]
    height = len(bars) * _BAR
    if limit is not None:
        at = _NAMES + limit / longest * _BARS
        pieces.append(element("line", x1=at, x2=at, y1=0, y2=height + 4, class_="limit"))
        pieces.append(element("text", number(limit), x=at, y=height + 17, class_="tick", text_anchor="middle"))
    width = _NAMES + _BARS + 60
    title = element("title", f"Pareto chart of the effects on {found.response}")
    return element("svg", title, *pieces, viewBox=f"0 0 {width} {height + 22}", width=width, role="img")


def main_effects(found: Analysis) -> Iterator[Markup]:
    """For each factor, the mean of the response at each of its values."""
    settings, y = found.fit.sample.settings, found.fit.sample.y.tolist()
    grouped = {factor.name: _means(settings[factor.name].tolist(), y) for factor in found.fit.factors}
    axis = number_axis([mean for means in grouped.values() for mean in means.values()], found.response)
    for factor in found.fit.factors:
        plot = Plot(_factor_axis(factor), axis, f"{found.response} by {factor.name}", width=240, height=200)
        plot.level(fmean(y))
        points = [(_place(factor, value), mean) for value, mean in grouped[factor.name].items()]
        if len(points) <= MOST_LEVELS:
            plot.line(sorted(points))
        plot.dots(points, names=[number(mean) for _, mean in points])
        yield plot.svg()


def interactions(found: Analysis) -> Iterator[Markup]:
    """For the pairs of factors whose interaction is strongest, the response by the one at each value of the other."""
    settings, y = found.fit.sample.settings, found.fit.sample.y
    for first, second in _pairs(found)[:MOST_INTERACTIONS]:
        across, lines = sorted((first, second), key=lambda factor: -len(factor.values))
        cells = {
            value: _means(part[across.name].tolist(), y[part.index].tolist())
            for value, part in settings.groupby(lines.name)
        }
        axis = number_axis([mean for means in cells.values() for mean in means.values()], found.response)
        # Room on the right for the names of the lines.
        x = _factor_axis(across)
        x = Axis(x.low, x.high + (x.high - x.low) * 0.5, f"{across.name}, lines by {lines.name}", x.ticks)
        plot = Plot(x, axis, f"{found.response} by {across.name} and {lines.name}", width=300, height=200)
        for colour, (value, means) in enumerate(cells.items()):
            points = sorted((_place(across, each), mean) for each, mean in means.items())
            plot.line(points, f"line c{colour}")
            plot.dots(points, f"dot c{colour}", [number(mean) for _, mean in points])
            plot.words(*points[-1], _told(value), f"key c{colour}")
        yield plot.svg()


def residuals(found: Analysis) -> Iterator[Markup]:
    """What the model leaves: against what it predicts, against a normal distribution, and in the order of the runs."""
    sample, left = found.fit.sample, found.fit.residuals
    labels = list(sample.labels)
    axis = number_axis(left, "residual")
    fitted = sample.y - left
    plot = Plot(number_axis(fitted, f"fitted {found.response}"), axis, "Residuals against fitted values")
    plot.level(0.0)
    plot.dots(list(zip(fitted, left, strict=True)), names=labels)
    yield plot.svg()

    order = np.argsort(left)
    expected = stats.norm.ppf((np.arange(len(left)) + 0.5) / len(left))
    plot = Plot(number_axis(expected, "expected of a normal distribution"), axis, "Normal probability plot")
    ends = expected[[0, -1]]
    plot.line([(float(end), float(end * left.std())) for end in ends], "guide")
    plot.dots(list(zip(expected, left[order], strict=True)), names=[labels[place] for place in order])
    yield plot.svg()

    plot = Plot(number_axis(np.arange(1, len(left) + 1), "run, in order"), axis, "Residuals in the order of the runs")
    plot.level(0.0)
    points = [(float(place), float(value)) for place, value in enumerate(left, start=1)]
    plot.line(points, "thin")
    plot.dots(points, names=labels)
    yield plot.svg()


def search_steps(course: Course) -> Iterator[Markup]:
    """The response of every run of a search, row after row, with a line through the rows' means."""
    trials = [step.trial for step in course.steps if step.trial and step.trial.has_values]
    if not trials:
        return
    values = [(float(trial.row), value) for trial in trials for value in trial.values]
    axis = number_axis([value for _, value in values], course.search.minimize)
    plot = Plot(
        number_axis([row for row, _ in values], "row"), axis, "The search, row after row", width=640, height=260
    )
    plot.line([(float(trial.row), trial.mean) for trial in trials])
    plot.dots(values, "small", [course.space.told(trial.settings) for trial in trials for _ in trial.values])
    if course.best is not None:
        plot.dots([(float(course.best.row), course.best.mean)], names=[course.found])
    yield plot.svg()


def learning_curves(observations: Sequence[Observation]) -> Markup | None:
    """The validation accuracy of every run over its epochs, if any has a curve worth drawing."""
    curves = {
        each.job: [(float(e), a) for e, a in zip(each.curve.epoch, each.curve.accuracy, strict=True) if a is not None]
        for each in observations
        if each.curve.accuracy
    }
    points = [point for curve in curves.values() for point in curve]
    if not any(len(curve) > 1 for curve in curves.values()):
        return None
    x, y = number_axis([x for x, _ in points], "epoch"), number_axis([y for _, y in points], "accuracy")
    plot = Plot(x, y, "Validation accuracy over the epochs", width=640, height=300)
    for name, curve in curves.items():
        plot.line(curve, "thin")
        plot.dots(curve, "small", [name] * len(curve))
    return plot.svg()


def _pairs(found: Analysis) -> list[tuple[Factor, Factor]]:
    """Pairs of factors that the model has an interaction of, the most important first, as far as lines can show it."""
    factors = {factor.name: factor for factor in found.fit.matrix.factors}
    importance: dict[tuple[str, ...], float] = {}
    for row in found.anova:
        names = tuple(row.term.split(":"))
        if len(names) == 2 and all(name in factors for name in names):
            importance[names] = row.sum_sq
    ranked = sorted(importance, key=lambda names: -importance[names])
    pairs = [(factors[first], factors[second]) for first, second in ranked]
    return [
        pair
        for pair in pairs
        if min(len(factor.values) for factor in pair) <= MOST_LINES
        and max(len(factor.values) for factor in pair) <= MOST_LEVELS
    ]


def _means(values: Sequence[float | str], y: Sequence[float]) -> Mapping[float | str, float]:
    """The mean of the response at each value."""
    groups: dict[float | str, list[float]] = {}
    for value, measured in zip(values, y, strict=True):
        groups.setdefault(value, []).append(measured)
    return {value: fmean(group) for value, group in groups.items()}


def _factor_axis(factor: Factor) -> Axis:
    return named_axis({_place(factor, value): _told(value) for value in factor.values}, factor.name)


def _place(factor: Factor, value: float | str) -> float:
    """Numbers where their coding puts them, categories side by side."""
    return factor.code(float(value)) if factor.is_numeric else float(factor.categories.index(str(value)))


def _told(value: object) -> str:
    return value if isinstance(value, str) else number(float(str(value)))
