"""What few rows leave open about a kernel's parameters, averaged over.

The most plausible parameters are not the only plausible ones. A dozen rows hardly tell how large interactions are, how
far a smooth effect reaches, how long the start is or how much runs vary, and bounds that take one answer for the truth
are too narrow. So predictions are made with many answers, as many of each kind as rows and prior make it plausible.
Where they agree nothing changes; where they differ the spread grows by what they differ, and the tails grow heavier.
What is told is the t distribution that comes nearest to this mixture: its spread from where bounds are asked for, its
degrees of freedom from how far its tails reach beyond.

That nothing matters is a kind of answer of its own, and so is that there are main effects only; each kind is as likely
beforehand as another. An accuracy may be the same whatever the settings: all that it varies by is noise, chance alone
makes some of them look better, and who picks these is disappointed. If something does matter nobody is, because
estimates are drawn together by as much as is plausible: the best of them was not lucky.

Where rows were run several times, their runs tell how much runs vary. A row is either off by that alone or by something
that its runs share, which is of a similar size, or if there are effects between that and what effects usually fail to
express. Rows that differ by much more than their runs do so because settings matter: without replicates that is an open
question, and a screening design cannot promise much.

For each kind of answer, parameters are found by adaptive importance sampling: drawn around the most plausible ones,
weighed, and drawn again with the mean and covariance that the weights give; no weight may dwarf all others (truncated
importance sampling). The sum of the weights tells how plausible each is. How noise depends on the level keeps its most
plausible value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from scipy import special, stats

from coxswain.core.models.families.base import Variances
from coxswain.core.models.families.posterior import JITTER, GaussianRegressor
from coxswain.core.models.types import Floats, Ints

DRAWS = 256
ROUNDS = 3
# Of the t distribution that parameters are drawn from: its tails have to be heavier than those of what is plausible.
PROPOSAL_DOF = 5
# So many of the answers are kept: what is drawn more often is what weighs more.
ANSWERS = 64
# Where rows were run several times: how likely it is beforehand that they are off by the noise of their runs alone, and
# otherwise how large the variance of what their runs share is beside that noise, and how far its logarithm may lie from
# that.
RUNS_ALONE = 0.5
SHARED, SHARED_SPREAD = 0.5, 1.5
# How far the logarithm of the noise's share in the variance of the response may lie from what is usual: a thirtieth
# of a per cent is as natural as all of it. A single answer needs a narrower prior, or a handful of rows would ask for
# the absurd.
NOISE_SPREAD = 4.0
# So plausible it has to be that nothing matters for bounds to be raised for the pick in full.
CHANCE_ENOUGH = 0.25
# The logarithm of the variance of an effect that is not there.
ABSENT = -20.0
# Spreads are taken from the interval between these quantiles, where bounds are asked for, tails from the wider one.
MIDDLE, TAIL = 0.95, 0.99
# A t distribution with fewer degrees of freedom has hardly a variance, which sums of times need.
DOFS: Floats = np.array([4.0, 5.0, 7.0, 10.0, 15.0, 30.0, 100.0])
TAILS_OF_T = np.asarray(special.stdtrit(DOFS, TAIL) / special.stdtrit(DOFS, MIDDLE), dtype=float)
HALVINGS = 20


@dataclass(frozen=True, eq=False)
class Told:
    """What each of several answers says of some settings, a row an answer."""

    means: Floats
    model: Floats
    """Variance of the answer's error."""
    noise: Floats
    """Variance of a single run."""

    @property
    def total(self) -> Floats:
        """Variance of a single run around what is expected."""
        return self.model + self.noise


@dataclass(frozen=True, eq=False)
class Answers:
    """Several parameter vectors of a regressor, a row each, in place of one."""

    base: GaussianRegressor
    parameters: Floats

    def __getstate__(self) -> dict[str, object]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def at(self, settings: Floats) -> Told:
        """What they say of settings."""
        solved = self._solved(settings)
        prior = self.base.prior_variance(settings, self.parameters)
        return self._told(self._means(solved), prior - np.sum(solved**2, axis=1))

    def covariances(self, settings: Floats) -> tuple[Floats, Floats]:
        """The expected responses and the covariance of their errors, by each of them."""
        solved = self._solved(settings)
        own = self.base.kernel.between(settings, settings).covariance(self.parameters)
        means, slopes = self.base.whole(self._means(solved))
        return means, slopes[:, :, None] * slopes[:, None, :] * (own - np.swapaxes(solved, 1, 2) @ solved)

    def left_out(self, folds: Ints) -> Told:
        """What they say of each row without its fold, in closed form."""
        standard, inverse = self.base.standard, np.swapaxes(self._whitening, 1, 2) @ self._whitening
        noise, pulled = self.base.noise(self.parameters), inverse @ standard
        means, model = np.empty(pulled.shape), np.empty(pulled.shape)
        for fold in np.unique(folds):
            own = folds == fold
            block = np.linalg.inv(inverse[:, own][:, :, own])
            means[:, own] = standard[own] - (block @ pulled[:, own, None])[..., 0]
            model[:, own] = np.diagonal(block, axis1=1, axis2=2) - noise[:, own]
        return self._told(means, model)

    def _told(self, standard: Floats, variance: Floats) -> Told:
        means, slopes = self.base.whole(standard)
        noise = self.base.unit**2 * self.base.noise_of_a_run(means, self.parameters)
        return Told(means, np.maximum(variance, 0.0) * slopes**2, noise)

    @cached_property
    def _whitening(self) -> Floats:
        """Inverse factors of the rows' covariances."""
        return np.asarray(np.linalg.inv(_factors(self.base, self.parameters)), dtype=float)

    def _solved(self, settings: Floats) -> Floats:
        cross = self.base.kernel.between(self.base.settings, settings).covariance(self.parameters)
        return np.asarray(self._whitening @ cross, dtype=float)

    def _means(self, solved: Floats) -> Floats:
        white = self._whitening @ self.base.standard
        return np.asarray(np.sum(solved * white[..., None], axis=1), dtype=float)


@dataclass(frozen=True, eq=False)
class AveragedRegressor:
    """The average of equally plausible answers, those with the same start together."""

    answers: tuple[Answers, ...]

    def __getstate__(self) -> dict[str, object]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def mean(self, settings: Floats) -> Floats:
        """The average of the posterior means."""
        return np.asarray(self._at(settings).means.mean(axis=0), dtype=float)

    def variances(self, settings: Floats) -> Variances:
        """Variances which a t distribution with `dof` degrees of freedom turns into those of the average."""
        return self._averaged(self._at(settings))

    def covariance(self, settings: Floats) -> Floats:
        """Covariance of the average of the expected responses, its answers' differences among it."""
        parts = [answers.covariances(settings) for answers in self.answers]
        means, within = (np.concatenate(part) for part in zip(*parts, strict=True))
        return np.asarray(within.mean(axis=0) + np.cov(means, rowvar=False, bias=True), dtype=float)

    def left_out(self, folds: Ints) -> tuple[Floats, Variances]:
        """Predictions of each row without its fold, in closed form, with the parameters as they are."""
        told = _together([answers.left_out(folds) for answers in self.answers])
        return told.means.mean(axis=0), self._averaged(told)

    @cached_property
    def dof(self) -> float:
        """Of the t distribution with tails as heavy as those of the mixture, at the rows themselves."""
        told = self._at(self.answers[0].base.settings)
        middle, wide = (_half_width(told, level) for level in (MIDDLE, TAIL))
        return float(np.interp(-np.mean(wide / middle), -TAILS_OF_T, DOFS))

    @cached_property
    def by_chance(self) -> float:
        """How far it may be chance alone that some settings look better than others: 0 not at all, 1 throughout."""
        without_effects = [np.all(answers.parameters[:, :-2] == ABSENT, axis=1) for answers in self.answers]
        return min(1.0, float(np.mean(np.concatenate(without_effects))) / CHANCE_ENOUGH)

    def _at(self, settings: Floats) -> Told:
        return _together([answers.at(settings) for answers in self.answers])

    def _averaged(self, told: Told) -> Variances:
        half = _half_width(told, MIDDLE) / special.stdtrit(self.dof, MIDDLE)
        unsure, noisy = told.model.mean(axis=0) + told.means.var(axis=0), told.noise.mean(axis=0)
        size = half**2 / (unsure + noisy)
        return Variances(size * unsure, size * noisy)


def _together(told: Sequence[Told]) -> Told:
    return Told(*(np.concatenate([getattr(one, field.name) for one in told]) for field in fields(Told)))


def average(bases: Sequence[GaussianRegressor]) -> AveragedRegressor:
    """The regressor that averages over what the rows leave plausible; there is one base for each plausible start."""
    proposals: dict[tuple[int, ...], _Proposal] = {}
    whose, parameters, logarithms = [], [], []
    for number, base in enumerate(bases):
        for free, likely in _kinds(base):
            drawn, weights, proposals[tuple(free)] = _sampled(base, free, proposals.get(tuple(free)))
            whose.append(np.full(DRAWS, number))
            parameters.append(drawn)
            logarithms.append(weights + np.log(likely) + base.stretch)
    owner, answers, plausible = np.concatenate(whose), np.concatenate(parameters), np.concatenate(logarithms)
    order = np.argsort(answers[:, -2])
    upto = np.cumsum(np.exp(plausible[order] - special.logsumexp(plausible)))
    picked = order[np.searchsorted(upto, (np.arange(ANSWERS) + 0.5) / ANSWERS * upto[-1])]
    groups = [(base, answers[picked[owner[picked] == number]]) for number, base in enumerate(bases)]
    return AveragedRegressor(tuple(Answers(base, some) for base, some in groups if len(some)))


def _kinds(base: GaussianRegressor) -> list[tuple[Ints, float]]:
    """The parameters that are free in each kind of answer, and how likely it is beforehand beside the others.

    They are: that nothing matters, main effects alone, and so on. If nothing matters there is no telling a start apart.
    """
    nothing, *effects = base.kernel.nested()
    kinds = [(free, base.start.likely) for free in effects]
    if not base.start.length:
        kinds = [(nothing, 1.0), *kinds]
    if base.within:
        alone = [(free[:-1], RUNS_ALONE * likely) for free, likely in kinds]
        kinds = alone + [(free, (1 - RUNS_ALONE) * likely) for free, likely in kinds]
    return kinds


def _beforehand(base: GaussianRegressor, free: Ints) -> tuple[Floats, Floats]:
    """Mean and standard deviation of free parameters before rows are seen; by how much their runs differ is known."""
    usual, spread = base.kernel.prior()
    spread[-2] = NOISE_SPREAD
    effects = len(free) > 1
    if not effects:
        usual[-2] = 0.0  # then noise is all that responses vary by
    if base.within:
        # The logarithm of a variance that few runs tell is off by what a chi-squared variable's is.
        half = float(np.sum(base.count - 1)) / 2
        shared = np.log(SHARED * base.within * half) - special.digamma(half)
        off = SHARED_SPREAD**2 + special.polygamma(1, half)
        if effects:  # what they cannot express is as large as it usually is
            away = (usual[-2] - shared) / 2
            shared, off = shared + away, off + away**2
        usual[-2], spread[-2] = shared, np.sqrt(off)
    return usual[free], spread[free]


@dataclass(frozen=True, eq=False)
class _Proposal:
    """Around where, and how far from it, parameters are drawn."""

    centre: Floats
    root: Floats


def _sampled(base: GaussianRegressor, free: Ints, proposal: _Proposal | None) -> tuple[Floats, Floats, _Proposal]:
    """Parameter vectors with the effects that are not free left out, and the logarithms of their weights.

    With another start they are much the same, so that its proposal serves; without one it takes some rounds to find.
    """
    rng = np.random.default_rng(0)
    usual, spread = _beforehand(base, free)
    low, high = np.array(base.kernel.bounds())[free].T
    parameters = np.full((DRAWS, len(base.parameters)), ABSENT)
    parameters[:, -1] = base.parameters[-1]
    rounds = ROUNDS if proposal is None else 1
    proposal = proposal or _Proposal(base.parameters[free], np.diag(spread))
    for _ in range(rounds):
        around = proposal
        scale = np.sqrt(rng.chisquare(PROPOSAL_DOF, DRAWS) / PROPOSAL_DOF)
        steps = rng.standard_normal((DRAWS, len(free))) / scale[:, None]
        drawn = np.clip(around.centre + steps @ around.root.T, low, high)
        parameters[:, free] = drawn
        beforehand = np.sum(stats.norm.logpdf(drawn, usual, spread), axis=1)
        stretched = np.sum(np.log(np.diag(around.root)))
        logarithms = _truncated(_likelihoods(base, parameters) + beforehand - _density(steps) + stretched)
        weights = np.exp(logarithms - special.logsumexp(logarithms))
        centre = weights @ drawn
        away = drawn - centre
        covariance = (away * weights[:, None]).T @ away + np.diag((spread / 20) ** 2)
        proposal = _Proposal(centre, np.asarray(np.linalg.cholesky(covariance), dtype=float))
    return parameters, logarithms, around


def _density(steps: Floats) -> Floats:
    """The logarithm of the density of the t distribution that steps are drawn from; of no parameter at all it is 0."""
    free = steps.shape[1]
    size = special.gammaln((PROPOSAL_DOF + free) / 2) - special.gammaln(PROPOSAL_DOF / 2)
    flat = size - free / 2 * np.log(PROPOSAL_DOF * np.pi)
    return np.asarray(flat - (PROPOSAL_DOF + free) / 2 * np.log1p(np.sum(steps**2, axis=1) / PROPOSAL_DOF), dtype=float)


def _likelihoods(base: GaussianRegressor, parameters: Floats) -> Floats:
    factors = _factors(base, parameters)
    white = np.linalg.solve(factors, np.broadcast_to(base.standard[:, None], (*factors.shape[:2], 1)))
    size = np.sum(np.log(np.diagonal(factors, axis1=1, axis2=2)), axis=1)
    return np.asarray(-np.sum(white**2, axis=(1, 2)) / 2 - size, dtype=float)


def _factors(base: GaussianRegressor, parameters: Floats) -> Floats:
    covariance = base.kernel.between(base.settings, base.settings).covariance(parameters)
    noise = (base.noise(parameters) + JITTER)[..., None] * np.eye(len(base.standard))
    return np.asarray(np.linalg.cholesky(covariance + noise), dtype=float)


def _truncated(logarithms: Floats) -> Floats:
    """Logarithms of weights, none larger than that of their mean times the root of their number."""
    most = float(special.logsumexp(logarithms)) - np.log(len(logarithms)) / 2
    return np.asarray(np.minimum(logarithms, most), dtype=float)


def _half_width(told: Told, level: float) -> Floats:
    """Half the width of the interval that the mixture leaves on either side with probability 1 - level."""
    return (_quantile(told, level) - _quantile(told, 1 - level)) / 2


def _quantile(told: Told, level: float) -> Floats:
    """By bisection."""
    spreads = np.sqrt(told.total)
    answers = told.means + spreads * special.ndtri(level)
    low, high = answers.min(axis=0), answers.max(axis=0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = special.ndtr((middle - told.means) / spreads).mean(axis=0) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2, dtype=float)
