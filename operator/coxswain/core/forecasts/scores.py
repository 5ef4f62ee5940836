"""How good forecasts were: what was promised beside what came, of runs that have finished.

Shares that held are read against the confidence that was stated. The error of the expected value is relative (MAPE).
The CRPS scores the whole distribution, on the logarithm of the time, so that a miss of 10 % counts the same for a
minute and for an hour; its skill is what share of the error of plain history it saves, which is to forecast every run
of a family by the durations of all that had finished before. A promise is a forecast whose chance to meet the deadline
was at least the confidence asked for. Runs that failed are not scored: forecasts are of runs that come to their end.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import numpy as np

from coxswain.core.api.status import Issued, parse_time
from coxswain.core.forecasts.fan import score_of, scores_at, seconds_at
from coxswain.core.forecasts.track import UNMOVED, Track
from coxswain.core.ledger.entry import Entry
from coxswain.core.models.scoring import LEVELS, crps
from coxswain.core.models.types import Floats
from coxswain.core.observations import STOPPED


class Made(StrEnum):
    """When a forecast was made: when the job was first seen as it ran, or when it started."""

    CREATION = "creation"
    START = "start"


@dataclass(frozen=True, eq=False)
class Scored:
    """One forecast, and what came."""

    issued: Issued
    seconds: float
    """From start to finish."""
    ended: datetime
    deadline: datetime | None
    finished: bool
    """Whether it trained to its end; if not, it was stopped at its deadline."""

    @property
    def knew(self) -> datetime:
        """Until when the forecast knew how runs had ended."""
        return self.issued.learned or self.issued.time

    @property
    def score(self) -> float:
        """Where the time lay in what the model itself said, before any adaptation."""
        return score_of(self.issued.quantiles, self.seconds)

    @property
    def error(self) -> float:
        """How far off the expected time was, as a share of the time that came."""
        return abs(self.issued.duration_seconds.expected / self.seconds - 1)

    @property
    def interval_held(self) -> bool:
        """Whether the time from start to finish lay within its interval."""
        interval = self.issued.duration_seconds
        return interval.low <= self.seconds <= interval.high

    @property
    def bound_held(self) -> bool:
        """Whether the job was finished by its latest finish time."""
        return self.ended <= self.issued.latest_finish_time

    @property
    def promised(self) -> bool:
        """Whether the deadline was forecast to be met with the confidence asked for."""
        chance = self.issued.chance_percent
        return self.deadline is not None and chance is not None and chance >= self.issued.confidence_percent

    @property
    def kept(self) -> bool:
        """Whether a promise was kept."""
        return self.promised and self.finished and self.deadline is not None and self.ended <= self.deadline

    def quantiles(self, levels: Floats) -> Floats:
        """The seconds that were forecast at some levels."""
        adapted = self.issued.adapted
        read = Track(np.asarray(adapted, dtype=float)) if adapted else UNMOVED
        return seconds_at(self.issued.quantiles, read.at(scores_at(levels)))


def scored_entry(entry: Entry, made: Made) -> Scored | None:
    """The forecast of a run beside what came, if it has one and came to its end."""
    promised, seconds = entry.promised, entry.observation.responses.get("duration", 0.0)
    issued = (promised.first if made is Made.CREATION else promised.at_start) if promised else None
    ended_well = entry.observation.succeeded or entry.observation.state == STOPPED
    if promised is None or issued is None or seconds <= 0 or not ended_well:
        return None
    return Scored(issued, seconds, promised.ended, promised.deadline, entry.observation.succeeded)


def scored(entries: Iterable[Entry], made: Made) -> list[Scored]:
    """The scored forecasts, in the order in which the runs finished."""
    found = [each for entry in entries if (each := scored_entry(entry, made)) is not None]
    return sorted(found, key=lambda each: (each.ended, each.issued.time))


@dataclass(frozen=True)
class Scores:
    """How good some forecasts were; what cannot be said of none is None."""

    forecasts: int
    confidence: float | None
    """The mean of what was stated; between 0 and 1, as all shares."""
    interval_held: float | None
    bound_held: float | None
    mape: float | None
    crps: float | None
    skill: float | None
    promised: int
    kept: int


def scores_of(entries: Sequence[Entry], made: Made) -> Scores:
    """The scores of all forecasts of some entries; plain history is that of each one's own family."""
    everything = scored(entries, made)
    whole = [each for each in everything if each.finished]
    promises = [each for each in everything if each.promised]
    log_error = [_crps(each.quantiles(LEVELS), each.seconds) for each in whole]
    pairs = list(_beside_history(entries, made))
    plain = sum(plain for _, plain in pairs)
    return Scores(
        forecasts=len(whole),
        confidence=_mean(each.issued.confidence_percent / 100 for each in whole),
        interval_held=_mean(each.interval_held for each in whole),
        bound_held=_mean(each.bound_held for each in whole),
        mape=_mean(each.error for each in whole),
        crps=_mean(log_error),
        skill=1 - sum(own for own, _ in pairs) / plain if plain > 0 else None,
        promised=len(promises),
        kept=sum(each.kept for each in promises),
    )


def _beside_history(entries: Sequence[Entry], made: Made) -> Iterator[tuple[float, float]]:
    """The CRPS of each forecast and of plain history, where there was any."""
    families: Mapping[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.observation.succeeded and entry.observation.responses.get("duration", 0.0) > 0 and _ended_at(entry):
            families[entry.family.key].append(entry)
    for runs in families.values():
        ends = np.array([_ended_at(run) for run in runs])
        seconds = np.array([run.observation.responses["duration"] for run in runs])
        for run in runs:
            found = scored_entry(run, made)
            if found is None:
                continue
            before = seconds[ends < found.issued.time.timestamp()]
            if len(before):
                plain = np.quantile(before, LEVELS, method="inverted_cdf")
                yield _crps(found.quantiles(LEVELS), found.seconds), _crps(plain, found.seconds)


def last_end(entries: Iterable[Entry]) -> datetime | None:
    """When the last of some runs ended."""
    ends = [entry.promised.ended.timestamp() if entry.promised else _ended_at(entry) for entry in entries]
    known = [end for end in ends if end is not None]
    return datetime.fromtimestamp(max(known), UTC) if known else None


def began_at(entry: Entry) -> float | None:
    """When a run began, as its observation says, in seconds; None if it does not say."""
    return _seconds_of(entry.observation.started)


def _ended_at(entry: Entry) -> float | None:
    return _seconds_of(entry.observation.finished)


def _seconds_of(moment: str) -> float | None:
    try:
        return parse_time(moment).timestamp()
    except ValueError:
        return None


def _crps(quantiles: Floats, seconds: float) -> float:
    return float(crps(np.log(quantiles)[None, :], np.log([seconds]))[0])


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None
