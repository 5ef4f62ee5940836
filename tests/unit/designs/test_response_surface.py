"""Central composite and Box-Behnken designs beyond the published tables."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from coxswain.core.designs import Alpha, BoxBehnken, CentralComposite, build
from coxswain.core.errors import InputError
from coxswain.core.factors import Coding, Factor
from tests.unit.designs.making import coded, factors


def second_order(places: NDArray[np.float64]) -> NDArray[np.float64]:
    count = places.shape[1]
    pairs = itertools.combinations_with_replacement(range(count), 2)
    return np.column_stack([np.ones(len(places)), places, *(places[:, a] * places[:, b] for a, b in pairs)])


@pytest.mark.parametrize("count", range(2, 12))
@pytest.mark.parametrize("alpha", Alpha)
def test_every_second_order_term_can_be_estimated(count: int, alpha: Alpha) -> None:
    matrix = second_order(coded(build(factors(count), CentralComposite(alpha=alpha))))
    assert np.linalg.matrix_rank(matrix) == matrix.shape[1]


@pytest.mark.parametrize("count", range(3, 8))
def test_box_behnken_estimates_every_second_order_term_without_a_corner(count: int) -> None:
    places = coded(build(factors(count), BoxBehnken()))
    matrix = second_order(places)
    assert np.linalg.matrix_rank(matrix) == matrix.shape[1]
    assert (np.abs(places).sum(axis=1) < count).all()
    assert set(np.unique(places)) == {-1, 0, 1}


@pytest.mark.parametrize(("count", "rows"), [(3, 15), (4, 27), (5, 46), (6, 54), (7, 62)])
def test_box_behnken_has_the_published_number_of_runs(count: int, rows: int) -> None:
    assert len(build(factors(count), BoxBehnken()).rows) == rows


@pytest.mark.parametrize(("count", "centers"), [(2, 5), (3, 6), (4, 7), (5, 6), (6, 9), (7, 14)])
def test_the_usual_centre_points_are_those_of_uniform_precision(count: int, centers: int) -> None:
    """Box and Hunter's table; from five factors on for the half fraction."""
    design = build(factors(count), CentralComposite(alpha=Alpha.ROTATABLE))
    assert sum(row.is_center for row in design.rows) == centers


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_rotatable_predictions_are_equally_sure_at_equal_distances(count: int) -> None:
    matrix = second_order(coded(build(factors(count), CentralComposite(alpha=Alpha.ROTATABLE))))
    spread = np.linalg.inv(matrix.T @ matrix)
    directions = np.random.default_rng(0).normal(size=(20, count))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    at_distance = second_order(1.3 * directions)
    variances = np.einsum("ij,jk,ik->i", at_distance, spread, at_distance)
    np.testing.assert_allclose(variances, variances[0], rtol=1e-8)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_orthogonal_squares_are_uncorrelated(count: int) -> None:
    squares = coded(build(factors(count), CentralComposite(alpha=Alpha.ORTHOGONAL))) ** 2
    np.testing.assert_allclose(np.corrcoef(squares.T), np.eye(count), atol=1e-9)


def test_inscribed_points_stay_within_the_levels_and_face_uses_three() -> None:
    inscribed = coded(build(factors(3), CentralComposite(alpha=Alpha.ROTATABLE, inscribed=True)))
    circumscribed = coded(build(factors(3), CentralComposite(alpha=Alpha.ROTATABLE)))
    np.testing.assert_allclose(inscribed * 8**0.25, circumscribed, atol=1e-9)
    assert np.abs(inscribed).max() == 1
    assert set(np.unique(coded(build(factors(3), CentralComposite())))) == {-1, 0, 1}


def test_levels_between_are_placed_by_the_coding_and_told() -> None:
    given_factors = [
        Factor("batch_size", levels=(32, 64, 512), coding=Coding.LOG, whole=True),
        Factor("rate", levels=(0.01, 0.05)),
    ]
    design = build(given_factors, CentralComposite(alpha=Alpha.ROTATABLE))
    assert {row.settings["batch_size"] for row in design.rows} == {18, 32, 128, 512, 909}
    rates = sorted({row.settings["rate"] for row in design.rows})
    assert rates == pytest.approx([0.03 - 0.02 * 2**0.5, 0.01, 0.03, 0.05, 0.03 + 0.02 * 2**0.5])
    assert design.notes == (
        "batch_size takes whole numbers; its levels are rounded to 18, 32, 128, 512 and 909.",
        "The axial points lie beyond the levels given, at 1.414 in coded units.",
    )
    face = build(given_factors, CentralComposite())
    assert face.notes == ("batch_size has 3 levels; this design uses 32, 128 and 512.",)


def test_what_cannot_be_built_is_refused() -> None:
    with pytest.raises(InputError, match="BoxBehnken takes 3 to 7 factors, not 8; use CentralComposite"):
        build(factors(8), BoxBehnken())
    with pytest.raises(InputError, match="CentralComposite takes 2 to 11 factors, not 12; use LatinHypercube"):
        build(factors(12), CentralComposite())
    with pytest.raises(InputError, match="factor network has categories, but BoxBehnken needs values between"):
        build([*factors(2), Factor("network", categories=("a", "b"))], BoxBehnken())
