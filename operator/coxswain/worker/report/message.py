"""The termination message: what remains of a job when its pods are gone, in at most 4 KiB of JSON.

The kubelet cuts a longer message, and cut JSON is no JSON; so the learning curve is thinned until the whole fits. The
first and the last epoch always stay, the rest is spread evenly between them. Totals cover every epoch, kept or not.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coxswain.worker.report.contract import MESSAGE_LIMIT, Failure, Reason

_SENTENCE_LIMIT = 1000  # bytes


@dataclass(frozen=True)
class Epoch:
    """One epoch as it went: seconds of training alone, then validation, which takes its own time.

    A loss that is no number any more means that training has diverged: such an epoch cannot be made. Nor can one with
    any other figure that is none, because JSON has no word for it and the message must be written whatever happens.
    """

    epoch: int
    seconds: float
    validation_seconds: float = 0.0
    loss: float | None = None
    accuracy: float | None = None
    training_loss: float | None = None
    training_accuracy: float | None = None

    def __post_init__(self) -> None:
        if not all(value is None or math.isfinite(value) for value in (self.loss, self.training_loss)):
            raise Failure(
                Reason.DIVERGED,
                f"training diverged in epoch {self.epoch}: the loss is no longer a finite number; lower learningRate.",
            )
        for name in ("seconds", "validation_seconds", "accuracy", "training_accuracy"):
            require_number(f"{name} of epoch {self.epoch}", getattr(self, name))

    def summary(self) -> dict[str, float]:
        """The epoch in two or three figures."""
        values = {"epoch": self.epoch, "loss": _short(self.loss), "accuracy": _short(self.accuracy)}
        return {name: value for name, value in values.items() if value is not None}


def require_number(what: str, value: float | None) -> None:
    """Refuse what a script reports as a figure but is none, at the moment it does so."""
    if value is not None and not math.isfinite(value):
        raise Failure(Reason.BAD_PARAMETER, f"{what} is {value}; report a finite number, or leave it out.")


def require_json(facts: Mapping[str, Any]) -> None:
    """Refuse facts that the message could not hold, at the moment they are told."""
    for name, value in facts.items():
        try:
            _encode({name: value})
        except (TypeError, ValueError):
            raise Failure(
                Reason.BAD_PARAMETER, f"{name} is {value!r}; describe a job by text and finite numbers."
            ) from None


def compose(facts: Mapping[str, Any], epochs: Sequence[Epoch], limit: int = MESSAGE_LIMIT) -> str:
    """The message: the facts, and as many points of the curve as fit into the limit of bytes."""
    facts = {key: value for key, value in facts.items() if value not in (None, "", {})}
    if "message" in facts:
        facts["message"] = _cut(facts["message"], _SENTENCE_LIMIT)
    points = len(epochs)
    while True:
        text = _encode({**facts, "curve": _curve(_spread(epochs, points))} if points else facts)
        if len(text.encode()) <= limit:
            return text
        if points == 0:
            break
        points = points * 3 // 4 if points > 2 else 0
    # Only what a user writes can be as long as this: the names and values of extra parameters and paths.
    bare = {key: value for key, value in facts.items() if key != "parameters"}
    return _encode({**bare, "truncated": True})


def _curve(epochs: Sequence[Epoch]) -> dict[str, list[float | None]]:
    columns: dict[str, list[float | None]] = {
        "epoch": [row.epoch for row in epochs],
        "seconds": [_short(row.seconds) for row in epochs],
        "loss": [_short(row.loss) for row in epochs],
        "accuracy": [_short(row.accuracy) for row in epochs],
        "trainingLoss": [_short(row.training_loss) for row in epochs],
        "trainingAccuracy": [_short(row.training_accuracy) for row in epochs],
    }
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}


def _spread(epochs: Sequence[Epoch], count: int) -> Sequence[Epoch]:
    """So many epochs evenly spread, with the first and the last."""
    if count >= len(epochs):
        return epochs
    return [epochs[round(index * (len(epochs) - 1) / (count - 1))] for index in range(count)]


def _short(value: float | None) -> float | None:
    """Six significant digits: more than a measurement has, and short."""
    return None if value is None else float(f"{value:.6g}")


def _cut(sentence: str, limit: int) -> str:
    encoded = sentence.encode()
    return sentence if len(encoded) <= limit else encoded[:limit].decode(errors="ignore") + "…"


def _encode(document: Mapping[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
