"""How long a run takes: what happens once, and then as many epochs as it has.

Time is learned by the epoch. A run of ten epochs so teaches about runs of one to ten, and runs of different lengths
teach about each other. The epochs of one run are one cluster: they share the run's own speed, so ten epochs of one run
are not ten observations. Three variances of the logarithm are told apart: of the model's error, which all jobs of a
setting share; between runs of a setting, which does not average out over the epochs of a job; and between epochs of a
run, which does. The epochs that a running job has done tell how large the first two are for it.

What happens once is the start-up and whatever the first epoch takes longer than the rest, as caches fill.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from coxswain.core.errors import InputError
from coxswain.core.factors import Level
from coxswain.core.models.calibration import Basis
from coxswain.core.models.families import Family
from coxswain.core.models.families.gaussian import GAUSSIAN_PROCESS, LOG_LOG
from coxswain.core.models.fitted import FittedModel
from coxswain.core.models.fitting import fit, fit_few
from coxswain.core.models.observations import FEWEST_UNITS
from coxswain.core.models.runs import RunRecord, Seconds, separate
from coxswain.core.models.scales import Scale
from coxswain.core.models.total import USUAL, Duration, Durations, Part
from coxswain.core.models.types import Bools, Floats
from coxswain.core.models.varied import Varied, observe, varied_in

FEWEST_RUNS = 3
"""Durations are forecast from this many runs on that were not killed."""
ONCE, EPOCH = "once_seconds", "epoch_seconds"
# Both are fitted after each run, so the quick families compete.
QUICK: tuple[Family, ...] = (LOG_LOG, replace(GAUSSIAN_PROCESS, scales=(Scale.LOG,)))
# However much of a run's variance epochs explain, some of it is the run's own.
LEAST_OWN = 0.1


@dataclass(frozen=True, eq=False)
class DurationsAt:
    """What is known about durations at one setting: any number of epochs follows from it by arithmetic alone."""

    once: Part
    pace: Part
    """Of the mean epoch of a run; its spread has yet to be told apart."""
    seconds: Seconds
    basis: Basis
    notes: tuple[str, ...]

    def many(self, epochs: Sequence[int]) -> Durations:
        """Durations of runs of each of some numbers of epochs."""
        if not len(epochs) or min(epochs) < 1:
            raise InputError(f"a run has at least one epoch, not {min(epochs, default=0)}.")
        left = np.asarray(epochs, dtype=float)
        common, own = self._between_runs()
        variance = common + own + self.seconds.between_epochs / left
        pace = replace(self.pace, spread=np.sqrt(variance), shared=common / variance)
        return Durations(left, pace, self.once, self.basis, self.notes)

    def one(self, epochs: int, done: Sequence[float] = ()) -> Duration:
        """Duration of a run, or what is left of it after the epochs `done` (their seconds)."""
        whole = self.many([epochs])
        if not done:
            return Duration(whole)
        left = float(max(epochs - len(done), 0))
        pace = self._pace_after(done, left)
        return Duration(replace(whole, left=np.array([left]), pace=pace, once=None, basis=Basis.PARAMETRIC))

    def as_here(self, done: Sequence[float], measured: "DurationsAt") -> tuple[float, ...]:
        """Epochs that were measured at another setting, as long as they would have taken at this one.

        What the run has of its own stays in them; what the setting changes is what the model says of both.
        """
        slower = float(np.exp(self.pace.median - measured.pace.median))
        return tuple(slower * seconds for seconds in done)

    def _between_runs(self) -> tuple[float, float]:
        """Variances of the model's error, and between runs of the setting."""
        total = float(self.pace.spread) ** 2
        common = float(self.pace.shared) * total
        own = total - common - self.seconds.averaged
        return common, max(own, LEAST_OWN * total - common, 0.0)

    def _pace_after(self, done: Sequence[float], left: float) -> Part:
        """The mean time of the epochs to come, given those that are done."""
        common, own = self._between_runs()
        told, doubt = self.seconds.told_by(done)
        weight = (common + own) / (common + own + doubt)
        median = self.pace.median + weight * (told - self.pace.median)
        variance = (common + own) * (1 - weight) + self.seconds.between_epochs / max(left, 1.0)
        # What this run's epochs leave unknown is partly what other jobs would still tell: the model's error.
        shared = common * doubt**2 / ((common + own + doubt) * (own + doubt))
        return replace(
            self.pace, median=median, spread=np.sqrt(np.array([variance])), shared=np.array([shared / variance])
        )


@dataclass(frozen=True, eq=False)
class Learned:
    """A model of one part, and which settings of the runs that told about it were varied."""

    model: FittedModel
    varied: Varied

    @property
    def chosen(self) -> str:
        """The family of the model."""
        return self.model.chosen

    def at(self, settings: Mapping[str, Level]) -> Part:
        """The part at a setting."""
        predicted = self.model.predict([self.varied.query(settings)])
        scores = predicted.seen_rows if predicted.seen[0] else predicted.new_rows
        spread, shared = float(predicted.spread[0]), float(predicted.model_share[0])
        ignorance = self.varied.ignorance(settings)
        variance = spread**2 + ignorance**2
        return Part(
            median=float(predicted.location[0] + spread * scores.quantile(np.array(0.5))),
            spread=np.array(np.sqrt(variance)),
            shared=np.array((spread**2 * shared + ignorance**2) / variance),
            scores=scores,
        )

    def notes(self, settings: Mapping[str, Level]) -> tuple[str, ...]:
        """What a reader should know about a prediction at a setting."""
        beyond = self.model.predict([self.varied.query(settings)]).notes[0]
        return (*beyond, *self.varied.unlike(settings))


@dataclass(frozen=True, eq=False)
class DurationModel:
    """What happens once and the time of an epoch, each with a model of its own; frozen, and small when pickled."""

    once: Learned
    epoch: Learned
    seconds: Seconds
    runs: int

    def at(self, settings: Mapping[str, Level]) -> DurationsAt:
        """What is known about durations at a setting, for many numbers of epochs.

        Raises:
            InputError: in one sentence that names the factor that is unknown, missing, or has no such category.
        """
        once, pace = self.once.at(settings), self.epoch.at(settings)
        notes = self.epoch.notes(settings)
        if self.epoch.model.rows < FEWEST_UNITS:
            of = f"{self.epoch.model.rows} settings" if self.epoch.varied.names else "one setting"
            notes = (*notes, f"learned from {self.runs} runs of {of} only, so bounds are wide")
        conformal = all(part.scores.basis(USUAL) is Basis.CONFORMAL for part in (once, pace))
        unlike = self.epoch.varied.unlike(settings)
        basis = Basis.CONFORMAL if conformal and not unlike else Basis.PARAMETRIC
        return DurationsAt(once, pace, self.seconds, basis, notes)

    def predict(self, settings: Mapping[str, Level], epochs: int, *, done: Sequence[float] = ()) -> Duration:
        """Distribution of a run's duration, or of what is left of it after the epochs `done` (their seconds)."""
        return self.at(settings).one(epochs, done)


def fit_durations(records: Sequence[RunRecord], *, seed: int = 0) -> DurationModel:
    """Learn durations from runs.

    Raises:
        InputError: if fewer than `FEWEST_RUNS` runs came to an end of their own, or a time is not positive.
    """
    runs = sum(record.killed_after is None for record in records)
    if runs < FEWEST_RUNS:
        raise InputError(f"{runs} finished runs are too few to learn durations from; {FEWEST_RUNS} are needed.")
    seconds, once, pace = separate(records)

    def learn(response: str, values: Floats, censored: Bools) -> Learned:
        told = values > 0  # a run that was killed too early tells nothing about what it had not begun
        settings = [record.settings for record, tells in zip(records, told, strict=True) if tells]
        varied = varied_in(settings)
        observations = observe(varied, settings, response, values[told], censored[told])
        few = not varied.names or observations.finished_units < FEWEST_UNITS
        model = fit_few(observations, seed=seed) if few else fit(observations, families=QUICK, seed=seed)
        return Learned(model, varied)

    return DurationModel(learn(ONCE, *once), learn(EPOCH, *pace), seconds, runs)
