"""Fit and choose: from observations to a model that says how long things take and how sure it is.

`fit` lets all families compete; `refit` keeps a choice and only learns from more observations, which is what happens
after each finished run.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from coxswain.core.errors import InputError
from coxswain.core.models.censoring import impute
from coxswain.core.models.extrapolation import reach_of
from coxswain.core.models.families import FAMILIES, Family, Setting, Spread
from coxswain.core.models.families.gaussian import LOG_LOG, KernelFamily
from coxswain.core.models.fitted import FittedModel
from coxswain.core.models.known import learn_known
from coxswain.core.models.observations import Observations
from coxswain.core.models.scales import Scale, usable_scales
from coxswain.core.models.scoring import Scores
from coxswain.core.models.search import Sample, Tuned, assess, assign_folds, make_sample, tune
from coxswain.core.models.survey import Chooser, Progress, Survey, survey

CONFIDENCE = 0.95
FOLDS = 5
# With few rows each fold takes away much of what there is to learn from, so there are more of them.
FOLDS_OF_FEW = 10
FEW_UNITS = 60
# A family whose defaults score worse than the best by this factor is not worth tuning.
WORTH_TUNING = 1.15
# By so much a family that takes one answer for the truth has to beat those that average over what few rows leave open:
# a dozen families compete on scores of a dozen rows, and bounds would be those of whichever was lucky. The size is a
# judgement, the first that was tried.
CLEARLY_BETTER = 1.15


def _silence(_: str) -> None:
    """Nobody is watching."""


def fit(
    observations: Observations,
    *,
    families: Sequence[Family] = FAMILIES,
    seed: int = 0,
    shares: bool = False,
    folds: int | None = None,
    progress: Progress = _silence,
) -> FittedModel:
    """Choose the family and hyperparameters that predict rows left out best, and calibrate its bounds.

    `shares` says that the response is a share between 0 and 1, modelled by its log-odds. `folds` is into how many parts
    rows are split to be left out; by default that depends on how many rows there are.

    Raises:
        InputError: if something is said to be a share that is none.
    """
    if shares:
        _require_shares(observations)
    suited = _suited(families, observations)
    choose = partial(_compete, suited)
    return _fit(observations, suited, choose, seed=seed, progress=progress, shares=shares, folds=folds)


def refit(
    model: FittedModel,
    observations: Observations,
    *,
    families: Sequence[Family] = FAMILIES,
    seed: int = 0,
) -> FittedModel:
    """Fit the family and hyperparameters of a model to observations, and calibrate its bounds anew."""
    family = next(family for family in families if family.name == model.chosen)
    return fit_as(family, model.tuned, observations, seed=seed)


def fit_few(observations: Observations, *, seed: int = 0) -> FittedModel:
    """Fit main effects alone, with nothing to choose: for few rows, or none that differ."""
    setting: Setting = {"scale": usable_scales(observations.y)[0], "order": 1}
    return fit_as(LOG_LOG, Tuned(setting, score=0.0, spread=Spread(0.0, 0.0)), observations, seed=seed)


def fit_as(family: Family, tuned: Tuned, observations: Observations, *, seed: int = 0) -> FittedModel:
    """Fit one family with one choice of hyperparameters, and calibrate its bounds."""
    shares = tuned.setting["scale"] == Scale.LOGIT
    choice = {family.name: tuned}
    suited = _suited([family], observations)
    return _fit(observations, suited, lambda _: choice, seed=seed, progress=_silence, shares=shares)


def _fit(
    observations: Observations,
    families: Sequence[Family],
    choose: Chooser,
    *,
    seed: int,
    progress: Progress,
    shares: bool,
    folds: int | None = None,
) -> FittedModel:
    rng = np.random.default_rng(seed)
    fold_of = assign_folds(observations.units, folds or _number_of_folds(observations), rng)
    with threadpool_limits(1):  # the matrices are small: more threads would only wait for each other
        surveyed = survey(observations, families, choose, folds=fold_of, rng=rng, progress=progress, shares=shares)
        progress("all rows")
        sample = make_sample(impute(observations), rng, shares=shares)
        tuned = choose(sample)
        chosen = min(tuned, key=lambda name: tuned[name].score)
        family = next(family for family in families if family.name == chosen)
        return _put_together(family, tuned[chosen], sample, surveyed)


def _require_shares(observations: Observations) -> None:
    odd = observations.y[(observations.y < 0) | (observations.y > 1)]
    if len(odd):
        raise InputError(
            f"{observations.response} is no share: it is {odd[0]:g} in a run; divide percentages by 100, or do not "
            "call it a share."
        )


def _suited(families: Sequence[Family], observations: Observations) -> list[Family]:
    """The families as they are fitted to all of the table, also where they are fitted to a part of it."""
    rows = len(np.unique(observations.units))
    return [family.of_table(rows) if isinstance(family, KernelFamily) else family for family in families]


def _number_of_folds(observations: Observations) -> int:
    units = len(np.unique(observations.units))
    return FOLDS if units >= FEW_UNITS else min(units, FOLDS_OF_FEW)


def _compete(families: Sequence[Family], sample: Sample) -> dict[str, Tuned]:
    """Each family's setting: its defaults first, and what a search finds if these come near the best."""
    part = sample.smaller()
    axes = {family.name: family.axes(part.any_rows) for family in families}
    plain = {
        family.name: assess(family, part, {axis: values[0] for axis, values in axes[family.name].items()})
        for family in families
        if axes[family.name]
    }
    within_reach = WORTH_TUNING * min(found.score for found in plain.values())
    searchable = {name for name in plain if any(len(values) > 1 for values in axes[name].values())}
    found = {
        family.name: tune(family, sample)
        if family.name in searchable and plain[family.name].score <= within_reach
        else plain[family.name]
        for family in families
        if family.name in plain
    }
    return _favouring_averages(families, found)


def _favouring_averages(families: Sequence[Family], found: dict[str, Tuned]) -> dict[str, Tuned]:
    """The same where no family averages; where some do, the scores of all others are made worse."""
    averaged = {family.name for family in families if isinstance(family, KernelFamily) and family.averages}
    handicap = CLEARLY_BETTER if averaged & found.keys() else 1.0
    return {
        name: tuned if name in averaged else replace(tuned, score=handicap * tuned.score)
        for name, tuned in found.items()
    }


def _put_together(family: Family, tuned: Tuned, sample: Sample, surveyed: Survey) -> FittedModel:
    observations = surveyed.observations
    scale = Scale(str(tuned.setting["scale"]))
    rows = sample.rows(scale)
    regressor = sample.fit(family, tuned.setting, tuned.spread)
    standardised = surveyed.standardise(scale, np.sqrt(regressor.variances(observations.settings).total))
    standard, calibration = standardised.standard, standardised.calibration(regressor.dof)
    first = np.unique(rows.row_of, return_index=True)[1]
    left_out = scale.forward(surveyed.comparison.possible(surveyed.chosen.point))
    own = np.sqrt(regressor.variances(rows.settings).total)
    level = surveyed.comparison.place(scale.inverse(regressor.mean(rows.settings)))
    spread = standard.spread(own, rows.settings, level)
    return FittedModel(
        chosen=family.name,
        tuned=tuned,
        factors=observations.factors,
        response=observations.response,
        rows=calibration.rows,
        models=_table(surveyed),
        nested=surveyed.scores(family.name, surveyed.chosen, CONFIDENCE),
        scale=scale,
        regressor=regressor,
        comparison=surveyed.comparison,
        standard=standard,
        calibration=calibration,
        known=learn_known(rows, left_out[first], spread, observations.censored),
        reach=reach_of(rows, regressor),
    )


def _table(surveyed: Survey) -> tuple[Scores, ...]:
    scores = [surveyed.scores(name, held_out, CONFIDENCE) for name, held_out in surveyed.families.items()]
    return tuple(sorted(scores, key=lambda one: one.score))
