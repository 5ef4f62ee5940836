"""What all kinds of design share: rows, replicates, order, blocks, centre points, limits and the digest."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.core.designs import (
    Design,
    FractionalFactorial,
    FullFactorial,
    LatinHypercube,
    Order,
    Rows,
    build,
)
from coxswain.core.errors import InputError
from coxswain.core.factors import Coding, Factor
from tests.unit.designs.making import coded, factors

level_counts = st.lists(st.integers(2, 4), min_size=1, max_size=4)
seeds = st.integers(0, 2**53 - 1)


def mixed(counts: list[int]) -> list[Factor]:
    """Factors with these numbers of values, numbers and categories in turn."""
    return [
        Factor(f"f{place}", levels=tuple(range(1, count + 1)))
        if place % 2 == 0
        else Factor(f"f{place}", categories=tuple("wxyz"[:count]))
        for place, count in enumerate(counts)
    ]


@given(level_counts)
def test_a_full_factorial_has_every_combination_once(counts: list[int]) -> None:
    design = build(mixed(counts), FullFactorial())
    rows = Counter(tuple(row.settings.values()) for row in design.rows)
    assert set(rows.values()) == {1}
    assert len(rows) == np.prod(counts)
    for factor in design.factors:
        shares = Counter(row.settings[factor.name] for row in design.rows)
        assert set(shares) == set(factor.values)
        assert len(set(shares.values())) == 1


def test_the_first_factor_changes_fastest() -> None:
    rows = build(mixed([3, 2]), FullFactorial()).rows
    assert [tuple(row.settings.values()) for row in rows] == [
        *[(1.0, "w"), (2.0, "w"), (3.0, "w")],
        *[(1.0, "x"), (2.0, "x"), (3.0, "x")],
    ]
    assert [row.index for row in rows] == list(range(6))


def test_a_category_between_the_first_and_the_last_has_no_coded_value() -> None:
    rows = build([Factor("network", categories=("small", "middle", "large"))], FullFactorial()).rows
    assert [row.coded["network"] for row in rows] == [-1, None, 1]


@given(level_counts, st.integers(1, 5), seeds, st.sampled_from(Order))
def test_every_row_is_run_as_often_as_asked(counts: list[int], replications: int, seed: int, order: Order) -> None:
    design = build(mixed(counts), FullFactorial(replications=replications, seed=seed, order=order))
    assert len(design.runs) == design.run_count == len(design.rows) * replications
    assert {(run.row, run.replicate) for run in design.runs} == {
        (row.index, replicate) for row in design.rows for replicate in range(replications)
    }
    assert [run.position for run in design.runs] == list(range(design.run_count))


def sequence(design: Design) -> list[tuple[int, int]]:
    return [(run.row, run.replicate) for run in design.runs]


@given(seeds, st.integers(1, 4))
def test_the_order_depends_on_the_seed_alone(seed: int, replications: int) -> None:
    options = FullFactorial(replications=replications, seed=seed)
    order = sequence(build(factors(3), options))
    other_names = [Factor(name, levels=(0.1, 0.7), coding=Coding.LOG) for name in ("x", "a", "m")]
    assert sequence(build(other_names, options)) == order
    fraction = FractionalFactorial(generators=("D=ABC",), replications=replications, seed=seed)
    assert sequence(build(factors(4), fraction)) == order


@given(seeds)
def test_more_replicates_or_centre_points_leave_the_order_of_the_others_as_it_was(seed: int) -> None:
    few = build(factors(3), FullFactorial(replications=2, seed=seed))
    many = build(factors(3), FullFactorial(replications=3, seed=seed, center_points=2))
    assert [run for run in sequence(many) if run in set(sequence(few))] == sequence(few)


def test_another_seed_gives_another_order_and_standard_order_is_replicate_by_replicate() -> None:
    orders = {tuple(sequence(build(factors(4), FullFactorial(seed=seed)))) for seed in range(50)}
    assert len(orders) == 50
    standard = build(factors(2), FullFactorial(replications=2, order=Order.STANDARD))
    assert sequence(standard) == [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (2, 1), (3, 1)]


def test_random_order_is_uniform() -> None:
    """Over many seeds each row comes first equally often (chi-squared, 7 degrees of freedom, at 0.1 %)."""
    first = Counter(build(factors(3), FullFactorial(seed=seed)).runs[0].row for seed in range(2_000))
    assert sum((first[row] - 250) ** 2 / 250 for row in range(8)) < 24.3


def test_the_digest_is_known_and_does_not_depend_on_the_order_of_factors() -> None:
    """A changed digest would make every running experiment look like another one: never change this one lightly."""
    options = FractionalFactorial(generators=("D=AB", "E=AC"), replications=3, seed=42)
    assert build([Factor(name, levels=(1, 2)) for name in "abcde"], options).digest == (
        "sha256:5df3b9acedda329c51f4175c18de2ac465f994d4e5831fe40c2201bfaed7d884"
    )
    rows = ({"b": 1.0, "a": 2.0}, {"a": 1.0, "b": 2.0})
    a, b = Factor("a", levels=(1, 2)), Factor("b", levels=(1, 2))
    assert build([a, b], Rows(rows=rows)).digest == build([b, a], Rows(rows=rows)).digest


def test_the_digest_stays_when_replications_are_raised() -> None:
    assert build(factors(3), FullFactorial(replications=2)).digest == build(factors(3), FullFactorial()).digest


@given(seeds, seeds)
def test_the_digest_tells_designs_apart(one: int, other: int) -> None:
    first, second = (build(factors(4), FullFactorial(seed=seed)) for seed in (one, other))
    assert (first.digest == second.digest) == (one == other)
    assert first.digest == build(factors(4), FullFactorial(seed=one)).digest
    moved = [*factors(3), Factor("f3", levels=(1, 3.5))]
    assert first.digest != build(moved, FullFactorial(seed=one)).digest


def test_two_level_designs_of_more_levels_use_the_extremes_and_say_so() -> None:
    given_factors = [
        Factor("batch_size", levels=(32, 64, 256), coding=Coding.LOG, whole=True),
        Factor("network", categories=("small", "middle", "large")),
        Factor("cores", levels=(1, 2)),
    ]
    design = build(given_factors, FractionalFactorial(generators=("C=AB",)))
    assert {row.settings["batch_size"] for row in design.rows} == {32, 256}
    assert {row.settings["network"] for row in design.rows} == {"small", "large"}
    assert design.notes == (
        "batch_size has 3 levels; this two-level design uses 32 and 256.",
        "network has 3 categories; this two-level design uses small and large.",
    )


def test_centre_points_are_in_the_middle_of_coded_units_and_whole_where_the_factor_is() -> None:
    given_factors = [
        Factor("batch_size", levels=(32, 256), coding=Coding.LOG, whole=True),
        Factor("rate", levels=(0.01, 0.05)),
    ]
    design = build(given_factors, FullFactorial(center_points=3, replications=2))
    centers = [row for row in design.rows if row.is_center]
    assert len(design.rows) == 7
    assert [row.settings for row in centers] == [{"batch_size": 91.0, "rate": 0.03}] * 3
    assert centers[0].coded["batch_size"] == pytest.approx(given_factors[0].code(91))
    assert design.run_count == 14
    assert design.notes == ("batch_size takes whole numbers; its centre is rounded to 91.",)
    even = [Factor("batch_size", levels=(32, 512), coding=Coding.LOG, whole=True)]
    assert build(even, FullFactorial(center_points=1)).notes == ()


def test_centre_points_are_run_for_each_combination_of_categories() -> None:
    given_factors = [Factor("cores", levels=(1, 3)), Factor("network", categories=("small", "middle", "large"))]
    fully = build(given_factors, FullFactorial(center_points=2))
    settings = [row.settings for row in fully.rows if row.is_center]
    assert settings == [{"cores": 2.0, "network": name} for name in ("small", "middle", "large")] * 2
    two_level = build([*given_factors, Factor("x", levels=(0, 2))], FractionalFactorial(resolution=3, center_points=1))
    assert [row.settings["network"] for row in two_level.rows if row.is_center] == ["small", "large"]


@given(st.integers(2, 6), st.integers(1, 3), seeds)
def test_blocks_of_whole_replicates_hold_every_row_equally_often(count: int, times: int, seed: int) -> None:
    design = build(factors(3), FullFactorial(blocks=count, replications=count * times, seed=seed))
    assert not design.confounded
    blocks = [run.block for run in design.runs]
    assert blocks == sorted(blocks)
    assert set(Counter((run.block, run.row) for run in design.runs).values()) == {times}


def test_too_large_designs_are_refused_before_they_are_made() -> None:
    sentence = (
        "FullFactorial makes 7450580596923828125 rows x 2 replications = 14901161193847656250 runs, more than 10000"
    )
    with pytest.raises(InputError, match=sentence):
        build(factors(27, levels=(1, 2, 3, 4, 5)), FullFactorial(replications=2))
    build(factors(4), FullFactorial(replications=625))
    with pytest.raises(InputError, match="more than 10000"):
        build(factors(4), FullFactorial(replications=626))
    with pytest.raises(InputError, match="more than 10000"):
        build(factors(4), FullFactorial(replications=600, center_points=1))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (lambda: FullFactorial(replications=0), "replications is 0; give 1 or more."),
        (lambda: FullFactorial(blocks=0), "blocks is 0; give 1 or more."),
        (lambda: FullFactorial(center_points=-1), "centerPoints is -1; give 0 or more."),
        (lambda: FullFactorial(seed=-1), "seed is -1; give 0 or more."),
    ],
)
def test_options_that_make_no_sense_are_refused(options: Callable[[], FullFactorial], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        options()
    assert str(caught.value) == sentence


def test_factors_that_make_no_design_are_refused() -> None:
    with pytest.raises(InputError, match="a design needs at least one factor"):
        build([], FullFactorial())
    with pytest.raises(InputError, match="factor f0 is named twice"):
        build(factors(1) * 2, FullFactorial())
    with pytest.raises(InputError, match="there is no numeric factor, so there is no centre"):
        build([Factor("network", categories=("a", "b"))], FullFactorial(center_points=1))
    with pytest.raises(InputError, match="factor workers has no whole number between 1 and 2"):
        build([Factor("workers", levels=(1, 2), whole=True)], FullFactorial(center_points=1))
    with pytest.raises(InputError, match="LatinHypercube can only be blocked by its replicates"):
        build(factors(2), LatinHypercube(size=8, blocks=2))


def test_a_whole_factor_decodes_to_whole_numbers_and_refuses_others() -> None:
    workers = Factor("workers", levels=(1, 4), whole=True)
    assert [workers.decode(place) for place in (-1, -0.4, 0, 0.4, 1)] == [1, 2, 3, 3, 4]
    with pytest.raises(InputError, match="factor workers: levels must be whole numbers"):
        Factor("workers", levels=(1, 2.5), whole=True)


ROW = {"cores": 2.0, "network": "small"}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ((), "Rows: give at least one row."),
        (({"cores": 2.0},), "rows[0]: factor network is missing; give each factor a value."),
        ((ROW, {**ROW, "x": 1.0}), "rows[1]: x is no factor; the factors are cores, network."),
        (({**ROW, "network": "huge"},), "rows[0]: network cannot be huge; give one of small, large."),
        (({**ROW, "cores": "two"},), "rows[0]: cores cannot be two; give a whole number."),
        (({**ROW, "cores": 1.5},), "rows[0]: cores cannot be 1.5; give a whole number."),
        (({**ROW, "cores": float("nan")},), "rows[0]: cores cannot be nan; give a whole number."),
    ],
)
def test_given_rows_are_checked(rows: tuple[dict[str, float | str], ...], sentence: str) -> None:
    given_factors = [Factor("cores", levels=(1, 4), whole=True), Factor("network", categories=("small", "large"))]
    with pytest.raises(InputError) as caught:
        build(given_factors, Rows(rows=rows))
    assert str(caught.value) == sentence


def test_given_rows_may_lie_between_the_levels() -> None:
    design = build(factors(2), Rows(rows=({"f0": 2.0, "f1": 1.0}, {"f1": 3.0, "f0": 2.5})))
    assert coded(design).tolist() == [[0, -1], [0.5, 1]]
