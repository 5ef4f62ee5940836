"""D-optimal designs: the rows that make a given model's coefficients as sure as so many runs can.

For what the tables do not cover: any number of runs, factors with different numbers of levels, combinations that cannot
be run, and runs that were already done. The determinant of X'X, the information in the model matrix X, is maximised by
coordinate exchange (Meyer and Nachtsheim 1995): go through the rows, change the one factor of a row that raises the
determinant most, until no single change helps; from several random starts, of which the best is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coxswain.core.designs.base import DesignOptions, Draft, Settings
from coxswain.core.designs.given import complete_settings, partial_levels
from coxswain.core.designs.model import LinearModel
from coxswain.core.designs.streams import Stream
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor, Level

_FEWEST_STARTS, _MOST_STARTS = 10, 100
"""Small designs have many poor local optima and are soon improved, so they are started more often."""
_CELLS = 20_000
"""How many starts there are times cells of the model matrix, between these two."""
_PASSES = 50
_TRIES = 10_000
_RIDGE = 1e-6
"""Added to the information, so that a start with too little of it can still be improved."""
_LEAST_GAIN = 1e-6
_DIGITS = 9
"""Determinants are compared to so many digits, lest rounding decide between equals differently on another machine."""

Matrix = NDArray[np.floating]
Levels = NDArray[np.int64]


class Model(StrEnum):
    """What is to be estimated."""

    MAIN = "Main"
    INTERACTIONS = "Interactions"
    """Main effects and two-factor interactions."""
    QUADRATIC = "Quadratic"
    """These, and squares of numeric factors with three levels or more."""


@dataclass(frozen=True, kw_only=True)
class DOptimal(DesignOptions):
    """As many rows as asked for, chosen for a model."""

    size: int
    """New rows; runs already done come on top."""
    model: Model = Model.INTERACTIONS
    exclude: tuple[Mapping[str, Level], ...] = ()
    """Combinations that must not occur; a factor not named may have any level."""
    augment: tuple[Mapping[str, Level], ...] = ()
    """Settings of runs already done, which the new rows complete."""

    def squared(self, factors: Sequence[Factor]) -> tuple[int, ...]:
        """In a quadratic model the numeric factors with three levels or more."""
        return linear_model(factors, self.model).squared

    def draft(self, factors: Sequence[Factor]) -> Draft:
        """The best design of several starts."""
        self.require_room(self.size)
        model = linear_model(factors, self.model)
        earlier = tuple(complete_settings(row, factors, f"rows[{index}]") for index, row in enumerate(self.augment))
        if self.size < 1 or self.size + len(earlier) < model.size:
            raise InputError(
                f"DOptimal: {self.size} runs{f' and {len(earlier)} already done' if earlier else ''} are fewer "
                f"than the {model.size} coefficients of the {self.model} model; give more runs or a smaller model."
            )
        rules = [partial_levels(row, factors, f"exclude[{index}]") for index, row in enumerate(self.exclude)]
        search = _Search(model, rules, earlier)
        stream = Stream(self.seed, "DOptimal")
        starts = min(max(_CELLS // (self.size * model.size), _FEWEST_STARTS), _MOST_STARTS)
        tries = [search.improve(search.random_rows(self.size, stream)) for _ in range(starts)]
        information, levels = max(tries, key=lambda found: round(found[0], _DIGITS))
        if not np.isfinite(information):
            raise InputError(
                f"DOptimal: the allowed combinations cannot tell all {model.size} coefficients of the {self.model} "
                "model apart; exclude fewer or choose a smaller model."
            )
        notes = (_about_earlier(len(earlier)),) if earlier else ()
        return Draft(
            rows=tuple(search.settings(row) for row in levels),
            notes=notes,
            earlier=earlier,
            d_efficiency=float(np.exp(information / model.size)) / (self.size + len(earlier)),
        )


def _about_earlier(count: int) -> str:
    """Their settings are in the spec but not what they measured, so the analysis of the experiment cannot use them."""
    runs = "1 run already done counts" if count == 1 else f"{count} runs already done count"
    return (
        f"{runs} in its efficiency and power, which hold for an analysis of both: the experiment's own sees the new "
        "runs alone, so give `cox analyze` one table with all."
    )


def linear_model(factors: Sequence[Factor], model: Model) -> LinearModel:
    """The terms that a model has for these factors."""
    squared = tuple(i for i, factor in enumerate(factors) if len(factor.levels) > 2) if model is Model.QUADRATIC else ()
    return LinearModel(tuple(factors), interactions=1 if model is Model.MAIN else 2, squared=squared)


@dataclass(frozen=True)
class _Search:
    """What stays the same from start to start. Rows are the indices of their levels."""

    model: LinearModel
    rules: Sequence[tuple[int | None, ...]]
    earlier: Sequence[Settings]

    @cached_property
    def _level_counts(self) -> Levels:
        return np.array([len(factor.values) for factor in self.model.factors])

    @cached_property
    def _tables(self) -> Sequence[Matrix]:
        """The basic columns of each factor, a row for each of its levels."""
        first = [factor.values[0] for factor in self.model.factors]
        tables = []
        for index, columns in enumerate(self.model.basic_columns):
            rows = [(*first[:index], value, *first[index + 1 :]) for value in self.model.factors[index].values]
            tables.append(self.model.basis(rows)[:, columns])
        return tables

    @cached_property
    def _single_changes(self) -> tuple[Levels, NDArray[np.bool_], Matrix, NDArray[np.bool_]]:
        """All ways to set one factor: which level, of which factor; which basic columns become what."""
        total, factors = int(self._level_counts.sum()), len(self._tables)
        levels, is_set = np.zeros((total, factors), dtype=np.int64), np.zeros((total, factors), dtype=bool)
        basis = np.zeros((total, self.model.basic_columns[-1].stop))
        is_changed = np.zeros(basis.shape, dtype=bool)
        change = 0
        for factor, table in enumerate(self._tables):
            for level, values in enumerate(table):
                levels[change, factor], is_set[change, factor] = level, True
                columns = self.model.basic_columns[factor]
                basis[change, columns], is_changed[change, columns] = values, True
                change += 1
        return levels, is_set, basis, is_changed

    @cached_property
    def _information_before(self) -> Matrix:
        done = self.model.matrix(self.model.basis(self.earlier)) if self.earlier else np.zeros((0, self.model.size))
        return done.T @ done

    @cached_property
    def _rule_levels(self) -> Levels:
        return np.array([[-1 if level is None else level for level in rule] for rule in self.rules])

    def allowed(self, rows: Levels) -> NDArray[np.bool_]:
        """Which rows match no excluded combination."""
        if not self.rules:
            return np.ones(len(rows), dtype=bool)
        rules = self._rule_levels
        matched = ((rows[:, None, :] == rules) | (rules == -1)).all(axis=2)
        allowed: NDArray[np.bool_] = ~matched.any(axis=1)
        return allowed

    def settings(self, row: Levels) -> Settings:
        """The values of a row."""
        return tuple(factor.values[level] for factor, level in zip(self.model.factors, row, strict=True))

    def random_rows(self, size: int, stream: Stream) -> Levels:
        """Allowed rows, drawn independently."""
        found: list[Levels] = []
        for _ in range(_TRIES):
            draws = stream.uniform(size * len(self._level_counts)).reshape(size, -1)
            rows = (draws * self._level_counts).astype(np.int64)
            found.extend(rows[self.allowed(rows)])
            if len(found) >= size:
                return np.array(found[:size])
        raise InputError("exclude leaves no combination that can be run; exclude less.")

    def improve(self, rows: Levels) -> tuple[float, Levels]:
        """Exchange coordinates until none helps; the logarithm of the determinant, and the rows."""
        rows = rows.copy()
        levels, is_set, new_basis, is_changed = self._single_changes
        basis = np.hstack([np.ones((len(rows), 1)), *(t[rows[:, i]] for i, t in enumerate(self._tables))])
        matrix = self.model.matrix(basis)
        for _ in range(_PASSES):
            spread = np.linalg.inv(self._information(matrix) + _RIDGE * np.eye(self.model.size))
            improved = False
            for index in range(len(rows)):
                candidates = np.where(is_set, levels, rows[index])
                candidate_basis = np.where(is_changed, new_basis, basis[index])
                candidate_matrix = self.model.matrix(candidate_basis)
                growth = _growth(spread, matrix[index], candidate_matrix)
                growth[~self.allowed(candidates)] = 0
                best = int(growth.round(_DIGITS).argmax())
                if growth[best] > 1 + _LEAST_GAIN:
                    spread = _without(_with(spread, candidate_matrix[best]), matrix[index])
                    rows[index], basis[index], matrix[index] = (
                        candidates[best],
                        candidate_basis[best],
                        candidate_matrix[best],
                    )
                    improved = True
            if not improved:
                break
        sign, logarithm = np.linalg.slogdet(self._information(matrix))
        full_rank = np.linalg.matrix_rank(self._information(matrix)) == self.model.size
        return (float(logarithm) if sign > 0 and full_rank else -np.inf), rows

    def _information(self, matrix: Matrix) -> Matrix:
        information: Matrix = matrix.T @ matrix + self._information_before
        return information


def _growth(spread: Matrix, old: Matrix, new: Matrix) -> Matrix:
    """By what factor the determinant grows if a row gives way to each of others; `spread` is (X'X)^-1."""
    projected = new @ spread
    within_new = (projected * new).sum(axis=1)
    growth: Matrix = (1 + within_new) * (1 - old @ spread @ old) + (projected @ old) ** 2
    return growth


def _with(spread: Matrix, row: Matrix) -> Matrix:
    """(X'X)^-1 after a row was added (Sherman and Morrison)."""
    projected = spread @ row
    return spread - np.outer(projected, projected) / (1 + row @ projected)


def _without(spread: Matrix, row: Matrix) -> Matrix:
    """(X'X)^-1 after a row was taken away."""
    projected = spread @ row
    return spread + np.outer(projected, projected) / (1 - row @ projected)
