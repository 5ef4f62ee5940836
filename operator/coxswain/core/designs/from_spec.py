"""The design that an experiment's spec asks for.

The API has one set of options for all types, because a schema wants that; here each type gets its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from coxswain.core.api.design import SEARCHES, FactorSpec, Setting
from coxswain.core.api.design import DesignOptions as ApiOptions
from coxswain.core.api.design import Row as ApiRow
from coxswain.core.api.experiment import ExperimentSpec
from coxswain.core.api.fields import Kind, kind_of
from coxswain.core.designs.base import DesignOptions, Order
from coxswain.core.designs.build import build
from coxswain.core.designs.design import Design
from coxswain.core.designs.factorial import FractionalFactorial, FullFactorial
from coxswain.core.designs.given import Rows
from coxswain.core.designs.optimal import DOptimal, Model
from coxswain.core.designs.response_surface import Alpha, BoxBehnken, CentralComposite
from coxswain.core.designs.screening import DefinitiveScreening, PlackettBurman
from coxswain.core.designs.space_filling import LatinHypercube
from coxswain.core.errors import InputError
from coxswain.core.factors import Level


def design_of(spec: ExperimentSpec) -> Design:
    """The design of an experiment.

    Raises:
        InputError: if the spec asks for a search, whose settings follow from results, or for what cannot be built.
    """
    design = build([factor.factor() for factor in spec.factors], _options(spec.design))
    for factor in spec.factors:
        _require_positive(factor, design)
    return design


def squared_factors(spec: ExperimentSpec) -> tuple[str, ...]:
    """The factors whose squares the design is made to estimate; none in a search, which only looks for the best."""
    if spec.design.type in SEARCHES:
        return ()
    factors = [factor.factor() for factor in spec.factors]
    return tuple(factors[index].name for index in _options(spec.design).squared(factors))


# What each type takes of its own; what all take is set afterwards.
_KINDS: Mapping[str, Callable[[ApiOptions], DesignOptions]] = {
    "FullFactorial": lambda _: FullFactorial(),
    "FractionalFactorial": lambda spec: FractionalFactorial(
        generators=spec.generators or (), resolution=spec.resolution, fold_over=spec.fold_over
    ),
    "PlackettBurman": lambda spec: PlackettBurman(size=spec.runs, fold_over=spec.fold_over),
    "DefinitiveScreening": lambda _: DefinitiveScreening(),
    "CentralComposite": lambda spec: CentralComposite(
        alpha=Alpha(spec.alpha or Alpha.FACE), inscribed=bool(spec.inscribed)
    ),
    "BoxBehnken": lambda _: BoxBehnken(),
    "LatinHypercube": lambda spec: LatinHypercube(size=spec.runs or 0),
    "DOptimal": lambda spec: DOptimal(
        size=spec.runs or 0,
        model=Model(spec.model or Model.INTERACTIONS),
        exclude=_mappings(spec.exclude),
        augment=_mappings(spec.rows),
    ),
    "Rows": lambda spec: Rows(rows=_mappings(spec.rows)),
}


def _options(spec: ApiOptions) -> DesignOptions:
    if spec.type not in _KINDS:
        raise InputError(f"design.type {spec.type} is a search, not a design: its settings follow from results.")
    return replace(
        _KINDS[spec.type](spec),
        replications=spec.replications,
        order=Order(spec.order),
        seed=spec.seed,
        center_points=spec.center_points,
        blocks=spec.blocks,
    )


def _mappings(rows: tuple[ApiRow, ...] | None) -> tuple[dict[str, Level], ...]:
    return tuple({setting.name: _value(setting) for setting in row.settings} for row in rows or ())


def _value(setting: Setting) -> Level:
    # The API sees to it that exactly one of the two is given.
    return float(setting.level or 0) if setting.category is None else setting.category


def _require_positive(factor: FactorSpec, design: Design) -> None:
    """Refuse a row whose value the job's field cannot have, as axial points beyond the levels may ask for."""
    if factor.levels is None or kind_of(factor.field) is Kind.TEXT:
        return
    lowest = min(float(row.settings[factor.name]) for row in design.rows)
    if lowest < 0 or (lowest == 0 and 0 not in factor.levels):
        raise InputError(
            f"factor {factor.name}: the design asks for {lowest:g}, but {factor.field} must be above 0; "
            "raise its lowest level, use coding Log, or alpha Face."
        )
