"""The models of a family: how long its jobs take and how good they get, learned from its entries in the ledger.

What a job tells about durations is in `records`: all of it if it finished, a lower limit if it was ended early, and
nothing if it failed of its own fault. Accuracies are learned from those that finished.

Forecasts of runs that have finished tell whether they hold. Where they do not hold as often as they say, levels are
read elsewhere (`track`). Where runs have changed altogether (`drift`), those that began before are left out: what
changed need not be the same for all settings, so there is no factor to correct them by, and no weight at which a run
that is no longer true helps. Fewer runs are left then, and bounds as wide as these few allow.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from coxswain.core.errors import InputError
from coxswain.core.factors import Level
from coxswain.core.forecasts.adapted import adapt
from coxswain.core.forecasts.drift import Drift, drift_in
from coxswain.core.forecasts.scores import Made, began_at, last_end, scored
from coxswain.core.forecasts.track import track
from coxswain.core.ledger.entry import Entry
from coxswain.core.models import CurveRecord, DurationModel, LearningCurve, fit_curve, fit_durations
from coxswain.core.models.duration import FEWEST_RUNS
from coxswain.core.models.varied import LOAD
from coxswain.core.records import Told, records_of

EPOCHS = "epochs"


@dataclass(frozen=True, eq=False)
class FamilyModel:
    """What a family's observations taught so far; without enough of them it says how many are missing."""

    runs: int
    durations: DurationModel | None = None
    curve: LearningCurve | None = None
    problem: str | None = None
    drift: Drift | None = None
    knows: datetime | None = None
    """When the last run ended that it has learned from."""
    observed: tuple[Mapping[str, Level], ...] = ()
    """What the runs ran with, while they are too few to learn from."""

    @property
    def drifting(self) -> bool:
        """Whether runs have changed, and forecasts have not yet been seen to hold again."""
        return self.drift is not None and not self.drift.over

    @property
    def missing(self) -> int:
        """How many more runs are needed before anything can be forecast."""
        return max(FEWEST_RUNS - self.runs, 0)


def learn(entries: Sequence[Entry]) -> FamilyModel:
    """Learn from the entries of one family."""
    forecasts = [each for each in scored(entries, Made.START) if each.finished]
    drift = drift_in(forecasts)
    if drift is not None:
        entries = _since(entries, drift)
        forecasts = [each for each in forecasts if each.knew >= drift.noticed]
    finished = [entry for entry in entries if entry.observation.succeeded]
    records = records_of([_told(entry) for entry in entries])
    runs = sum(record.killed_after is None for record in records)
    if runs < FEWEST_RUNS:
        return FamilyModel(runs, observed=tuple(entry.fields for entry in finished))
    try:
        durations = fit_durations(records)
    except InputError as error:
        return FamilyModel(runs, problem=str(error))
    durations = adapt(durations, track(each.score for each in forecasts))
    return FamilyModel(runs, durations, _curve(finished), drift=drift, knows=last_end(entries))


def _since(entries: Sequence[Entry], drift: Drift) -> Sequence[Entry]:
    """The entries of runs that began after a change, if they are enough to learn from."""
    kept = [entry for entry in entries if (began_at(entry) or 0.0) >= drift.since.timestamp()]
    return kept if sum(entry.observation.succeeded for entry in kept) >= FEWEST_RUNS else entries


def settings_of(fields: Iterable[tuple[str, Level]], load: float) -> dict[str, Level]:
    """What durations depend on beside the epochs: a job's fields, and how much else runs meanwhile."""
    return {name: value for name, value in fields if name != EPOCHS} | {LOAD: load}


def _told(entry: Entry) -> Told:
    # By whole jobs: what differs by less than one is chance.
    settings = settings_of(entry.fields.items(), float(round(entry.observation.load or 1.0)))
    return Told(entry.observation, settings, int(entry.fields.get(EPOCHS, 1)))


def _curve(entries: Sequence[Entry]) -> LearningCurve | None:
    records = []
    for entry in entries:
        observation = entry.observation
        accuracies = [value for value in observation.curve.accuracy if value is not None]
        if accuracies and len(accuracies) == observation.epochs:
            settings = {name: value for name, value in entry.fields.items() if name != EPOCHS}
            records.append(CurveRecord(settings, accuracies, entry.fields.get("schedule", "Constant") != "Constant"))
    try:
        return fit_curve(records)
    except InputError:
        return None
