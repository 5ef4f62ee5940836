"""How good a run gets: accuracy over epochs and settings, a curve that levels off.

The log-odds of accuracy after n epochs are a(x) - b(x) n^-c: at settings x they rise towards a(x), quickly at first.
Both a and b are linear in the coded settings, with effects shrunk as far as the noise asks for, and a smooth deviation
from them is learned beside: together a Gaussian process over the settings and -n^-c. How fast curves bend, c, is what
predicts rows left out best. Predictions stay between 0 and 1, and far beyond the epochs measured the deviation fades
and the curve levels off.

The epochs of a run are left out together with all runs of its row, so that the bound of a curve is one for a curve
never seen, not for a point between two neighbours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from coxswain.core.dataset import make_dataset
from coxswain.core.errors import InputError
from coxswain.core.factors import Level
from coxswain.core.models.extrapolation import Reach
from coxswain.core.models.families.gaussian import KernelFamily
from coxswain.core.models.fitted import FittedModel
from coxswain.core.models.fitting import fit_as
from coxswain.core.models.observations import FEWEST_UNITS, Observations, observations_of, settings_array
from coxswain.core.models.predictive import Predictive
from coxswain.core.models.scales import EDGE, Scale
from coxswain.core.models.search import Tuned, assess, make_sample
from coxswain.core.models.types import Floats
from coxswain.core.models.varied import Varied, varied_in

FEWEST_CURVES = 3
"""Accuracy is forecast from this many runs on."""
ACCURACY, PROGRESS, UNIT = "accuracy", "progress of training", "row of the curve"
# How fast curves may bend.
POWERS = (0.3, 0.5, 0.75, 1.0, 1.5)
CURVE = KernelFamily("curve", smooth=True, orders=(2, 1), scales=(Scale.LOGIT,))
# So many points of a curve are fitted, spread evenly over the logarithm of the epochs: neighbours say the same.
POINTS = 6


@dataclass(frozen=True)
class CurveRecord:
    """The accuracy after each epoch of one run, and its settings without the epochs.

    With a schedule that depends on the number of epochs planned (Cosine, Step), the middle of a long run is unlike the
    end of a short one: `horizon_dependent` lets only the end of the run teach.
    """

    settings: Mapping[str, Level]
    accuracy: Sequence[float]
    horizon_dependent: bool = False


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """A fitted model of accuracy over epochs and settings; frozen, and small when pickled."""

    model: FittedModel
    power: float
    varied: Varied
    shortest: int
    longest: int

    def predict(self, settings: Mapping[str, Level], epochs: Sequence[int]) -> Predictive:
        """Distributions of the accuracy after each of some numbers of epochs."""
        if not len(epochs) or min(epochs) < 1:
            raise InputError(f"a run has at least one epoch, not {min(epochs, default=0)}.")
        known = self.model.factors[:-1]
        query = settings_array(known, [self.varied.query(settings)])
        found = self.model.predict_array(np.column_stack([np.repeat(query, len(epochs), axis=0), self._place(epochs)]))
        (beyond,) = Reach(known, np.zeros(len(known))).notes(query, np.zeros(1))
        about_settings = (*beyond, *self.varied.unlike(settings))
        spread = np.hypot(found.spread, self.varied.ignorance(settings))
        notes = tuple((*about_settings, *self._about(count)) for count in epochs)
        return replace(found, spread=spread, notes=notes)

    def at_least(self, settings: Mapping[str, Level], epochs: int, confidence: float) -> float:
        """The accuracy that a run exceeds with a confidence.

        The curve is taken to rise, so beyond the epochs measured it is no less than after the last of them: how far the
        curve goes on to rise is in doubt there, not what it has reached.
        """
        found = self.predict(settings, [epochs, min(epochs, self.longest)])
        return float(found.quantile(1 - confidence).max())

    def _place(self, epochs: Sequence[int]) -> Floats:
        return -(np.asarray(epochs, dtype=float) ** -self.power)

    def _about(self, epochs: int) -> tuple[str, ...]:
        if self.shortest <= epochs <= self.longest:
            return ()
        return (f"epochs = {epochs} is beyond the measured range {self.shortest} to {self.longest}",)


def fit_curve(records: Sequence[CurveRecord], *, seed: int = 0) -> LearningCurve:
    """Learn the curve from runs, killed ones among them: the epochs they finished are as good as any.

    Raises:
        InputError: if an accuracy is not between 0 and 1, or there are too few runs or epochs.
    """
    for record in records:
        if not record.accuracy or min(record.accuracy) < 0 or max(record.accuracy) > 1:
            raise InputError("accuracies must lie between 0 and 1, one for each epoch; correct or leave out that run.")
    if len(records) < FEWEST_CURVES:
        raise InputError(f"{len(records)} runs are too few to learn a curve from; {FEWEST_CURVES} are needed.")
    points = [(number, epoch) for number, record in enumerate(records) for epoch in _taught(record)]
    epochs = np.array([epoch for _, epoch in points], dtype=float)
    if epochs.min() == epochs.max():
        raise InputError(f"every run tells about epoch {epochs[0]:g} alone; a curve needs runs of different lengths.")
    varied = varied_in([record.settings for record in records])
    table = pd.DataFrame([{name: records[run].settings[name] for name in varied.names} for run, _ in points])
    accuracies = _inside(np.array([records[run].accuracy[epoch - 1] for run, epoch in points]))
    runs = pd.Series([run for run, _ in points])
    table[UNIT] = table.groupby(list(varied.names)).ngroup() if varied.names else runs
    table[ACCURACY] = accuracies

    def observe(power: float) -> Observations:
        placed = table.assign(**{PROGRESS: -(epochs**-power)})
        dataset = make_dataset(placed, ACCURACY, [*varied.names, PROGRESS], group=UNIT)
        return observations_of(dataset, np.zeros(len(placed), dtype=bool))

    def judge(power: float) -> tuple[Tuned, float]:
        observations = observe(power)
        few = observations.finished_units < FEWEST_UNITS or not varied.names
        setting = {"scale": Scale.LOGIT, "order": 1 if few else 2}
        sample = make_sample(observations, np.random.default_rng(seed), shares=True)
        return assess(CURVE, sample, setting), power

    tuned, power = min((judge(power) for power in POWERS), key=lambda judged: judged[0].score)
    model = fit_as(CURVE, tuned, observe(power), seed=seed)
    return LearningCurve(model, power, varied, int(epochs.min()), int(epochs.max()))


def _taught(record: CurveRecord) -> list[int]:
    """Epochs from 1 to the last, evenly by their logarithm; the last alone where the others are not like it."""
    last = len(record.accuracy)
    if record.horizon_dependent:
        return [last]
    return sorted({int(epoch) for epoch in np.round(np.geomspace(1, last, POINTS))})


def _inside(accuracy: Floats) -> Floats:
    """Accuracies of exactly 0 or 1 as half as far from it as the nearest one seen: they are rounded by few images."""
    inside = accuracy[(accuracy > 0) & (accuracy < 1)]
    edge = max(EDGE, float(np.min(np.minimum(inside, 1 - inside))) / 2) if len(inside) else EDGE
    return np.clip(accuracy, edge, 1 - edge)
