"""D-optimal designs, held against exhaustive search, known optima and random designs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coxswain.core.designs import DOptimal, FullFactorial, Model, build
from coxswain.core.designs.base import Settings
from coxswain.core.designs.optimal import linear_model
from coxswain.core.errors import InputError
from coxswain.core.factors import Coding, Factor, Level
from tests.unit.designs.making import factors

MIXED = (
    Factor("cores", levels=(1, 2, 4), coding=Coding.LOG),
    Factor("rate", levels=(0.01, 0.05)),
    Factor("network", categories=("small", "middle", "large")),
)


def efficiency(given_factors: list[Factor], model: Model, rows: list[Settings]) -> float:
    """|X'X|^(1/p) / n from the definition."""
    linear = linear_model(given_factors, model)
    matrix = linear.matrix(linear.basis(rows))
    return float(max(np.linalg.det(matrix.T @ matrix), 0) ** (1 / linear.size) / len(rows))


def combinations_of(given_factors: list[Factor]) -> list[Settings]:
    return list(itertools.product(*(factor.values for factor in given_factors)))


@pytest.mark.parametrize(
    ("given_factors", "size", "model"),
    [
        (factors(7), 8, Model.MAIN),
        (factors(11), 12, Model.MAIN),
        (factors(3), 8, Model.INTERACTIONS),
        (factors(5), 16, Model.INTERACTIONS),
        (list(MIXED), 12, Model.MAIN),
    ],
)
def test_where_an_orthogonal_design_exists_it_is_found(given_factors: list[Factor], size: int, model: Model) -> None:
    assert build(given_factors, DOptimal(size=size, model=model)).d_efficiency == pytest.approx(1)


def test_a_parabola_is_best_measured_at_both_ends_and_the_middle() -> None:
    design = build(factors(1, levels=(0, 1, 2, 3, 4)), DOptimal(size=6, model=Model.QUADRATIC))
    assert sorted(row.settings["f0"] for row in design.rows) == [0, 0, 2, 2, 4, 4]
    assert design.d_efficiency == pytest.approx((4 / 27) ** (1 / 3))


@pytest.mark.parametrize(("size", "model"), [(4, Model.MAIN), (5, Model.INTERACTIONS), (6, Model.QUADRATIC)])
def test_exhaustive_search_finds_nothing_better(size: int, model: Model) -> None:
    given_factors = factors(2, levels=(1, 2, 3))
    best = max(
        efficiency(given_factors, model, list(rows))
        for rows in itertools.combinations_with_replacement(combinations_of(given_factors), size)
    )
    assert build(given_factors, DOptimal(size=size, model=model)).d_efficiency == pytest.approx(best)


@settings(max_examples=6)
@given(st.sampled_from(Model), st.integers(0, 6), st.integers(0, 99))
def test_no_random_design_is_better(model: Model, more: int, seed: int) -> None:
    size = linear_model(MIXED, model).size + more
    design = build(MIXED, DOptimal(size=size, model=model, seed=seed))
    rows = [tuple(row.settings.values()) for row in design.rows]
    assert design.d_efficiency == pytest.approx(efficiency(list(MIXED), model, rows))
    rng, choices = np.random.default_rng(seed), combinations_of(list(MIXED))
    for _ in range(100):
        drawn = [choices[index] for index in rng.integers(len(choices), size=size)]
        assert efficiency(list(MIXED), model, drawn) <= (design.d_efficiency or 0) + 1e-12


@settings(max_examples=4)
@given(st.lists(st.sampled_from(combinations_of(list(MIXED))), max_size=6, unique=True), st.integers(0, 99))
def test_excluded_combinations_never_appear(combinations: list[Settings], seed: int) -> None:
    names = [factor.name for factor in MIXED]
    exclude: list[dict[str, Level]] = [dict(zip(names, row, strict=True)) for row in combinations]
    exclude.append({"cores": 4.0, "network": "large"})
    design = build(MIXED, DOptimal(size=12, model=Model.MAIN, seed=seed, exclude=tuple(exclude)))
    assert len(design.rows) == 12
    for row in design.rows:
        assert not any(rule.items() <= dict(row.settings).items() for rule in exclude)


def test_runs_already_done_are_completed() -> None:
    """After one half of a 2^3 design, the best four further rows for all interactions are the other half."""
    full = [dict(row.settings) for row in build(factors(3), FullFactorial()).rows]
    done = [row for row in full if row["f2"] == (3.0 if row["f0"] == row["f1"] else 1.0)]
    design = build(factors(3), DOptimal(size=4, augment=tuple(done)))
    assert design.d_efficiency == pytest.approx(1)
    made = [dict(row.settings) for row in design.rows]
    assert all(row not in done for row in made)
    assert len(design.earlier) == 4
    [note] = design.notes
    assert note.startswith("4 runs already done count in its efficiency and power")
    assert "sees the new runs alone, so give `cox analyze` one table with all" in note


def test_rows_follow_from_the_seed_and_from_no_other_option() -> None:
    plain = DOptimal(size=10, model=Model.MAIN, seed=3)
    others = DOptimal(size=10, model=Model.MAIN, seed=3, replications=2, blocks=2)
    assert build(MIXED, plain).rows == build(MIXED, others).rows
    assert build(MIXED, plain).digest == build(MIXED, DOptimal(size=10, model=Model.MAIN, seed=3)).digest


def test_only_factors_with_three_levels_have_squares() -> None:
    model = linear_model(MIXED, Model.QUADRATIC)
    assert [model.name(term) for term in model.terms] == [
        *["cores", "rate", "network", "cores:rate", "cores:network", "rate:network", "cores^2"]
    ]
    assert model.size == 1 + 1 + 1 + 2 + 1 + 2 + 2 + 1


def test_columns_of_a_balanced_design_are_orthogonal_and_of_one_length() -> None:
    given_factors = (Factor("a", categories=("x", "y", "z", "w")), Factor("b", categories=("p", "q", "r")))
    model = linear_model(given_factors, Model.INTERACTIONS)
    matrix = model.matrix(model.basis(combinations_of(list(given_factors))))
    np.testing.assert_allclose(matrix.T @ matrix, 12 * np.eye(12), atol=1e-9)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (DOptimal(size=4), "DOptimal: 4 runs are fewer than the 10 coefficients of the Interactions model"),
        (
            DOptimal(size=4, augment=({"cores": 1.0, "rate": 0.01, "network": "small"},)),
            "DOptimal: 4 runs and 1 already done are fewer than the 10 coefficients",
        ),
        (DOptimal(size=12, exclude=({"gpus": 1.0},)), "exclude.0.: gpus is no factor; the factors are cores, rate"),
        (DOptimal(size=12, exclude=({"cores": 3.0},)), "exclude.0.: cores has no level 3.0; its levels are 1, 2, 4"),
        (DOptimal(size=12, exclude=({},)), "exclude.0.: name at least one factor"),
        (DOptimal(size=12, augment=({"cores": 1.0},)), "rows.0.: factor rate is missing"),
        (
            DOptimal(size=12, exclude=({"rate": 0.01}, {"rate": 0.05})),
            "exclude leaves no combination that can be run; exclude less",
        ),
        (
            DOptimal(size=12, model=Model.MAIN, exclude=({"rate": 0.01},)),
            "the allowed combinations cannot tell all 5 coefficients of the Main model apart",
        ),
    ],
)
def test_what_cannot_be_built_is_refused(options: DOptimal, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        build(MIXED, options)
