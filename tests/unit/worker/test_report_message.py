"""The termination message: always JSON, never longer than the kubelet keeps, with the curve as full as it can be."""

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.worker.report import Epoch, Failure, Reason
from coxswain.worker.report.message import compose


def history(length: int) -> list[Epoch]:
    return [Epoch(n, 1 / 3, 0.1, 1 / n, 1 - 1 / (n + 1), 2 / n, 1 - 1 / (n + 2)) for n in range(1, length + 1)]


@given(st.integers(0, 3000), st.text(max_size=5000), st.dictionaries(st.text(max_size=60), st.text(max_size=1024)))
def test_a_message_is_json_that_fits_whatever_the_job_was(length: int, sentence: str, extra: dict[str, str]) -> None:
    facts = {"state": "failed", "message": sentence, "parameters": {"extra": extra}}
    text = compose(facts, history(length))
    assert len(text.encode()) <= 4096
    assert json.loads(text)["state"] == "failed"


def test_a_short_curve_is_kept_whole() -> None:
    curve = json.loads(compose({"state": "succeeded"}, history(20)))["curve"]
    assert curve["epoch"] == list(range(1, 21))
    assert curve["accuracy"] == [pytest.approx(1 - 1 / (n + 1), rel=1e-5) for n in range(1, 21)]


def test_a_long_curve_is_thinned_evenly_from_the_first_to_the_last() -> None:
    epochs = json.loads(compose({"state": "succeeded"}, history(5000)))["curve"]["epoch"]
    steps = {after - before for before, after in itertools.pairwise(epochs)}
    assert (epochs[0], epochs[-1]) == (1, 5000)
    assert max(steps) - min(steps) <= 1
    assert len(epochs) > 40


def test_what_was_not_measured_is_not_there() -> None:
    message = json.loads(compose({"reason": None, "message": ""}, [Epoch(1, 2.0, training_loss=0.5)]))
    assert message == {"curve": {"epoch": [1], "seconds": [2.0], "trainingLoss": [0.5]}}


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_an_epoch_whose_loss_is_no_number_cannot_be_made(loss: float) -> None:
    with pytest.raises(Failure, match="training diverged in epoch 4") as diverged:
        Epoch(4, 1.0, loss=loss)
    assert diverged.value.reason is Reason.DIVERGED


@pytest.mark.parametrize("name", ["seconds", "validation_seconds", "accuracy", "training_accuracy"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_epoch_with_any_figure_that_is_no_number_cannot_be_made(name: str, value: float) -> None:
    with pytest.raises(Failure, match=f"^{name} of epoch 4 is -?(nan|inf); report a finite number") as refused:
        Epoch(**{"epoch": 4, "seconds": 1.0, name: value})  # type: ignore[arg-type]
    assert refused.value.reason is Reason.BAD_PARAMETER
