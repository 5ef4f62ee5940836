"""Power, held against statsmodels, against simulation, and against what the columns can estimate."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import TTestIndPower

from coxswain.core.designs import (
    CentralComposite,
    DOptimal,
    FractionalFactorial,
    FullFactorial,
    Model,
    PlackettBurman,
    build,
    detectable,
)
from coxswain.core.designs.power import _independent
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor
from tests.unit.designs.making import coded, factors


@pytest.mark.parametrize("replications", [3, 5, 10, 50])
@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.9)])
def test_one_factor_at_two_levels_is_the_two_sample_t_test(replications: int, alpha: float, power: float) -> None:
    design = build(factors(1), FullFactorial(replications=replications))
    found = detectable(design, noise=2.5, alpha=alpha, power=power)
    smallest = found.terms[0].smallest_effect
    assert found.residual_df == 2 * replications - 2
    for effect in (2.5, smallest):
        chance = TTestIndPower().power(effect_size=effect / 2.5, nobs1=replications, alpha=alpha)
        assert found.chance(found.terms[0], effect) == pytest.approx(chance, rel=1e-6)
    assert found.chance(found.terms[0], smallest) == pytest.approx(power)


def test_simulated_experiments_find_the_smallest_effect_as_often_as_promised() -> None:
    design = build(factors(3), FullFactorial(replications=2))
    found = detectable(design, noise=3.0)
    signs = np.repeat(coded(design), 2, axis=0)
    pairs = [signs[:, a] * signs[:, b] for a, b in ((0, 1), (0, 2), (1, 2))]
    matrix = np.column_stack([np.ones(16), signs, *pairs])
    assert found.residual_df == 16 - 7
    rng = np.random.default_rng(5)
    term = found.terms[1]
    responses = signs[:, [1]] * term.smallest_effect / 2 + rng.normal(scale=3.0, size=(16, 20_000))
    estimates = matrix.T @ responses / 16
    residuals = responses - matrix @ estimates
    errors = np.sqrt((residuals**2).sum(axis=0) / found.residual_df / 16)
    significant = np.abs(estimates[2] / errors) > 2.262157  # the t table's 97.5 % point at 9 degrees of freedom
    assert significant.mean() == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / 20_000))


def test_aliased_terms_are_not_in_the_model() -> None:
    design = build(factors(5), FractionalFactorial(generators=("D=AB", "E=AC"), replications=3))
    found = detectable(design)
    assert found.residual_df == 24 - 8
    assert [term.term for term in found.terms] == ["f0", "f1", "f2", "f3", "f4", "f1:f2", "f1:f4"]
    assert len(found.inseparable) == 8
    assert [term.standard_error for term in found.terms] == pytest.approx([2 / math.sqrt(24)] * 7)


@given(st.integers(0, 999), st.integers(2, 9), st.integers(1, 12))
def test_a_column_is_left_out_exactly_if_those_before_it_give_it(seed: int, rows: int, columns: int) -> None:
    matrix = np.random.default_rng(seed).choice([-1.0, 1.0], size=(rows, columns))
    ranks = [0, *(int(np.linalg.matrix_rank(matrix[:, : count + 1])) for count in range(columns))]
    expected = [column for column in range(columns) if ranks[column + 1] > ranks[column]]
    assert _independent(matrix.T @ matrix) == expected


def test_effects_confounded_with_blocks_are_not_in_the_model_and_blocks_cost_degrees_of_freedom() -> None:
    found = detectable(build(factors(3), FullFactorial(blocks=2, replications=3)), interactions=3)
    assert found.inseparable == ("f0:f1:f2",)
    assert found.residual_df == 24 - 1 - 1 - 6
    whole = detectable(build(factors(3), FullFactorial(blocks=3, replications=3)), interactions=3)
    assert whole.inseparable == ()
    assert whole.residual_df == 24 - 1 - 2 - 7


def test_without_degrees_of_freedom_a_smaller_model_is_assumed_or_nothing_can_be_found() -> None:
    plain = detectable(build(factors(4), FullFactorial()), interactions=4)
    assert (plain.interactions, plain.residual_df) == (3, 1)
    saturated = detectable(build(factors(11), PlackettBurman()))
    assert (saturated.interactions, saturated.residual_df) == (1, 0)
    assert all(math.isinf(term.smallest_effect) for term in saturated.terms)
    assert math.isnan(saturated.chance(saturated.terms[0], 1.0))


def test_categories_are_compared_pair_by_pair() -> None:
    network = Factor("network", categories=("a", "b", "c"))
    alone = detectable(build([network], FullFactorial(replications=5)))
    assert alone.terms[0].standard_error == pytest.approx(math.sqrt(2 / 5))
    assert alone.residual_df == 12
    crossed = detectable(build([network, *factors(1)], FullFactorial(replications=5)))
    # Half the difference of two effects, each the difference of two means of five.
    assert crossed.terms[2].term == "network:f0"
    assert crossed.terms[2].standard_error == pytest.approx(math.sqrt(4 / 5) / 2)


def test_two_categories_are_like_two_levels() -> None:
    named = build([Factor("f0", categories=("a", "b")), *factors(2)[1:]], FullFactorial(replications=3))
    assert detectable(named) == detectable(build(factors(2), FullFactorial(replications=3)))


def test_curved_designs_tell_about_squares() -> None:
    terms = [term.term for term in detectable(build(factors(2), CentralComposite())).terms]
    assert terms == ["f0", "f1", "f0:f1", "f0^2", "f1^2"]
    options = DOptimal(size=12, model=Model.QUADRATIC)
    squares = [t.term for t in detectable(build(factors(2, levels=(1, 2, 3)), options)).terms if "^" in t.term]
    assert squares == ["f0^2", "f1^2"]


def test_runs_already_done_count() -> None:
    done = tuple(dict(row.settings) for row in build(factors(2), FullFactorial()).rows)
    design = build(factors(2), DOptimal(size=4, augment=done))
    found = detectable(design)
    assert found.residual_df == 8 - 4
    assert found.terms[0].standard_error == pytest.approx(2 / math.sqrt(8))


@settings(max_examples=15)
@given(st.integers(2, 8), st.floats(0.1, 100))
def test_more_replications_find_smaller_effects_and_noise_scales_them(replications: int, noise: float) -> None:
    designs = [build(factors(3), FullFactorial(replications=count)) for count in (replications, replications + 1)]
    fewer, more = (detectable(design, noise=noise).terms[0].smallest_effect for design in designs)
    assert more < fewer
    assert detectable(designs[0]).terms[0].smallest_effect * noise == pytest.approx(fewer)


def test_bad_arguments_are_refused() -> None:
    design = build(factors(2), FullFactorial())
    with pytest.raises(InputError, match="noise is 0; give a standard deviation above 0"):
        detectable(design, noise=0)
    with pytest.raises(InputError, match=r"alpha 0\.9 and power 0\.8 must be between 0 and 1, alpha the smaller"):
        detectable(design, alpha=0.9)
    with pytest.raises(InputError, match="interactions is 0; give 1 for main effects only"):
        detectable(design, interactions=0)
