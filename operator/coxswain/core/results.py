"""What a finished experiment says about each of its responses, from the observations alone.

Runs that failed are left out, and said. Where the runs that are left cannot carry interactions of the order asked for,
the highest order that they can carry is analysed, and that is said too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from coxswain.core.analysis import Analysis, analyze, interactions
from coxswain.core.analysis.verdict import plural
from coxswain.core.api.experiment import ExperimentSpec, Response
from coxswain.core.api.fields import CONCURRENCY
from coxswain.core.dataset import Dataset, make_dataset
from coxswain.core.errors import InputError
from coxswain.core.expressions import parse_expression
from coxswain.core.observations import RUN, Observation


@dataclass(frozen=True, eq=False)
class Result:
    """The analysis of one response with what to know beside it, or the reason why there is none."""

    response: str
    data: Dataset | None
    analysis: Analysis | None
    notes: tuple[str, ...] = ()


def analyze_experiment(spec: ExperimentSpec, observations: Sequence[Observation]) -> tuple[Result, ...]:
    """Analyse every response that the experiment lists."""
    return tuple(_analyze(spec, response, observations) for response in spec.analysis.responses)


def measurements(spec: ExperimentSpec, response: Response, observations: Sequence[Observation]) -> Dataset:
    """The measurements of one response; jobs that ran together are one unit.

    Raises:
        InputError: if nothing can be learned from them.
    """
    finished = [each.to_row() for each in observations if each.succeeded]
    if not finished:
        raise InputError("no run has succeeded, so there is nothing to analyse.")
    table = pd.DataFrame(finished)
    if response.expression is not None:
        table[response.name] = parse_expression(response.expression, spec.names_in_expressions)(table)
    return make_dataset(
        table,
        response.name,
        [factor.name for factor in spec.factors],
        group=RUN if any(factor.field == CONCURRENCY for factor in spec.factors) else None,
        codings={factor.name: factor.coding for factor in spec.factors if factor.levels},
        drop_missing=True,
    )


def _analyze(spec: ExperimentSpec, response: Response, observations: Sequence[Observation]) -> Result:
    try:
        data = measurements(spec, response, observations)
    except InputError as error:
        return Result(response.name, None, None, (_sentence(error),))
    asked = min(spec.analysis.interactions, len(spec.factors))
    problem = ""
    for order in range(asked, 0, -1):
        try:
            found = analyze(data, interactions(data.factors, order), alpha=spec.analysis.alpha)
        except InputError as error:
            problem = _sentence(error)
        else:
            return Result(response.name, data, found, tuple(_notes(observations, order, asked)))
    return Result(response.name, data, None, (problem,))


def _notes(observations: Sequence[Observation], order: int, asked: int) -> Iterator[str]:
    lost = len({each.run for each in observations if not each.succeeded})
    if lost:
        yield f"{plural(lost, 'run')} did not succeed and {'is' if lost == 1 else 'are'} left out."
    if order < asked:
        yield f"The runs are too few for interactions of more than {plural(order, 'factor')}: those are left out."


def _sentence(error: InputError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]
