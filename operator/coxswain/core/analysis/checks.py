"""Whether the assumptions behind the numbers hold, each said in a sentence that reads the p-value the right way round.

The null hypothesis of every test here is that all is well: a small p is evidence against that, a large one no proof.
"""

import numpy as np
from scipy import stats

from coxswain.core.analysis.coefficients import variance_inflation
from coxswain.core.analysis.fit import Fit
from coxswain.core.analysis.matrix import Array
from coxswain.core.analysis.verdict import Check, listed, p_text, plural

# Royston's p-values for Shapiro and Wilk's W hold up to this many values.
SHAPIRO_MOST = 5000
# A coefficient whose variance is inflated more than tenfold says little on its own.
INFLATED = 10.0
# A row with more than this many times the average leverage decides much of the fit by itself.
HIGH_LEVERAGE = 3.0


def residual_checks(fit: Fit, alpha: float) -> tuple[Check, ...]:
    """Normality, equal variances, outliers, leverage and multicollinearity."""
    normal = normality(fit, alpha)
    return (
        normal,
        equal_variances(fit, alpha, normal=normal.ok is not False),
        constant_variance(fit, alpha),
        outliers(fit, alpha),
        leverage(fit),
        multicollinearity(fit),
    )


def normality(fit: Fit, alpha: float) -> Check:
    """Whether residuals look drawn from a normal distribution."""
    residuals = fit.residuals
    small = len(residuals) <= SHAPIRO_MOST
    test = "Shapiro–Wilk" if small else "D'Agostino–Pearson"
    if not residuals.any() or len(residuals) < 3:
        return _no_residuals("normality", test)
    found = stats.shapiro(residuals) if small else stats.normaltest(residuals)
    statistic, p = float(found.statistic), float(found.pvalue)
    if p < alpha:
        sentence = (
            f"The residuals are not normal (p {p_text(p)}): trust intervals and p-values less, and look at outliers "
            "and at a transformation."
        )
    else:
        sentence = f"Nothing speaks against normal residuals (p {p_text(p)})."
    return Check("normality", test, p >= alpha, sentence, statistic, p)


def equal_variances(fit: Fit, alpha: float, *, normal: bool) -> Check:
    """Whether replicates vary as much in every cell: by Bartlett's test if normal, else by Levene's (from medians)."""
    cells, values = fit.sample.cells, fit.unblocked
    groups = [values[cells == cell] for cell in np.unique(cells)]
    groups = [group for group in groups if len(group) > 1]
    # Bartlett's test takes logarithms of the variances.
    bartlett = normal and all(np.ptp(group) > 0 for group in groups)
    test = "Bartlett" if bartlett else "Levene"
    if fit.sample.is_of_means or len(groups) < 2:
        return Check("equal_variances", test, None, "Equal variances cannot be checked without replicates.")
    if sum(map(len, groups)) == 2 * len(groups) and not bartlett:
        # Two values lie equally far from their median: Levene's test has nothing to compare within cells.
        return Check(
            "equal_variances", test, None, "Equal variances cannot be checked by Levene's test with two replicates."
        )
    if all(np.ptp(group) == 0 for group in groups):
        return Check("equal_variances", test, None, "All replicates are the same: there is no variance to compare.")
    found = stats.bartlett(*groups) if bartlett else stats.levene(*groups, center="median")
    statistic, p = float(found.statistic), float(found.pvalue)
    if p < alpha:
        sentence = (
            f"Replicates vary more in some of the {len(groups)} cells than in others (p {p_text(p)}): "
            "consider a transformation."
        )
    else:
        sentence = f"Nothing speaks against equal variances in the {len(groups)} cells (p {p_text(p)})."
    return Check("equal_variances", test, p >= alpha, sentence, statistic, p)


def constant_variance(fit: Fit, alpha: float) -> Check:
    """Whether the squared residuals depend on the model's columns (Breusch and Pagan's test as Koenker mended it)."""
    test = "Breusch–Pagan"
    df = len(fit.coefficients) - 1
    if not fit.residuals.any() or df == 0:
        return _no_residuals("constant_variance", test)
    squares = fit.residuals**2
    around = squares - squares.mean()
    if not around @ around > 0:
        return Check("constant_variance", test, ok=True, sentence="All residuals are the same size.")
    statistic = float(len(squares) * (1 - around @ fit.unexplained(around) / (around @ around)))
    p = float(stats.chi2.sf(statistic, df))
    if p < alpha:
        sentence = f"The error's variance changes with the factors (p {p_text(p)}): consider a transformation."
    else:
        sentence = f"Nothing speaks for a variance that changes with the factors (p {p_text(p)})."
    return Check("constant_variance", test, p >= alpha, sentence, statistic, p)


def outliers(fit: Fit, alpha: float) -> Check:
    """Values too far from what the others predict: externally studentised residuals with Bonferroni's limit."""
    test = "studentised residuals"
    studentised = studentised_residuals(fit)
    df = fit.residual.df - 1
    if studentised is None:
        return _no_residuals("outliers", test)
    p_each = np.minimum(2 * stats.t.sf(np.abs(studentised), df) * len(studentised), 1)
    worst = int(np.argmax(np.abs(studentised)))
    found = np.flatnonzero(p_each < alpha)
    found = found[np.argsort(-np.abs(studentised[found]))]
    labels = tuple(fit.sample.labels[place] for place in found)
    statistic, p = float(studentised[worst]), float(p_each[worst])
    if labels:
        sentence = (
            f"{plural(len(labels), 'outlier')}: {listed(labels)} (studentised residual {statistic:.1f}, p {p_text(p)} "
            "after Bonferroni): look for a cause before leaving anything out."
        )
    else:
        sentence = f"No outliers: the farthest is {fit.sample.labels[worst]} at {statistic:.1f} standard errors."
    return Check("outliers", test, not labels, sentence, statistic, p, labels)


def leverage(fit: Fit) -> Check:
    """Values that decide the fit at their settings by themselves."""
    average = float(fit.leverage.mean())
    worst = int(np.argmax(fit.leverage))
    high = np.flatnonzero(fit.leverage > HIGH_LEVERAGE * average + 1e-9)
    labels = tuple(fit.sample.labels[place] for place in high)
    statistic = float(fit.leverage[worst])
    if labels:
        sentence = (
            f"{plural(len(labels), 'row')} with high leverage ({listed(labels)}; up to {statistic:.2f}, average "
            f"{average:.2f}): the fit there hangs on them."
        )
    else:
        sentence = f"No row has high leverage (at most {statistic:.2f}, average {average:.2f})."
    return Check("leverage", "leverage", not labels, sentence, statistic, rows=labels)


def multicollinearity(fit: Fit) -> Check:
    """Whether coefficients can be told apart: variance inflation factors in coded units."""
    test = "variance inflation"
    if len(fit.coefficients) < 2:
        return Check("multicollinearity", test, None, "A model without terms has no multicollinearity.")
    inflation = variance_inflation(fit)[1:]
    names = fit.matrix.names[1:]
    worst = int(np.argmax(inflation))
    statistic = float(inflation[worst])
    if statistic > INFLATED:
        sentence = (
            f"{names[worst]} overlaps with other terms (variance inflated {statistic:.3g} times): its coefficient says "
            "little on its own."
        )
    else:
        sentence = f"Coefficients can be told apart (variance inflation at most {statistic:.3g})."
    return Check("multicollinearity", test, statistic <= INFLATED, sentence, statistic)


def studentised_residuals(fit: Fit) -> Array | None:
    """Each residual in units of the error that the other values show; None where there is no error to speak of."""
    df = fit.residual.df - 1
    if not fit.residuals.any() or df < 1:
        return None
    left = 1 - fit.leverage * fit.sample.weight
    # A value with leverage 1 is fitted exactly: nothing can be said about it.
    free = left > 1e-9
    scaled = np.zeros_like(fit.residuals)
    scaled[free] = fit.sample.weight * fit.residuals[free] ** 2 / left[free]
    others = (fit.residual.sum_sq - scaled) / df
    tiny = np.finfo(float).tiny
    studentised: Array = np.sign(fit.residuals) * np.sqrt(scaled / np.maximum(others, tiny))
    return studentised


def _no_residuals(name: str, test: str) -> Check:
    return Check(name, test, None, "The model leaves no residuals to check.")
