import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.core.factors import Coding, Factor
from coxswain.core.models.encoding import Encoding, coded, interaction_terms, polynomial_terms, products
from coxswain.core.models.scales import EDGE, Scale, usable_scales

NETWORK = Factor("network", categories=("deep", "shallow", "tiny"))
CORES = Factor("cores", levels=(1.0, 2.0, 4.0))


@given(st.floats(EDGE, 1 - EDGE))
def test_a_scale_and_back_is_where_it_started(share: float) -> None:
    for scale in Scale:
        assert scale.inverse(scale.forward(np.array([share])))[0] == pytest.approx(share)


@given(st.floats(0.01, 0.99))
def test_the_slope_is_that_of_the_scale(share: float) -> None:
    step = 1e-6
    for scale in Scale:
        rise = scale.forward(np.array([share + step])) - scale.forward(np.array([share - step]))
        assert scale.slope(np.array([share]))[0] == pytest.approx(rise[0] / (2 * step), rel=1e-4)


def test_only_a_positive_response_has_a_logarithm() -> None:
    assert Scale.LOG in usable_scales(np.array([1.0, 2.0]))
    assert usable_scales(np.array([0.0, 2.0])) == (Scale.IDENTITY,)


def test_numbers_are_coded_between_minus_one_and_one() -> None:
    assert coded(CORES, np.array([1.0, 2.0, 4.0]), log=True).tolist() == pytest.approx([-1, 0, 1])
    assert coded(CORES, np.array([1.0, 2.5, 4.0]), log=False).tolist() == pytest.approx([-1, 0, 1])


def test_a_factor_that_is_zero_somewhere_is_placed_linearly() -> None:
    load = Factor("load", levels=(0.0, 2.0, 4.0))
    assert coded(load, np.array([0.0, 2.0, 4.0]), log=True).tolist() == pytest.approx([-1, 0, 1])


def test_a_factor_that_asks_for_its_logarithm_gets_it() -> None:
    batch = Factor("batch", levels=(1.0, 100.0), coding=Coding.LOG)
    assert coded(batch, np.array([10.0]), log=False)[0] == pytest.approx(0)


def test_categories_are_coded_by_contrasts_that_sum_to_zero() -> None:
    columns = Encoding((NETWORK,), log=False).columns(np.array([[0.0], [1.0], [2.0]]))
    assert columns.sum(axis=0).tolist() == [0, 0]
    assert np.linalg.matrix_rank(columns) == 2


def test_interactions_never_multiply_contrasts_of_one_category() -> None:
    owner = Encoding((NETWORK, CORES), log=False).owner
    assert interaction_terms(owner, 2) == [(), (0,), (1,), (2,), (0, 2), (1, 2)]


def test_a_power_needs_one_level_more_than_itself() -> None:
    two_levels = Encoding((Factor("a", levels=(1.0, 2.0)), CORES), log=False)
    terms = polynomial_terms(two_levels, 3)
    assert (0, 0) not in terms
    assert (1, 1) in terms
    assert (1, 1, 1) not in terms
    assert (0, 1, 1) in terms


def test_products_are_the_columns_of_terms() -> None:
    assert products(np.array([[2.0, 3.0]]), [(), (0,), (0, 1), (1, 1)]).tolist() == [[1, 2, 6, 9]]
