"""Promised against kept over several sets of jobs: as numbers, and as a picture that stands by itself."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coxswain.core.baselines import Result
from coxswain.report.markup import element
from coxswain.report.plot import Plot, number_axis

_COLOURS = ("#1f6feb", "#bf5700", "#2da44e")
_STYLE = """
svg { background: #fff; font: 11px sans-serif } .frame { fill: none; stroke: #999 } .grid { stroke: #eee }
.guide { stroke: #999; stroke-dasharray: 4 3 } .tick, .label, .key { fill: #333 } polyline { fill: none }
"""


class Kept(NamedTuple):
    """The share of promises at a confidence that were kept, with its standard error, and the mean gain."""

    confidence: float
    share: float
    error: float
    gain: float | None


def kept_by_confidence(results: Sequence[Result], over: str = "the sets of jobs above") -> list[Kept]:
    """What was kept at each confidence over all these sets of jobs, each job counted once; printed as well."""
    print(f"Promised against kept, contested deadlines, over {over}")
    found = []
    for confidence in sorted({each.confidence for each in results}):
        own = [each for each in results if each.confidence == confidence]
        weights = np.array([each.promised * each.jobs for each in own])
        if not weights.any():
            print(f"  {confidence:4.0%} nothing is promised")
            continue
        kept = np.array([each.kept_of_promised or 0.0 for each in own])
        errors = np.array([each.kept_error or 0.0 for each in own])
        gains = [each.gain for each in own if each.gain is not None]
        share = float(weights @ kept / weights.sum())
        error = float(np.sqrt(((weights * errors) ** 2).sum()) / weights.sum())
        gain = float(np.mean(gains)) if gains else None
        found.append(Kept(confidence, share, error, gain))
        told = "" if gain is None else f"   mean gain {gain:.2f}"
        print(f"  {confidence:4.0%} kept {share:.1%} ± {error:.1%}{told}")
    return found


def drawn(curves: Mapping[str, Sequence[Kept]]) -> str:
    """The picture, as SVG: the share kept over the confidence promised, with two standard errors either way."""
    values = [
        100 * min(each.share + side * each.error, 1)
        for points in curves.values()
        for each in points
        for side in (-2, 2)
    ]
    promised = number_axis([75, 100], "promised (across) and kept (up), %")
    plot = Plot(promised, number_axis([*values, 75, 100], "kept, %"), "Promised against kept", width=420, height=320)
    plot.line([(75, 75), (100, 100)], "guide")
    for place, (name, points) in enumerate(curves.items()):
        style = f"curve{place}"
        middles = [(100 * each.confidence, 100 * each.share) for each in points]
        plot.line(middles, style)
        plot.dots(middles, style)
        for (x, y), each in zip(middles, points, strict=True):
            plot.line([(x, y - 200 * each.error), (x, min(y + 200 * each.error, 100.0))], style)
        plot.words(84, 86 - 2.2 * place, name, f"key {style}-key")
    colours = "".join(
        f".curve{place} {{ stroke: {colour} }} circle.curve{place}, .curve{place}-key {{ fill: {colour} }} "
        for place, colour in enumerate(_COLOURS)
    )
    picture = str(plot.svg()).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return picture.replace("</title>", f"</title>{element('style', _STYLE + colours)}", 1)
