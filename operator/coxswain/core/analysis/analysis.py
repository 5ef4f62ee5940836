"""A whole analysis in one value: fit, reduce if asked, and everything a reader of an experiment wants to know.

    data = make_dataset(table, "duration", ["cores", "batch_size"])
    found = analyze(data, interactions(data.factors, 2))
    found.anova, found.coefficients, found.r2_predicted, found.checks
    found.predict(table)

`notes` has what a reader must not miss: rows left out, aliased terms, an unbalanced design, a missing error term.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from coxswain.core.analysis.alternatives import Alternative, Correlation, correlations, polynomial_alternatives
from coxswain.core.analysis.anova import AnovaRow, SumsOfSquares, anova
from coxswain.core.analysis.box_cox import BoxCox, box_cox
from coxswain.core.analysis.checks import residual_checks
from coxswain.core.analysis.coefficients import Coefficient, coded_coefficients, uncoded_coefficients
from coxswain.core.analysis.fit import Alias, Fit, fit_terms
from coxswain.core.analysis.folds import r2_folds
from coxswain.core.analysis.lack_of_fit import curvature, lack_of_fit
from coxswain.core.analysis.notes import notes
from coxswain.core.analysis.pareto import Pareto, pareto
from coxswain.core.analysis.reduction import Removal, reduce_terms
from coxswain.core.analysis.sample import Means, means_as_sample, rows_as_sample
from coxswain.core.analysis.terms import Term, main_effect
from coxswain.core.analysis.verdict import Check
from coxswain.core.dataset import Dataset
from coxswain.core.errors import InputError


@dataclass(frozen=True, eq=False)
class Analysis:
    """What an experiment says about one response."""

    response: str
    fit: Fit
    type: SumsOfSquares
    alpha: float
    anova: tuple[AnovaRow, ...]
    coefficients: tuple[Coefficient, ...]
    uncoded: tuple[Coefficient, ...]
    pareto: Pareto
    r2_folds: float | None
    checks: tuple[Check, ...]
    box_cox: BoxCox | None
    correlations: tuple[Correlation, ...]
    alternatives: tuple[Alternative, ...]
    removals: tuple[Removal, ...]
    notes: tuple[str, ...]

    @property
    def aliases(self) -> tuple[Alias, ...]:
        """Columns the design cannot tell from others."""
        return self.fit.aliases

    @property
    def s(self) -> float:
        """The standard deviation of a single measurement."""
        return self.fit.s

    @property
    def r2(self) -> float:
        """The share of the variation that the model explains."""
        return self.fit.r2

    @property
    def r2_adjusted(self) -> float:
        """The share by variances, so that a useless term does not raise it."""
        return self.fit.r2_adjusted

    @property
    def r2_predicted(self) -> float:
        """The share explained of measurements left out one by one."""
        return self.fit.r2_predicted

    def predict(self, settings: pd.DataFrame) -> pd.DataFrame:
        """The response at settings in natural units: its mean, with confidence, and where a new measurement falls.

        Blocks are not among the settings: what is predicted is the average over them.
        Columns `mean`, `se`, `low`, `high` (of the mean) and `new_low`, `new_high` (of one new measurement).
        """
        fit = self.fit
        columns = fit.columns_at(settings)
        spreads = np.sqrt([error.mean_sq for error in fit.errors])
        variance = np.sum((columns * spreads) @ fit.inverse * (columns * spreads), axis=1)
        new = variance + fit.strata[0].mean_sq + _between_variance(fit)
        df = min(error.df for error in fit.errors)
        t = float(stats.t.isf(self.alpha / 2, df)) if df else float("nan")
        mean = columns @ fit.coefficients
        return pd.DataFrame(
            {
                "mean": mean,
                "se": np.sqrt(variance),
                "low": mean - t * np.sqrt(variance),
                "high": mean + t * np.sqrt(variance),
                "new_low": mean - t * np.sqrt(new),
                "new_high": mean + t * np.sqrt(new),
            },
            index=settings.index,
        )


def analyze(
    data: Dataset,
    terms: Sequence[Term],
    *,
    kind: SumsOfSquares = SumsOfSquares.III,
    alpha: float = 0.05,
    reduce: bool = False,
    folds: int = 5,
    seed: int = 0,
    means: Means | None = None,
) -> Analysis:
    """Analyse a response by a model of the given terms.

    Where the data have blocks, these are a term of their own, before all others and in no interaction: what differs
    between blocks is then neither in the error nor in an effect, and an effect that looks like it is aliased with it.
    Rows of one group are one unit (see `sample`); with `means`, rows are means of replicates. With `reduce`, terms
    that do not matter at `alpha` are left out. `folds` and `seed` are for R² on units left out.
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha {alpha:g} is no probability; give a number between 0 and 1, such as 0.05.")
    if folds < 2:
        raise InputError(f"{folds} folds leave nothing to predict from; give 2 or more.")
    sample = means_as_sample(data, means) if means else rows_as_sample(data)
    if not np.ptp(sample.y) > 0:
        raise InputError(
            f"column {data.response} is {sample.y[0]:g} in all {sample.noun}: there is nothing to explain."
        )
    if data.block is None:
        fit = fit_terms(sample, data.factors, terms)
    else:
        fit = fit_terms(sample, (data.block, *data.factors), (main_effect(data.block.name), *terms))
    fit, removals = reduce_terms(fit, alpha) if reduce else (fit, ())
    coefficients = coded_coefficients(fit, alpha)
    curved = curvature(fit, alpha)
    return Analysis(
        response=data.response,
        fit=fit,
        type=kind,
        alpha=alpha,
        anova=anova(fit, kind),
        coefficients=coefficients,
        uncoded=uncoded_coefficients(fit, alpha),
        pareto=pareto(fit, coefficients, alpha),
        r2_folds=r2_folds(fit, folds, np.random.default_rng(seed)),
        checks=(*residual_checks(fit, alpha), lack_of_fit(fit, alpha), *([curved] if curved else [])),
        box_cox=box_cox(fit, data.response, alpha),
        correlations=correlations(sample, data.factors),
        alternatives=polynomial_alternatives(fit),
        removals=removals,
        notes=notes(data, fit, kind, removals),
    )


def _between_variance(fit: Fit) -> float:
    """The variance between units beyond that within them, for units of average size; none outside a split plot."""
    if not fit.sample.split_plot:
        return 0.0
    within, units = fit.strata
    size = len(fit.sample.y) / len(np.unique(fit.sample.units))
    return float(np.maximum((units.mean_sq - within.mean_sq) / size, 0.0))
