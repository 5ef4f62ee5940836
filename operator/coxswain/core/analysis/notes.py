"""What a reader of an analysis must not miss, in sentences."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from coxswain.core.analysis.anova import SumsOfSquares
from coxswain.core.analysis.fit import Alias, Fit
from coxswain.core.analysis.reduction import Removal
from coxswain.core.analysis.terms import missing_parts
from coxswain.core.analysis.verdict import listed, plural
from coxswain.core.dataset import Dataset

# More combinations than this were not measured on purpose: the design is a fraction, not one with failed runs.
MOST_EMPTY_SHARE = 0.25


def notes(data: Dataset, fit: Fit, kind: SumsOfSquares, removals: Sequence[Removal]) -> tuple[str, ...]:
    """All that applies."""
    return (
        *_about_rows(data, fit),
        *_about_balance(fit, kind),
        *_about_aliases(fit.aliases),
        *_about_model(fit, removals),
        *_about_error(fit),
    )


def _about_rows(data: Dataset, fit: Fit) -> Iterator[str]:
    yield from data.left_out
    if data.grouped and fit.sample.split_plot:
        yield (
            "Settings differ within groups: terms that are constant within each are tested against the error between "
            "groups (Units), the others against the error within (Residual)."
        )
    elif data.grouped:
        yield f"The {len(data.y)} rows ran in {plural(len(fit.sample.y), 'group')}; each group's mean is one value."


def _about_balance(fit: Fit, kind: SumsOfSquares) -> Iterator[str]:
    cells = fit.sample.cells
    counts = np.bincount(cells)
    possible = math.prod(len(factor.values) for factor in fit.factors)
    empty = possible - len(counts)
    if 0 < empty <= MOST_EMPTY_SHARE * possible:
        yield f"{plural(empty, 'combination')} of {possible} not measured: {listed(_empty_cells(fit))}."
    if _types_differ(fit):
        yield (
            f"The design is not balanced ({counts.min()} to {counts.max()} values a combination): sums of squares "
            f"depend on their type, here {kind}, and need not add up to the total."
            if counts.min() < counts.max()
            else f"The design is not orthogonal: sums of squares depend on their type, here {kind}."
        )


def _empty_cells(fit: Fit) -> tuple[str, ...]:
    factors = fit.factors
    measured = set(fit.sample.settings[[factor.name for factor in factors]].itertuples(index=False, name=None))
    grid = np.array(np.meshgrid(*(np.arange(len(factor.values)) for factor in factors), indexing="ij"))
    cells = (
        tuple(factor.values[place] for factor, place in zip(factors, places, strict=True))
        for places in grid.reshape(len(factors), -1).T
    )
    return tuple(
        " ".join(
            f"{factor.name}={value:g}" if isinstance(value, float) else f"{factor.name}={value}"
            for factor, value in zip(factors, cell, strict=True)
        )
        for cell in cells
        if cell not in measured
    )


def _types_differ(fit: Fit) -> bool:
    """Whether columns of different terms correlate; only then do the types of sums of squares disagree."""
    centred = (fit.columns - fit.columns.mean(axis=0))[:, 1:]
    scaled = centred / np.linalg.norm(centred, axis=0)
    overlap = np.abs(scaled.T @ scaled)
    for term in fit.matrix.terms:
        own = np.array(fit.matrix.of(term)) - 1
        overlap[np.ix_(own, own)] = 0
    return bool((overlap > 1e-9).any())


def _about_aliases(aliases: Sequence[Alias]) -> Iterator[str]:
    if aliases:
        told = tuple(f"{alias.name} (= {_sum(alias)})" for alias in aliases)
        yield (
            f"This design cannot tell apart {listed(told, most=12)}: the left is left out, and what it does shows in "
            "the right."
        )


def _sum(alias: Alias) -> str:
    pieces: list[str] = []
    for name, share in alias.equals:
        sign = "-" if share < 0 else "+" if pieces else ""
        size = "" if abs(abs(share) - 1) < 1e-6 else f"{abs(share):.3g} "
        pieces.append(f"{sign}{size}{name}" if not pieces else f"{sign} {size}{name}")
    return " ".join(pieces)


def _about_model(fit: Fit, removals: Sequence[Removal]) -> Iterator[str]:
    aliased = {alias.term for alias in fit.aliases}
    lacking = tuple(term.name for term in missing_parts(fit.matrix.terms) if term not in aliased)
    if lacking:
        yield f"The model is not hierarchical: it lacks {listed(lacking)}, so its p-values depend on the coding."
    if removals:
        yield (
            f"{plural(len(removals), 'term')} left out because nothing spoke for them; after that selection, p-values "
            "of the rest look better than they are."
        )


def _about_error(fit: Fit) -> Iterator[str]:
    if fit.saturated:
        yield "There is a coefficient for every value and no error left: Lenth's method tells which effects stand out."
    elif fit.exact:
        yield "The model fits every value exactly: there is no error to compare effects with."
    for error in fit.strata[1:]:
        if error.df == 0:
            yield "There are too few groups for an error between them: terms constant within groups are not tested."
