"""Where runs vary more than elsewhere.

A model's own spread may be right on average and wrong everywhere: twice too narrow with four workers, twice too wide
with one. The logarithm of the absolute score on rows left out is regressed on the factors and on the level of the
prediction (Harvey's heteroscedastic regression; the noise of such a logarithm is known, pi^2 / 8 for normal errors).
How strong the dependence may be is itself learned by marginal likelihood: without evidence it is none.
"""

from dataclasses import dataclass

import numpy as np

from coxswain.core.factors import Factor
from coxswain.core.models.encoding import Encoding
from coxswain.core.models.types import Floats

NOISE = np.pi**2 / 8
STRENGTHS = (0.0, 0.01, 0.03, 0.1, 0.3)
# A spread is never corrected by more than this factor either way.
MOST = 4.0


@dataclass(frozen=True, eq=False)
class SpreadCorrection:
    """By how much the spread at some settings differs from what the model thinks, relative to the average."""

    encoding: Encoding
    centre: Floats
    unit: Floats
    slopes: Floats

    def factor(self, settings: Floats, level: Floats) -> Floats:
        """The factor for the spread at settings where the response is predicted to be at a level."""
        features = (_features(self.encoding, settings, level) - self.centre) / self.unit
        # Beyond the range measured the dependence is not continued: it was learned from squares of few errors.
        return np.exp(np.clip(np.clip(features, -3, 3) @ self.slopes, -np.log(MOST), np.log(MOST)))


def learn_spread(
    factors: tuple[Factor, ...], settings: Floats, level: Floats, scores: Floats, weights: Floats
) -> SpreadCorrection:
    """The correction that scores on rows left out ask for; `weights` sum to 1 over the runs of a row."""
    encoding = Encoding(factors, log=True)
    features = _features(encoding, settings, level)
    centre = np.average(features, axis=0, weights=weights)
    unit = np.sqrt(np.average((features - centre) ** 2, axis=0, weights=weights))
    unit[unit == 0] = 1.0
    size = np.abs(scores)
    logarithm = np.log(np.maximum(size, 1e-3 * float(np.median(size)) + 1e-300))
    target = logarithm - np.average(logarithm, weights=weights)
    slopes = _shrunk_slopes((features - centre) / unit, target, weights)
    return SpreadCorrection(encoding, centre, unit, slopes)


def no_correction(factors: tuple[Factor, ...]) -> SpreadCorrection:
    """The correction that leaves every spread as it is."""
    encoding = Encoding(factors, log=True)
    width = len(encoding.owner) + 1
    return SpreadCorrection(encoding, np.zeros(width), np.ones(width), np.zeros(width))


def _features(encoding: Encoding, settings: Floats, level: Floats) -> Floats:
    return np.column_stack([encoding.columns(settings), level])


def _shrunk_slopes(features: Floats, target: Floats, weights: Floats) -> Floats:
    """Ridge regression with the strength of the dependence that is most plausible, in closed form for each."""
    root = np.sqrt(weights / NOISE)
    left, singular, right = np.linalg.svd(features * root[:, None], full_matrices=False)
    projected = left.T @ (target * root)
    best, best_evidence = np.zeros(features.shape[1]), 0.0
    for strength in STRENGTHS[1:]:
        gain = 1 + strength * singular**2
        evidence = 0.5 * float(np.sum(projected**2 * (1 - 1 / gain)) - np.sum(np.log(gain)))
        if evidence > best_evidence:
            best = right.T @ (strength * singular * projected / gain)
            best_evidence = evidence
    return np.asarray(best, dtype=float)
