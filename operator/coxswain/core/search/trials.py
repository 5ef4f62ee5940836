"""What a search has tried: rows, and what came out of their runs.

A row counts once all its runs are done. One that failed is enough to know that the setting does not work: no further
replicate of it is made, and it is never the best. The same holds for a setting that breaks the limit, and for one
whose response has no value, as the cost of a run that learned nothing.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from coxswain.core.api.design import Search
from coxswain.core.api.experiment import ExperimentSpec
from coxswain.core.api.fields import CONCURRENCY
from coxswain.core.designs.base import Settings
from coxswain.core.errors import InputError
from coxswain.core.expressions import parse_expression
from coxswain.core.factors import Level
from coxswain.core.observations import Observation


@dataclass(frozen=True)
class Begun:
    """A job of a run that was begun; without an observation it is under way.

    What was excluded is done, but nothing is learnt from it.
    """

    row: int
    replicate: int
    settings: Mapping[str, Level]
    observation: Observation | None = None
    excluded: bool = False


@dataclass(frozen=True)
class Trial:
    """A row that was begun: of each run that succeeded the response, that of the limit, and the seconds it took."""

    row: int
    settings: Settings
    begun: frozenset[int]
    """The replicates that were begun."""
    done: bool
    failed: int = 0
    values: tuple[float, ...] = ()
    bounded: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    refused: str | None = None
    """Why no job can have these settings, where none can; nothing was begun then."""

    @property
    def has_values(self) -> bool:
        """Whether its responses are known."""
        return not self.failed and bool(self.values) and all(map(math.isfinite, (*self.values, *self.bounded)))

    @property
    def mean(self) -> float:
        """The mean response of its runs."""
        return fmean(self.values)

    @property
    def error(self) -> float | None:
        """The standard error of the mean, where there are replicates to tell it."""
        return stdev(self.values) / math.sqrt(len(self.values)) if len(self.values) > 1 else None

    def problem(self, search: Search) -> str | None:
        """Why this setting is out of the question, if it is."""
        if self.refused is not None:
            return self.refused
        if self.failed:
            return f"{self.failed} of {len(self.begun)} runs failed"
        if not self.has_values:
            return f"{search.minimize} has no value"
        limit = search.limit
        if limit is None:
            return None
        bounded = fmean(self.bounded)
        if bounded <= limit.at_most:
            return None
        return f"{limit.response} is {bounded:.4g}, above its limit of {limit.at_most:g}"


def trials_of(spec: ExperimentSpec, begun: Iterable[Begun]) -> dict[int, Trial]:
    """The rows that were begun, by their number; what is of other factors than these is left out."""
    names = [factor.name for factor in spec.factors]
    rows: dict[int, list[Begun]] = defaultdict(list)
    for each in begun:
        if set(each.settings) == set(names):
            rows[each.row].append(each)
    read = _reader(spec)
    return {row: _trial(spec, row, rows[row], read) for row in sorted(rows)}


_Read = Callable[[Observation], tuple[float, float, float]]


def _trial(spec: ExperimentSpec, row: int, begun: Sequence[Begun], read: _Read) -> Trial:
    settings = tuple(begun[0].settings[factor.name] for factor in spec.factors)
    concurrency = next((begun[0].settings[f.name] for f in spec.factors if f.field == CONCURRENCY), 1)
    runs: dict[int, list[Begun]] = defaultdict(list)
    for each in begun:
        runs[each.replicate].append(each)
    over = [
        jobs
        for _, jobs in sorted(runs.items())
        if len(jobs) == round(float(concurrency)) and all(job.observation for job in jobs)
    ]
    counted = [
        [job.observation for job in jobs if job.observation] for jobs in over if not any(job.excluded for job in jobs)
    ]
    failed = sum(not all(job.succeeded for job in jobs) for jobs in counted)
    enough = len(over) >= spec.design.replications
    # Jobs that ran together are one run: their mean is its response.
    means = [tuple(map(fmean, zip(*map(read, jobs), strict=True))) for jobs in counted] if not failed else []
    values, bounded, seconds = zip(*means, strict=True) if means else ((), (), ())
    return Trial(
        row=row,
        settings=settings,
        begun=frozenset(runs),
        done=len(over) == len(runs) and (enough or failed > 0),
        failed=failed,
        values=values,
        bounded=bounded,
        seconds=seconds,
    )


def _reader(spec: ExperimentSpec) -> _Read:
    """How the response, that of the limit, and the duration are read from an observation."""
    search = search_of(spec)
    minimized = _response(spec, search.minimize)
    bounded = _response(spec, search.limit.response) if search.limit else minimized

    def read(observation: Observation) -> tuple[float, float, float]:
        return minimized(observation), bounded(observation), observation.responses.get("duration", math.nan)

    return read


def _response(spec: ExperimentSpec, name: str) -> Callable[[Observation], float]:
    listed = {response.name: response.expression for response in spec.analysis.responses}
    expression = listed[name]
    if expression is None:
        return lambda observation: observation.responses.get(name, math.nan)
    formula = parse_expression(expression, spec.names_in_expressions)

    def compute(observation: Observation) -> float:
        known = {**observation.settings, **observation.responses}
        return formula({each: float(known.get(each, math.nan)) for each in formula.names})

    return compute


def search_of(spec: ExperimentSpec) -> Search:
    """How an experiment searches.

    Raises:
        InputError: if it does not, or asks for something of a design.
    """
    search = spec.design.search
    if search is None:
        raise InputError(f"design.type {spec.design.type} is a design, not a search.")
    if spec.arrivals is not None:
        raise InputError("arrivals: a search makes each run by what the ones before it gave; leave arrivals out.")
    if spec.design.blocks > 1 or spec.design.center_points:
        raise InputError("a search has no blocks and no centerPoints; leave them out.")
    if search.max_runs < spec.design.replications:
        raise InputError(
            f"search.maxRuns is {search.max_runs}, fewer than the {spec.design.replications} replications of one row; "
            "raise it."
        )
    return search
