"""What an experiment says: effects, analysis of variance, predictions, and whether to trust them.

    dataset ──> sample ──> fit ──> anova, coefficients, pareto, checks, … ──> Analysis
    terms ────────────────┘

`terms` and `formula` say what the model is, `matrix` puts it into coded units, `sample` decides what one value is,
`fit` solves it once, and each of the other modules reads one thing off the fit. `analyze` puts all of it together.
"""

from coxswain.core.analysis.analysis import Analysis, analyze
from coxswain.core.analysis.anova import SumsOfSquares
from coxswain.core.analysis.document import document, equation
from coxswain.core.analysis.formula import parse_formula
from coxswain.core.analysis.sample import Means
from coxswain.core.analysis.terms import Term, interactions

__all__ = [
    "Analysis",
    "Means",
    "SumsOfSquares",
    "Term",
    "analyze",
    "document",
    "equation",
    "interactions",
    "parse_formula",
]
