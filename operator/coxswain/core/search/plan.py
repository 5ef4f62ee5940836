"""A search as a design with its runs: what an experiment makes, as far as it is known.

The rows grow with the search, so they cannot be what is fixed before the first run; the hash is of what they follow
from: the factors, how to search, and the seed.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from coxswain.core.api import TrainingExperiment
from coxswain.core.api.experiment import ExperimentSpec
from coxswain.core.designs import Design, Order, Rows, build
from coxswain.core.designs.base import Settings
from coxswain.core.errors import InputError
from coxswain.core.expand import PlannedRun, expand
from coxswain.core.search.course import Course, course_of
from coxswain.core.search.trials import Begun

Obstacle = Callable[[PlannedRun], str | None]
"""Why a run cannot be made here; None where it can."""


@dataclass(frozen=True, kw_only=True)
class HillClimb(Rows):
    """The rows that a climb has come to."""


@dataclass(frozen=True, kw_only=True)
class BayesianOptimization(Rows):
    """The rows that a model has chosen."""


_KINDS: dict[str, type[Rows]] = {"HillClimb": HillClimb, "BayesianOptimization": BayesianOptimization}


@dataclass(frozen=True)
class SearchPlan:
    """A search, and the runs it has made or wants."""

    course: Course
    design: Design
    runs: tuple[PlannedRun, ...]
    digest: str


def plan_search(
    experiment: TrainingExperiment, begun: Iterable[Begun], obstacle: Obstacle = lambda _: None
) -> SearchPlan:
    """The plan of an experiment that searches, from what was begun; `obstacle` knows what cannot be run here.

    Raises:
        InputError: if the experiment asks for what cannot be searched, or not be run.
    """
    spec = experiment.spec
    seen = list(begun)

    def refusal(settings: Settings) -> str | None:
        try:
            runs = expand(experiment, _design(spec, [settings], replications=1))
        except InputError as error:
            return str(error)
        return obstacle(runs[0])

    course = course_of(spec, seen, refusal)
    steps = {step.row: step for step in course.steps}
    # A number without a row, whose observations somebody removed, stands for no run; only its place is kept.
    rows = [steps.get(row, course.steps[0]).settings for row in range(course.steps[-1].row + 1)]
    design = _design(spec, rows, spec.design.replications)
    runs = [run for run in expand(experiment, design) if run.row in steps and steps[run.row].runs(run.replicate)]
    return SearchPlan(course, design, tuple(runs), _digest(spec))


def _design(spec: ExperimentSpec, rows: Iterable[Settings], replications: int) -> Design:
    factors = [factor.factor() for factor in spec.factors]
    named = tuple(dict(zip((factor.name for factor in factors), settings, strict=True)) for settings in rows)
    kind = _KINDS[spec.design.type]
    return build(factors, kind(rows=named, replications=replications, order=Order.STANDARD, seed=spec.design.seed))


def _digest(spec: ExperimentSpec) -> str:
    content = {
        "type": spec.design.type,
        "factors": [factor.model_dump(mode="json") for factor in spec.factors],
        "search": spec.design.search.model_dump(mode="json") if spec.design.search else None,
        "seed": spec.design.seed,
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
