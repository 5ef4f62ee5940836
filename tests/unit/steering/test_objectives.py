"""What each objective makes of the same settings."""

from typing import Any

import pytest

from coxswain.core.cost import Prices
from coxswain.core.forecasts.learning import FamilyModel, learn
from coxswain.core.planning.times import exactly
from coxswain.core.steering.predictions import times_at, values_at
from tests.unit.forecasts.making import entry, job
from tests.unit.steering.making import steps, taught

PRICED = Prices(core_hour=1.0)
ALLOWED = {"field": "epochs", "min": 2, "max": 10}


def values(objective: str, *fields: dict[str, Any], model: FamilyModel | None = None) -> list[float]:
    specs = [job(**each).spec for each in fields]
    return values_at(objective, model, specs, times_at(model, specs, 1.0), PRICED)


def of_epochs(*epochs: int) -> list[dict[str, Any]]:
    return [{"parameters": {"epochs": each}} for each in epochs]


def test_accuracy_is_worth_what_the_learning_curve_predicts() -> None:
    few, many = values("Accuracy", *of_epochs(3, 10), model=taught())
    assert few == pytest.approx(0.95 - 0.5 * 3**-0.7, abs=0.02)
    assert many == pytest.approx(0.95 - 0.5 * 10**-0.7, abs=0.02)


def test_accuracy_is_worth_its_epochs_until_accuracies_are_learned() -> None:
    untold = learn([entry(number, [5.0] * (2 + number % 5)) for number in range(10)])
    assert values("Accuracy", *of_epochs(3, 10), model=untold) == [3, 10]


def test_most_work_is_worth_its_epochs_whatever_they_are_predicted_to_reach() -> None:
    assert values("MostWork", *of_epochs(3, 10), model=taught()) == [3, 10]


def test_least_cost_is_worth_the_money_it_saves_and_nothing_else() -> None:
    specs = [job(resources={"workers": workers, "coresPerWorker": "500m"}).spec for workers in (1, 2)]
    times = [exactly(3600.0), exactly(2700.0)]
    assert values_at("LeastCost", taught(), specs, times, PRICED) == pytest.approx([-0.5, -0.75])


def test_least_cost_counts_core_seconds_where_nothing_has_a_price() -> None:
    specs = [job(resources={"workers": workers, "coresPerWorker": "500m"}).spec for workers in (1, 2)]
    short, long = values_at("LeastCost", taught(), specs, [exactly(3600.0), exactly(2700.0)], Prices())
    assert long / short == pytest.approx(1.5)
    assert long < short < 0


@pytest.mark.parametrize(("objective", "epochs"), [("Accuracy", 10), ("MostWork", 10), ("LeastCost", 2)])
def test_with_time_to_spare_the_objective_chooses_within_what_the_job_allows(objective: str, epochs: int) -> None:
    asked: dict[str, Any] = {"parameters": {"epochs": 6}, "adjust": [ALLOWED], "deadline": {"within": "10m"}}
    (step,) = steps(job(**asked, steering={"objective": objective}))
    assert step.steered
    assert step.steered.epochs == epochs
    assert step.advice.attainable
