import math

import pytest

from coxswain.core.cost import DEFAULT_COST, Prices, Reserved
from coxswain.core.errors import InputError
from coxswain.core.expressions import parse_expression


def test_the_default_weighs_time_against_accuracy() -> None:
    cost = parse_expression(DEFAULT_COST, ["duration", "accuracy"])
    assert cost({"duration": 100.0, "accuracy": 1.0}) == pytest.approx(0.01)
    assert cost({"duration": 25.0, "accuracy": 0.5}) == pytest.approx(0.01)
    assert math.isnan(cost({"duration": 25.0, "accuracy": 0.0}))


def test_money_is_what_was_held_for_how_long() -> None:
    prices = Prices(core_hour=0.03, gib_hour=0.004, gpu_hour=2.5)
    reserved = Reserved(cores=2, memory_gib=8, gpus=1, workers=3)
    assert prices.per_hour(reserved) == pytest.approx(3 * (0.06 + 0.032 + 2.5))
    assert prices.of_run(reserved, seconds=900) == pytest.approx(3 * (0.06 + 0.032 + 2.5) / 4)
    assert prices.of_run(reserved, seconds=0) == 0


def test_what_has_no_price_is_free() -> None:
    assert Prices(core_hour=1.0).of_run(Reserved(cores=0.5, memory_gib=64), seconds=3600) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Prices(core_hour=-1.0), "core_hour is -1; give a number of 0 or more"),
        (lambda: Prices(gpu_hour=math.nan), "gpu_hour is nan"),
        (lambda: Reserved(cores=-1), "cores is -1"),
        (lambda: Reserved(cores=1, memory_gib=math.inf), "memory_gib is inf"),
        (lambda: Prices().of_run(Reserved(cores=1), -1.0), "the run's seconds are -1"),
    ],
)
def test_negative_amounts_are_refused(make: object, sentence: str) -> None:
    assert callable(make)
    with pytest.raises(InputError, match=sentence):
        make()
