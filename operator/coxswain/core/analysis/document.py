"""An analysis as plain values with names that stay: what `cox analyze -o json` prints and reports keep.

Numbers that do not exist (an F without an error, an R² that cannot be predicted) are None.
"""

import math
from dataclasses import asdict
from typing import Any

from coxswain.core.analysis.analysis import Analysis


def document(analysis: Analysis) -> dict[str, Any]:
    """Everything in an analysis but the fit itself."""
    fit = analysis.fit
    found: dict[str, Any] = {
        "response": analysis.response,
        "rows": len(fit.sample.y),
        "terms": [term.name for term in fit.matrix.terms],
        "type": str(analysis.type),
        "alpha": analysis.alpha,
        "anova": [asdict(row) for row in analysis.anova],
        "coefficients": [asdict(coefficient) for coefficient in analysis.coefficients],
        "uncoded": [
            {name: value for name, value in asdict(coefficient).items() if name not in {"effect", "vif"}}
            for coefficient in analysis.uncoded
        ],
        "equation": equation(analysis),
        "s": analysis.s,
        "r2": analysis.r2,
        "r2_adjusted": analysis.r2_adjusted,
        "r2_predicted": analysis.r2_predicted,
        "r2_folds": analysis.r2_folds,
        "pareto": asdict(analysis.pareto),
        "checks": [asdict(check) for check in analysis.checks],
        "box_cox": asdict(analysis.box_cox) if analysis.box_cox else None,
        "correlations": [asdict(correlation) for correlation in analysis.correlations],
        "alternatives": [asdict(alternative) for alternative in analysis.alternatives],
        "aliases": [{"term": alias.name, "equals": dict(alias.equals)} for alias in analysis.aliases],
        "removed": [asdict(removal) for removal in analysis.removals],
        "notes": list(analysis.notes),
    }
    return {name: _plain(value) for name, value in found.items()}


def equation(analysis: Analysis) -> str:
    """The model in natural units, as people write it: `duration = 12.3 + 4.5 cores - 0.67 cores*batch_size`."""
    text = f"{analysis.response} ="
    for place, coefficient in enumerate(analysis.uncoded):
        sign = "-" if coefficient.coefficient < 0 else "+" if place else ""
        size = f"{abs(coefficient.coefficient):.5g}"
        name = "" if place == 0 else f" {coefficient.term.replace(':', '*')}"
        text += f" {sign} {size}{name}" if place else f" {sign}{size}"
    return text


def _plain(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {name: _plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
