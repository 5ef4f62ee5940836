"""Latin hypercubes: every stratum once, usable settings, and rows far apart."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from coxswain.core.designs import LatinHypercube, Order, build
from coxswain.core.errors import InputError
from coxswain.core.factors import Coding, Factor
from tests.unit.designs.making import coded, factors

few = settings(max_examples=10)


@few
@given(st.integers(2, 16), st.integers(1, 4), st.integers(0, 99), st.sampled_from(Coding))
def test_every_stratum_of_a_range_is_used_once(size: int, count: int, seed: int, coding: Coding) -> None:
    given_factors = [Factor(f"f{index}", levels=(1, 100), coding=coding) for index in range(count)]
    places = coded(build(given_factors, LatinHypercube(size=size, seed=seed)))
    strata = np.floor((places + 1) / 2 * size).astype(int)
    for column in strata.T:
        assert sorted(column) == list(range(size))


@few
@given(st.integers(2, 16), st.integers(2, 6), st.integers(0, 99))
def test_whole_numbers_listed_levels_and_categories_are_used_equally_often(size: int, values: int, seed: int) -> None:
    given_factors = [
        Factor("workers", levels=(1, values), whole=True),
        Factor("memory", levels=tuple(2.0**power for power in range(values + 1))),
        Factor("network", categories=tuple("abcdefg"[:values])),
    ]
    rows = build(given_factors, LatinHypercube(size=size, seed=seed)).rows
    allowed = {"workers": range(1, values + 1), "memory": given_factors[1].values, "network": given_factors[2].values}
    for name, choices in allowed.items():
        counts = Counter(row.settings[name] for row in rows)
        assert set(counts) <= set(choices)
        uses = [counts[choice] for choice in choices]
        assert max(uses) - min(uses) <= 1


def test_whole_numbers_of_a_log_coded_range_are_spread_by_their_logarithm() -> None:
    rows = build([Factor("batch", levels=(1, 1024), coding=Coding.LOG, whole=True)], LatinHypercube(size=100)).rows
    batches = np.array([row.settings["batch"] for row in rows], dtype=float)
    assert (batches == np.round(batches)).all()
    assert batches.min() == 1
    assert 40 <= (batches < 32).sum() <= 60


@pytest.mark.parametrize(("size", "count"), [(10, 2), (20, 5), (50, 8)])
def test_rows_are_farther_apart_than_in_the_best_of_many_random_ones(size: int, count: int) -> None:
    made = pdist((coded(build(factors(count), LatinHypercube(size=size))) + 1) / 2).min()
    rng = np.random.default_rng(1)
    random = [
        pdist((np.column_stack([rng.permutation(size) for _ in range(count)]) + 0.5) / size).min() for _ in range(200)
    ]
    assert made > max(random)


def test_categories_are_spread_too() -> None:
    """With two categories and one range, neighbours in the range differ in category more often than chance."""
    given_factors = [Factor("x", levels=(0, 1)), Factor("network", categories=("a", "b"))]
    rows = build(given_factors, LatinHypercube(size=20)).rows
    ordered = [row.settings["network"] for row in sorted(rows, key=lambda row: float(row.settings["x"]))]
    assert sum(one != other for one, other in itertools.pairwise(ordered)) >= 15


def test_rows_follow_from_the_seed_and_from_no_other_option() -> None:
    plain = build(factors(3), LatinHypercube(size=9, seed=7))
    others = LatinHypercube(size=9, seed=7, replications=4, blocks=2, order=Order.STANDARD)
    assert build(factors(3), others).rows == plain.rows
    assert build(factors(3), LatinHypercube(size=9, seed=8)).rows != plain.rows


def test_the_rows_are_the_same_on_every_machine_and_with_every_version_of_numpy() -> None:
    digest = build(factors(2), LatinHypercube(size=6, seed=1)).digest
    assert digest == "sha256:d8cb2d14ed40a307f86193e0d4bed2396a7f2e84b9772a474a626d59a56f11b3"


@pytest.mark.parametrize("size", [0, 1, 1001])
def test_sizes_that_make_no_sense_are_refused(size: int) -> None:
    with pytest.raises(InputError, match=f"LatinHypercube: runs is {size}; give 2 to 1000"):
        build(factors(2), LatinHypercube(size=size))
