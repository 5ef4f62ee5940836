"""What a finished experiment says about each of its responses, from the observations alone.

Runs that failed are left out, and said. The model has the interactions asked for, the squares that the design is made
to estimate, and the blocks that the runs were made in. Where the runs that are left cannot carry all of it, the highest
interactions go first and squares last, and that is said too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import pandas as pd

from coxswain.core.analysis import Analysis, analyze, interactions
from coxswain.core.analysis.terms import power_of
from coxswain.core.analysis.verdict import plural
from coxswain.core.api.experiment import ExperimentSpec, Response
from coxswain.core.api.fields import CONCURRENCY
from coxswain.core.dataset import Dataset, make_dataset
from coxswain.core.designs.from_spec import squared_factors
from coxswain.core.errors import InputError
from coxswain.core.expressions import parse_expression
from coxswain.core.observations import BLOCK, RUN, Observation


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
    # While only the first block has results there is no difference between blocks to account for.
    blocks = set(table.loc[table[response.name].notna(), BLOCK]) if spec.design.blocks > 1 else set()
    return make_dataset(
        table,
        response.name,
        [factor.name for factor in spec.factors],
        block=BLOCK if len(blocks) > 1 else None,
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
    squares = tuple(power_of(name, 2) for name in squared_factors(spec))
    problem = ""
    for squared, order in product((squares, ()) if squares else ((),), range(asked, 0, -1)):
        try:
            found = analyze(data, (*interactions(data.factors, order), *squared), alpha=spec.analysis.alpha)
        except InputError as error:
            problem = _sentence(error)
        else:
            notes = (*_about_runs(observations), *_about_terms(order, asked, squares_lost=squared != squares))
            return Result(response.name, data, found, notes)
    return Result(response.name, data, None, (problem,))


def _about_runs(observations: Sequence[Observation]) -> Iterator[str]:
    lost = len({each.run for each in observations if not each.succeeded})
    if lost:
        yield f"{plural(lost, 'run')} did not succeed and {'is' if lost == 1 else 'are'} left out."


def _about_terms(order: int, asked: int, *, squares_lost: bool) -> Iterator[str]:
    if order < asked:
        yield f"The runs are too few for interactions of more than {plural(order, 'factor')}: those are left out."
    if squares_lost:
        yield "The runs are too few for the squares that the design is made for: those are left out."


def _sentence(error: InputError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]
