import numpy as np
import pandas as pd
import pytest

from coxswain.core.dataset import make_dataset
from coxswain.core.errors import InputError
from coxswain.core.models.observations import from_dataset, put_together, settings_array
from coxswain.core.models.scales import Scale

TABLE = pd.DataFrame(
    {
        "cores": [1, 1, 2, 2, 4, 4, 8, 16],
        "network": ["deep", "deep", "deep", "flat", "flat", "flat", "deep", "flat"],
        "time": [8.0, 10.0, 5.0, 3.0, 2.0, 2.5, 1.0, 0.5],
        "wave": ["a", "b", "b", "c", "c", "d", "d", "e"],
    }
)
OBSERVATIONS = from_dataset(make_dataset(TABLE, "time", ["cores", "network"]))


def test_categories_become_their_numbers() -> None:
    assert OBSERVATIONS.settings[:, 1].tolist() == [0, 0, 0, 1, 1, 1, 0, 1]


def test_runs_of_one_setting_are_one_row_with_a_pooled_variance() -> None:
    rows = put_together(OBSERVATIONS, Scale.IDENTITY)
    assert len(rows) == 6
    assert sorted(rows.count.tolist()) == [1, 1, 1, 1, 2, 2]
    assert rows.within == pytest.approx((2.0 + 0.125) / 2)
    assert rows.mean[rows.row_of[0]] == 9.0


def test_runs_of_one_setting_in_two_groups_stay_two_rows() -> None:
    grouped = from_dataset(make_dataset(TABLE, "time", ["cores"], group="wave"))
    assert len(put_together(grouped, Scale.IDENTITY)) == 8
    assert len(np.unique(grouped.units)) == 5


def test_rows_can_be_taken_with_their_runs() -> None:
    rows = put_together(OBSERVATIONS, Scale.LOG)
    which = rows.count == 2
    taken = rows.take(which)
    assert len(taken) == 2
    assert np.allclose(np.bincount(taken.row_of, weights=taken.values) / taken.count, taken.mean)


def test_a_factor_can_be_left_out_without_changing_the_units() -> None:
    less = OBSERVATIONS.without("network")
    assert [factor.name for factor in less.factors] == ["cores"]
    assert less.units.tolist() == OBSERVATIONS.units.tolist()


def test_the_only_factor_cannot_be_left_out() -> None:
    with pytest.raises(InputError, match="only factor"):
        OBSERVATIONS.without("network").without("cores")


def test_too_few_rows_are_refused_in_one_sentence() -> None:
    with pytest.raises(InputError, match=r"time has 2 distinct rows of settings .* at least 5"):
        from_dataset(make_dataset(TABLE.head(3), "time", ["cores"]))


def test_killed_runs_do_not_count_as_rows_with_a_value() -> None:
    killed = np.array([False] * 4 + [True] * 4)
    with pytest.raises(InputError, match="at least 5"):
        from_dataset(make_dataset(TABLE, "time", ["cores", "network"]), killed)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"cores": 1, "network": "deep", "memory": 3}, "there is no factor memory; the factors are cores, network"),
        ({"cores": 1}, "factor network has no value"),
        ({"cores": 1, "network": "wide"}, "factor network has no category wide; it has deep, flat"),
        ({"cores": "many", "network": "deep"}, "factor cores must be a number, but is many"),
        ({"cores": float("inf"), "network": "deep"}, "factor cores must be a finite number"),
        ({"cores": -1, "network": "deep"}, "factor cores was above 0"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused_in_one_sentence(query: dict[str, float | str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        settings_array(OBSERVATIONS.factors, [query])
