import numpy as np
import pandas as pd
import pytest

from coxswain.core.dataset import make_dataset
from coxswain.core.errors import InputError
from coxswain.core.factors import Coding

TABLE = pd.DataFrame(
    {
        "cores": [1, 1, 2, 2, 1, 2],
        "network": ["deep", "deep", "deep", "shallow", "shallow", "shallow"],
        "batch": [32, 32, 256, 256, 32, 256],
        "time": [9.0, 8.0, 5.0, 3.0, 4.0, 2.0],
        "batch_of_jobs": ["x", "x", "y", "y", "z", "z"],
    }
)


def test_factors_are_numbers_or_categories() -> None:
    data = make_dataset(TABLE, "time", ["cores", "network"])
    cores, network = data.factors
    assert cores.levels == (1.0, 2.0)
    assert network.categories == ("deep", "shallow")
    assert list(data.settings.columns) == ["cores", "network"]
    assert data.y.tolist() == [9, 8, 5, 3, 4, 2]


def test_rows_with_the_same_settings_are_one_unit() -> None:
    data = make_dataset(TABLE, "time", ["cores", "network"])
    assert data.units.tolist() == [0, 0, 1, 2, 3, 2]
    assert not data.grouped


def test_a_group_column_says_what_a_unit_is() -> None:
    data = make_dataset(TABLE, "time", ["cores"], group="batch_of_jobs")
    assert data.units.tolist() == [0, 0, 1, 1, 2, 2]
    assert data.grouped


def test_a_factor_may_be_the_group_and_may_be_named_unit() -> None:
    table = TABLE.rename(columns={"cores": "unit"})
    data = make_dataset(table, "time", ["unit", "network"], group="network")
    assert data.settings["unit"].tolist() == [1, 1, 2, 2, 1, 2]
    assert data.units.tolist() == [0, 0, 0, 1, 1, 1]


def test_runs_without_a_response_are_left_out_only_when_asked_and_counted() -> None:
    table = TABLE.assign(time=[9.0, np.nan, 5.0, 3.0, np.nan, 2.0])
    data = make_dataset(table, "time", ["cores"], drop_missing=True)
    assert data.dropped == 2
    assert data.rows.tolist() == [1, 3, 4, 6]
    with pytest.raises(InputError, match=r"^column time has 2 missing values; fill in or drop those rows\.$"):
        make_dataset(table, "time", ["cores"])


def test_codings_reach_the_factors() -> None:
    data = make_dataset(TABLE, "time", ["batch", "cores"], codings={"batch": Coding.LOG})
    assert [factor.coding for factor in data.factors] == [Coding.LOG, Coding.LINEAR]


def test_numbers_may_be_declared_names_without_order() -> None:
    table = TABLE.assign(node=[1, 2, 3, 1, 2, np.nan], time=[9.0, 8.0, 5.0, 3.0, 4.0, np.nan])
    data = make_dataset(table, "time", ["node"], categories=["node"], drop_missing=True)
    assert data.factors[0].categories == ("1", "2", "3")
    assert data.settings["node"].tolist() == ["1", "2", "3", "1", "2"]


def test_blocks_are_beside_the_factors_and_divide_no_unit() -> None:
    data = make_dataset(TABLE.assign(day=[0, 1, 0, 1, 0, 1]), "time", ["cores"], block="day")
    assert data.block is not None
    assert data.block.categories == ("0", "1")
    assert [factor.name for factor in data.factors] == ["cores"]
    assert list(data.settings.columns) == ["day", "cores"]
    assert data.units.tolist() == [0, 0, 1, 1, 0, 1]


@pytest.mark.parametrize(
    ("changes", "arguments", "sentence"),
    [
        ({}, {"response": "speed"}, "there is no column speed; the columns are cores, network, batch, time"),
        ({}, {"factors": ["cores", "gpus"]}, "there is no column gpus"),
        ({}, {"group": "host"}, "there is no column host"),
        ({}, {"factors": []}, "no factor is named"),
        ({}, {"factors": ["cores", "cores"]}, "factor cores is named twice"),
        ({}, {"factors": ["cores", "time"]}, "column time is both the response and a factor"),
        ({}, {"group": "time"}, "column time is both the response and the group"),
        ({}, {"codings": {"gpus": Coding.LOG}}, "a coding is given for gpus, which is not a factor"),
        ({}, {"categories": ["gpus"]}, "categories are said to be in gpus, which is not a factor"),
        ({}, {"block": "day"}, "there is no column day"),
        ({}, {"block": "cores"}, "column cores is both the block and a factor"),
        ({}, {"block": "time"}, "column time is both the response and the block"),
        ({"day": [1] * 6}, {"block": "day"}, "factor day has only one value"),
        ({}, {"factors": ["network"], "codings": {"network": Coding.LOG}}, "factor network: coding Log needs numeric"),
        ({"time": [9, 8, "fast", 3, 4, 2]}, {}, "column time must be numbers, but has fast"),
        ({"time": [9, 8, np.inf, 3, 4, 2]}, {}, "column time must be numbers, but has inf"),
        ({"time": [np.nan] * 6}, {"drop_missing": True}, "no rows have a value in column time"),
        ({"cores": [1, 1, np.nan, 2, 1, 2]}, {}, "column cores has 1 missing value;"),
        ({"batch_of_jobs": ["x", None, "y", "y", "z", "z"]}, {"group": "batch_of_jobs"}, "batch_of_jobs has 1 missing"),
        ({"cores": [2] * 6}, {}, r"factor cores has only one value \(2\)"),
    ],
)
def test_bad_input_is_one_sentence_that_names_the_column(
    changes: dict[str, list[object]], arguments: dict[str, object], sentence: str
) -> None:
    call: dict[str, object] = {"response": "time", "factors": ["cores", "network"], **arguments}
    with pytest.raises(InputError, match=sentence) as caught:
        make_dataset(TABLE.assign(**changes), **call)  # type: ignore[arg-type]
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
