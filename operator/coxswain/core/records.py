"""What finished jobs tell about durations: the records that models learn from.

A job that trained to its end tells how long it takes. One that was ended early, by its deadline, by
`activeDeadlineSeconds` or by hand, was likelier a slow one; left out, it would make every forecast too hopeful. It
tells by the epochs that it finished, and of the one that it was in that this takes at least as long. A job that failed
of its own fault tells nothing.

Who was ended early cannot say everything. Validation is not told apart from the epoch that was cut short, so it is
taken to be the share of each epoch that it is in jobs that finished. A job ended by `activeDeadlineSeconds` leaves no
word at all: all its epochs together would have taken longer than it had, beside the usual start-up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from coxswain.core.factors import Level
from coxswain.core.models import RunRecord
from coxswain.core.observations import STOPPED, TIME_IS_OVER, Observation


@dataclass(frozen=True)
class Told:
    """An observation, the settings that its duration depends on, and for how many epochs the job was to train."""

    observation: Observation
    settings: Mapping[str, Level]
    planned: int


@dataclass(frozen=True)
class _Usual:
    """Of jobs that finished: the start-up in seconds, and how many times its training an epoch takes in all."""

    startup: float
    whole: float


def records_of(told: Sequence[Told]) -> list[RunRecord]:
    """The records of all jobs that tell something; none if no job has finished."""
    finished = [(each, _finished(each)) for each in told if each.observation.succeeded]
    records = [record for _, record in finished if record is not None]
    if not records:
        return []
    trained = [
        sum(record.epochs) / sum(_trained(each.observation))
        for each, record in finished
        if record is not None and each.observation.curve.seconds
    ]
    usual = _Usual(median(record.startup for record in records), median(trained) if trained else 1.0)
    return records + [_ended_early(each, usual) for each in told if _was_ended(each.observation)]


def _finished(told: Told) -> RunRecord | None:
    """A job with all its epochs: of one of which only the whole time was written down, all alike.

    One that does not train by the epoch, such as an ingest, is one epoch.
    """
    observation = told.observation
    duration, startup = observation.responses.get("duration"), observation.responses.get("startup", 0.0)
    if duration is None or duration <= startup:
        return None
    if observation.curve.seconds:
        seconds = observation.seconds_of_epochs()
    else:
        epochs = max(observation.epochs, 1)
        seconds = [(duration - startup) / epochs] * epochs
    return RunRecord(told.settings, startup, seconds)


def _was_ended(observation: Observation) -> bool:
    ended = observation.state == STOPPED or observation.reason == TIME_IS_OVER
    return ended and observation.responses.get("duration", 0.0) > 0


def _ended_early(told: Told, usual: _Usual) -> RunRecord:
    observation = told.observation
    had = observation.responses["duration"]
    if observation.state != STOPPED:
        # How far it came is not known: an epoch takes at least its share of the whole.
        return RunRecord(told.settings, 0.0, (), max(had - usual.startup, 0.0) / max(told.planned, 1))
    if not observation.curve.seconds:
        return RunRecord(told.settings, min(had, usual.startup), (), max(had - usual.startup, 0.0))
    startup = observation.responses.get("startup", 0.0)
    epochs = [seconds * usual.whole for seconds in _trained(observation)]
    return RunRecord(told.settings, startup, epochs, max(had - startup - sum(epochs), 0.0))


def _trained(observation: Observation) -> list[float]:
    """The seconds of training in each epoch; those that were not kept are like their neighbours."""
    numbers = np.arange(1, observation.epochs + 1)
    return [float(seconds) for seconds in np.interp(numbers, observation.curve.epoch, observation.curve.seconds)]
