import pytest

from coxswain.core.analysis.reduction import reduce_terms
from coxswain.core.analysis.terms import missing_parts
from tests.unit.analysis.tables import factorial, fitted_table


def test_noise_goes_and_what_an_interaction_needs_stays() -> None:
    table = factorial({"a": 3, "ab": 2, "d": 1}, replicates=4, noise=0.5, seed=3)
    fit, removals = reduce_terms(fitted_table(table, "y", "a*b*c*d"), 0.001)
    assert [term.name for term in fit.matrix.terms] == ["a", "b", "a:b", "d"]
    assert missing_parts(fit.matrix.terms) == []
    assert removals[0].p is not None
    assert len(removals) == 11
    assert all(removal.p is not None and removal.p > 0.001 for removal in removals)


def test_what_is_left_out_goes_to_the_error() -> None:
    before = fitted_table(factorial({"a": 3}, replicates=2, noise=1), "y", "a*b*c*d")
    after, removals = reduce_terms(before, 0.01)
    assert after.residual.df == before.residual.df + len(removals)
    assert after.residual.sum_sq > before.residual.sum_sq


def test_without_an_error_lenths_limit_decides() -> None:
    table = factorial({"a": 5, "ab": 4}, noise=0.2)
    fit, removals = reduce_terms(fitted_table(table, "y", "a*b*c*d"), 0.001)
    assert [term.name for term in fit.matrix.terms] == ["a", "b", "a:b"]
    assert all(removal.p is None for removal in removals)
    assert len(removals) == 12


def test_an_exact_fit_keeps_what_made_it() -> None:
    fit, _ = reduce_terms(fitted_table(factorial({"a": 1, "bc": 1 / 3}), "y", "(a + b + c + d)^2"), 0.05)
    assert {"a", "b", "c", "b:c"} <= {term.name for term in fit.matrix.terms}
    assert fit.r2 == 1


def test_everything_may_go() -> None:
    fit, removals = reduce_terms(fitted_table(factorial({}, replicates=2, noise=1), "y", "a + b"), 1e-9)
    assert fit.matrix.terms == ()
    assert len(removals) == 2
    assert fit.r2 == pytest.approx(0)


def test_what_was_aliased_stays_said() -> None:
    half = factorial({"a": 2}, replicates=2, noise=1).query("a * b * c * d == 1")
    fit, _ = reduce_terms(fitted_table(half, "y", "(a + b + c + d)^2"), 0.05)
    assert [alias.name for alias in fit.aliases] == ["b:c", "b:d", "c:d"]
