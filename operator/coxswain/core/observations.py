"""Observations: what is kept of every finished job, for good, in a form that people and programs can read.

An observation is one job with its settings, its responses and its learning curve. It is written as a JSON line, which
keeps everything as it is, and as a flat row of CSV, in which every setting and every response is a column that
`cox analyze` understands. There, columns that are neither begin with a capital letter, which no factor does.

What a run that did not succeed took until it ended is no response of its settings: a training that failed after ten
seconds is not a fast one. Its responses are empty in the row, and what was measured of it is in a column of its own.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from coxswain.core.api.experiment import MEASURED_RESPONSES
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor, Level

SUCCEEDED = "succeeded"
"""The state of a job that trained to its end; the worker's word for it."""
STOPPED = "stopped"
FAILED = "failed"
TIME_IS_OVER = "DeadlineExceeded"
"""Why a job failed that ran longer than `activeDeadlineSeconds`."""

RUN = "Run"
"""The column that tells which jobs ran together, as one experimental unit."""
BLOCK = "Block"
"""The column that tells which runs were made in one go, on one day or node pool."""
UNFINISHED = "Unfinished"
"""The column that has, as JSON, what was measured of a job that did not succeed."""


@dataclass(frozen=True)
class Curve:
    """The learning curve: one value an epoch, or for a long training those of some epochs."""

    epoch: tuple[int, ...] = ()
    seconds: tuple[float, ...] = ()
    loss: tuple[float | None, ...] = ()
    accuracy: tuple[float | None, ...] = ()
    training_loss: tuple[float | None, ...] = ()
    training_accuracy: tuple[float | None, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Observation:
    """One finished job. A job that ran with others of its run shares `run` with them; otherwise the two are equal."""

    experiment: str
    run: str
    job: str
    row: int
    replicate: int
    block: int
    digest: str
    """What the job was, as a hash: a job with another digest is another one, whatever its name."""
    settings: Mapping[str, Level]
    responses: Mapping[str, float]
    """What was measured; of a job that failed, the time it took until then."""
    state: str
    reason: str | None = None
    message: str | None = None
    attempts: int = 1
    started: str
    """When the last attempt began, in UTC as ISO 8601 writes it."""
    finished: str
    epochs: int = 0
    """How many epochs were trained."""
    load: float | None = None
    """How many jobs the machine ran meanwhile on average, this one included, where that is known."""
    curve: Curve = field(default_factory=Curve)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """Whether the job trained to its end, so that its responses can be compared with others'."""
        return self.state == SUCCEEDED

    def seconds_of_epochs(self) -> list[float]:
        """The seconds of each epoch such that, with the start-up, they add up to the duration.

        What is neither start-up nor training, validation above all, is spread over the epochs; where only some epochs
        of a long run were kept, those between are like their neighbours.
        """
        seconds = np.interp(np.arange(1, self.epochs + 1), self.curve.epoch, self.curve.seconds)
        beside = self.responses["duration"] - self.responses["startup"] - float(seconds.sum())
        return [float(value) for value in seconds + max(beside, 0.0) / len(seconds)]

    def to_json(self) -> str:
        """The observation as one line of JSON."""
        return json.dumps(asdict(self), allow_nan=False, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> Self:
        """The observation that a line of JSON holds.

        Raises:
            InputError: if it does not hold one.
        """
        try:
            document = json.loads(line)
            curve = {name: tuple(values) for name, values in document.pop("curve").items()}
            return cls(**document, curve=Curve(**curve))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError(f"this line is no observation: {line[:60]}") from None

    def to_row(self) -> dict[str, Any]:
        """The observation as a flat row; a response that was not measured to the end of the training is empty."""
        whole, partial = (self.responses, {}) if self.succeeded else ({}, self.responses)
        return {
            RUN: self.run,
            "Job": self.job,
            "Row": self.row,
            "Replicate": self.replicate,
            BLOCK: self.block,
            **self.settings,
            **{name: whole.get(name) for name in MEASURED_RESPONSES},
            UNFINISHED: json.dumps(dict(partial), separators=(",", ":")) if partial else None,
            "State": self.state,
            "Reason": self.reason,
            "Message": self.message,
            "Attempts": self.attempts,
            "Started": self.started,
            "Finished": self.finished,
            "Epochs": self.epochs,
            "Load": self.load,
            "Experiment": self.experiment,
            "Digest": self.digest,
            "Curve": json.dumps(asdict(self.curve), separators=(",", ":")),
            "Versions": json.dumps(dict(self.versions), separators=(",", ":")),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, str], factors: Sequence[Factor]) -> Self:
        """The observation that a flat row of text holds, as a CSV file gives it.

        A row written before there was a column for what is unfinished has that among its responses.

        Raises:
            InputError: if a column is missing or holds something else.
        """
        try:
            curve = {name: tuple(values) for name, values in json.loads(row["Curve"]).items()}
            measured = {name: row[name] for name in MEASURED_RESPONSES if row.get(name)}
            measured |= json.loads(row.get(UNFINISHED) or "{}")
            return cls(
                experiment=row["Experiment"],
                run=row[RUN],
                job=row["Job"],
                row=int(row["Row"]),
                replicate=int(row["Replicate"]),
                block=int(row[BLOCK]),
                digest=row["Digest"],
                settings={each.name: float(row[each.name]) if each.is_numeric else row[each.name] for each in factors},
                responses={name: float(value) for name, value in measured.items()},
                state=row["State"],
                reason=row["Reason"] or None,
                message=row["Message"] or None,
                attempts=int(row["Attempts"]),
                started=row["Started"],
                finished=row["Finished"],
                epochs=int(row["Epochs"]),
                load=float(row["Load"]) if row["Load"] else None,
                curve=Curve(**curve),
                versions=json.loads(row["Versions"]),
            )
        except KeyError as error:
            raise InputError(f"the row of an observation lacks column {error.args[0]}; add it.") from None
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(f"the row of observation {row.get('Job')} cannot be read ({error}); correct it.") from None


def latest(observations: Iterable[Observation]) -> list[Observation]:
    """The last observation of each job: one that failed may have been tried again later."""
    return list({each.job: each for each in observations}.values())
