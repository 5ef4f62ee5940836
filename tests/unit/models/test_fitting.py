import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from coxswain.core.errors import InputError
from coxswain.core.factors import Factor
from coxswain.core.models import Basis, Pick, ablate, fit, fitting, importance, refit
from coxswain.core.models.families import FAMILIES, Family
from coxswain.core.models.families.gaussian import GAUSSIAN_PROCESS, LOG_LOG
from coxswain.core.models.families.learners import TREE
from coxswain.core.models.families.least_squares import LINEAR, POLYNOMIAL
from coxswain.core.models.observations import Observations
from coxswain.core.models.scales import Scale
from coxswain.core.models.search import assign_folds, make_sample, tune

QUICK: tuple[Family, ...] = (replace(LOG_LOG, orders=(2,)), LINEAR, TREE)
ONE: tuple[Family, ...] = (replace(LOG_LOG, orders=(2,)),)
INSIDE = {"workers": 3, "cores": 1.5, "batch_size": 100, "epochs": 5}


def test_all_families_compete_and_the_best_on_rows_left_out_is_chosen(jobs: Callable[..., Any]) -> None:
    told: list[str] = []
    made = jobs(30)
    model = fit(made.observations, progress=told.append)
    assert {scores.name for scores in model.models} == {family.name for family in FAMILIES}
    assert [scores.score for scores in model.models] == sorted(scores.score for scores in model.models)
    assert model.chosen in {"loglog", "gaussian_process", "polynomial", "mlp"}
    assert told == [*(f"fold {fold} of 10" for fold in range(1, 11)), "all rows"]
    error = np.log(model.predict_array(made.unseen).point / made.run(made.unseen, np.random.default_rng(0)))
    assert np.std(error) < 0.15


@pytest.mark.parametrize(("rows", "handicap"), [(12, fitting.CLEARLY_BETTER), (30, 1.0)])
def test_with_few_rows_one_answer_has_to_be_clearly_better_than_the_average_of_many(
    rows: int, handicap: float, jobs: Callable[..., Any]
) -> None:
    observations = jobs(rows).observations
    sample = make_sample(observations, np.random.default_rng(0))
    plain = replace(LINEAR, degrees=(1,))
    alone = fitting._compete([plain], sample)
    together = fitting._compete(fitting._suited([*ONE, plain], observations), sample)
    assert together["linear"].score == pytest.approx(handicap * alone["linear"].score)


def test_a_fit_depends_on_its_seed_and_observations_alone(jobs: Callable[..., Any]) -> None:
    observations = jobs(24).observations
    first, second = (fit(observations, families=QUICK, seed=3).predict([INSIDE]) for _ in range(2))
    assert first.quantile(0.95) == second.quantile(0.95)


def test_the_logarithm_is_taken_where_it_serves_and_not_where_it_does_not(jobs: Callable[..., Any]) -> None:
    observations = jobs(40, noise=0.2).observations
    rng = np.random.default_rng(0)
    added = 300 + observations.settings @ np.array([20.0, 30.0, -0.5, 5.0]) + rng.normal(0, 5, 40)
    only = (POLYNOMIAL,)
    assert fit(observations, families=only).scale is Scale.LOG
    assert fit(replace(observations, y=added), families=only).scale is Scale.IDENTITY


@pytest.mark.parametrize("noiseless", [lambda a, b: a * b + 1, lambda a, b: 5 + 0 * a * b, lambda a, b: a - b])
def test_measurements_without_any_noise_are_no_trouble(noiseless: Callable[..., Any]) -> None:
    settings = np.array([[a, b] for a in (1.0, 2.0, 3.0) for b in (1.0, 2.0, 4.0)])
    factors = tuple(Factor(name, levels=tuple(set(settings[:, place]))) for place, name in enumerate("ab"))
    y = noiseless(settings[:, 0], settings[:, 1])
    observations = Observations(factors, "y", settings, y, np.arange(9), np.zeros(9, dtype=bool))
    predicted = fit(observations, families=QUICK).predict([{"a": 2.5, "b": 3.0}])
    assert predicted.point[0] == pytest.approx(noiseless(2.5, 3.0), abs=0.05)
    assert predicted.quantile(0.95)[0] == pytest.approx(predicted.point[0], abs=0.1)


def test_a_response_may_be_negative(jobs: Callable[..., Any]) -> None:
    observations = jobs(40).observations
    model = fit(replace(observations, y=np.log(observations.y) - 5), families=QUICK)
    predicted = model.predict_array(observations.settings)
    assert predicted.point.min() < 0
    assert np.isfinite(predicted.quantile(0.05)).all()


def test_no_run_of_a_row_helps_to_predict_another() -> None:
    folds = assign_folds(np.repeat(np.arange(20), 3), 5, np.random.default_rng(0)).reshape(20, 3)
    assert np.ptp(folds, axis=1).max() == 0
    assert np.bincount(folds[:, 0]).tolist() == [4] * 5


def test_rows_that_only_their_own_runs_could_explain_are_not_explained() -> None:
    """Every row has its own level, at random; a leak between runs of a row would look like a good model."""
    rng = np.random.default_rng(0)
    factors = (Factor("a", levels=tuple(float(level) for level in range(40))),)
    units = np.repeat(np.arange(40), 3)
    y = np.exp(rng.normal(size=40)[units] + rng.normal(0, 0.01, 120))
    observations = Observations(factors, "t", units[:, None].astype(float), y, units, np.zeros(120, dtype=bool))
    model = fit(observations, families=(TREE, *ONE))
    assert model.nested.r2 < 0.3
    assert model.known is not None
    seen = model.predict_array(observations.settings)
    assert seen.seen.all()
    assert np.abs(np.log(seen.point / y)).max() < 0.1


def test_settings_run_before_have_tighter_bounds_than_new_ones(jobs: Callable[..., Any]) -> None:
    made = jobs(30, replicates=3, noise=0.02)
    model = fit(made.observations, families=(TREE,))
    known, new = (model.predict_array(settings) for settings in (made.observations.settings, made.unseen))
    assert known.seen.all()
    assert not new.seen.any()
    ratio = [float(np.median(each.quantile(0.95) / each.point)) for each in (known, new)]
    assert ratio[0] < 1.1 < ratio[1]


def test_bounds_and_chances_agree(jobs: Callable[..., Any]) -> None:
    made = jobs(30, replicates=2)
    model = fit(made.observations, families=ONE)
    predicted = model.predict_array(np.vstack([made.unseen[:20], made.observations.settings[:5]]))
    for level in (0.01, 0.3, 0.5, 0.9, 0.95, 0.99):
        assert predicted.cdf(predicted.quantile(level)) == pytest.approx(np.full(25, level), abs=1e-6)
    assert predicted.cdf(0.0).tolist() == [0.0] * 25
    low, high = predicted.interval(0.9)
    assert np.all(low < predicted.point)
    assert np.all(predicted.point < high)


def test_each_bound_says_what_it_rests_on(jobs: Callable[..., Any]) -> None:
    many, few = (fit(jobs(rows).observations, families=ONE).predict([INSIDE]) for rows in (19, 18))
    assert many.basis(0.95) == [Basis.CONFORMAL]
    assert many.basis(0.99) == [Basis.PARAMETRIC]
    assert few.basis(0.95) == [Basis.PARAMETRIC]


@pytest.mark.parametrize("family", [LOG_LOG, GAUSSIAN_PROCESS, TREE], ids=lambda family: family.name)
def test_beyond_what_was_measured_bounds_are_wider_and_say_so(family: Family, jobs: Callable[..., Any]) -> None:
    model = fit(jobs(40).observations, families=(family,))
    predicted = model.predict([INSIDE, {**INSIDE, "epochs": 60}, {**INSIDE, "epochs": 300}])
    width = np.log(predicted.quantile(0.95) / predicted.point)
    assert width[0] < width[1] < width[2]
    assert predicted.notes[0] == ()
    assert predicted.notes[1] == ("epochs = 60 is beyond the measured range 1 to 30",)
    assert predicted.basis(0.95) == [Basis.CONFORMAL, Basis.PARAMETRIC, Basis.PARAMETRIC]


def test_killed_runs_count(jobs: Callable[..., Any]) -> None:
    covered, hopeful = np.zeros(2), np.zeros(2)
    for seed in range(4):
        made = jobs(60, noise=0.5, seed=seed)
        y = made.observations.y
        limit = float(np.quantile(y, 0.7))
        killed = replace(made.observations, y=np.minimum(y, limit), censored=y > limit)
        actual = made.run(made.unseen, np.random.default_rng(seed))
        for index, known in enumerate((killed, killed.take(~killed.censored))):
            predicted = fit(known, families=ONE).predict_array(made.unseen)
            covered[index] += np.mean(actual <= predicted.quantile(0.95)) / 4
            hopeful[index] += np.mean(np.log(actual / predicted.point)) / 4
    assert covered[0] > 0.93
    assert covered[0] > covered[1] + 0.02
    assert abs(hopeful[0]) < 0.5 * hopeful[1]


def test_a_fit_again_keeps_the_choice_and_learns_from_what_is_new(jobs: Callable[..., Any]) -> None:
    few, many = (jobs(rows).observations for rows in (20, 60))
    model = fit(few, families=QUICK)
    again = refit(model, many, families=QUICK)
    assert again.chosen == model.chosen
    assert again.tuned.setting == model.tuned.setting
    assert (model.rows, again.rows) == (20, 60)


def test_a_fitted_model_is_frozen_and_cheap_to_send(jobs: Callable[..., Any]) -> None:
    made = jobs(100, replicates=2)
    model = fit(made.observations, families=(replace(GAUSSIAN_PROCESS, scales=(Scale.LOG,)),))
    stored = pickle.dumps(model)
    assert len(stored) < 60_000
    bounds = pickle.loads(stored).predict_array(made.unseen).quantile(0.95)  # noqa: S301  our own bytes
    assert np.array_equal(bounds, model.predict_array(made.unseen).quantile(0.95))
    with pytest.raises(AttributeError):
        model.chosen = "another"  # type: ignore[misc]


def test_a_bound_at_the_pick_is_at_least_as_high(jobs: Callable[..., Any]) -> None:
    made = jobs(24, noise=0.3)
    model = fit(made.observations, families=ONE)
    alone = model.predict_array(made.unseen[:10]).quantile(0.95)
    picked = model.best_of_array(made.unseen[:10], 0.95)
    assert picked.best == int(np.argmin(picked.bounds))
    assert np.all(picked.bounds >= alone)
    assert np.all(model.best_of_array(made.unseen[:10], 0.95, pick=Pick.ANY).bounds >= picked.bounds)
    single = {factor.name: float(value) for factor, value in zip(model.factors, made.unseen[0], strict=True)}
    assert model.best_of([single], 0.95).level == pytest.approx(0.95)


def test_there_must_be_something_to_pick_from(jobs: Callable[..., Any]) -> None:
    model = fit(jobs(20).observations, families=ONE)
    with pytest.raises(InputError, match="no candidate"):
        model.best_of([], 0.95)
    with pytest.raises(InputError, match="between 0 and 1"):
        model.predict([INSIDE]).quantile(95)


def test_few_rows_that_tell_settings_apart_need_no_allowance_for_the_smallest_bound(jobs: Callable[..., Any]) -> None:
    made = jobs(12)
    model = fit(made.observations, families=(LOG_LOG,))
    some = made.unseen[:10]
    assert model.best_of_array(some, 0.95).bounds == pytest.approx(model.predict_array(some).quantile(0.95))
    assert np.all(model.best_of_array(some, 0.95, pick=Pick.ANY).bounds > model.best_of_array(some, 0.95).bounds)


def test_a_search_never_ends_worse_than_where_it_began(jobs: Callable[..., Any]) -> None:
    sample = make_sample(jobs(40).observations, np.random.default_rng(0))
    tuned = tune(TREE, sample)
    assert set(tuned.setting) == {"scale", "depth", "leaf"}
    assert tuned.score < 0.5


def test_importance_names_what_matters(jobs: Callable[..., Any]) -> None:
    observations = jobs(60).observations
    ranking = importance(fit(observations, families=ONE), observations, families=ONE)
    assert ranking[0].factor == "epochs"
    assert {each.factor for each in ranking} == {factor.name for factor in observations.factors}
    assert sum(each.impurity for each in ranking) == pytest.approx(1)
    by_name = {each.factor: each.permutation for each in ranking}
    assert by_name["epochs"] > 5 * abs(by_name["batch_size"])


def test_without_a_factor_that_matters_predictions_are_worse(jobs: Callable[..., Any]) -> None:
    observations = jobs(60).observations
    everything = fit(observations, families=QUICK).nested
    _, without = ablate(observations, "workers", families=QUICK)
    assert without.r2 < everything.r2
    assert without.bound_ratio > everything.bound_ratio
    with pytest.raises(InputError, match="no factor memory"):
        ablate(observations, "memory")
