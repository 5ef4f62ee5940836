"""From factors and options to a design: the one entry point.

    build(factors, FractionalFactorial(generators=("D=AB", "E=AC"), replications=3, seed=42))

The kind of design drafts its rows; centre points are added, then blocks are assigned. Replicates and the order of the
runs follow from the options.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from coxswain.core.designs.base import DesignOptions, Draft, Settings
from coxswain.core.designs.blocking import Blocking, choose_blocking
from coxswain.core.designs.design import Design, Row
from coxswain.core.designs.placing import MOVED, center_of, coded_value
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor


def build(factors: Sequence[Factor], options: DesignOptions) -> Design:
    """The design of these factors; pure: the same arguments give the same design, down to the order of its runs.

    Raises:
        InputError: in one sentence, if the factors do not fit the kind of design.
    """
    _check_names(factors)
    if len(factors) < options.least_factors:
        raise InputError(f"{options.kind} needs at least {options.least_factors} factors, not {len(factors)}.")
    draft = options.draft(factors)
    centers = _centers(factors, draft, options.center_points or draft.center_points)
    options.require_room(len(draft.rows) + len(centers))
    blocking = _blocking(draft, options)
    rows = [
        _row(index, settings, factors, is_center=index >= len(draft.rows), options=options, blocking=blocking)
        for index, settings in enumerate((*draft.rows, *centers))
    ]
    return Design(
        factors=tuple(factors),
        options=options,
        rows=tuple(rows),
        fraction=draft.fraction,
        confounded=blocking.confounded if blocking else (),
        notes=(*draft.notes, *_rounded_centers(factors, draft, centers)),
        earlier=draft.earlier,
        d_efficiency=draft.d_efficiency,
    )


def _check_names(factors: Sequence[Factor]) -> None:
    if not factors:
        raise InputError("a design needs at least one factor.")
    name, count = Counter(factor.name for factor in factors).most_common(1)[0]
    if count > 1:
        raise InputError(f"factor {name} is named twice; name it once.")


def _centers(factors: Sequence[Factor], draft: Draft, count: int) -> tuple[Settings, ...]:
    """Rows in the middle of all numeric factors, `count` for each combination of categories that the rows use."""
    if not count:
        return ()
    if not any(factor.is_numeric for factor in factors):
        raise InputError("centerPoints: there is no numeric factor, so there is no centre; set it to 0.")
    places = [
        (center_of(factor),)
        if factor.is_numeric
        else tuple(value for value in factor.values if any(row[index] == value for row in draft.rows))
        for index, factor in enumerate(factors)
    ]
    return tuple(itertools.product(*places)) * count


def _rounded_centers(factors: Sequence[Factor], draft: Draft, centers: Sequence[Settings]) -> Iterator[str]:
    """A note for each factor whose centre is not quite in the middle, unless other rows have it, and so a note."""
    for index, factor in enumerate(factors):
        if centers and factor.is_numeric and centers[0][index] not in {row[index] for row in draft.rows}:
            center = float(centers[0][index])
            if abs(factor.code(center)) > MOVED:
                yield f"{factor.name} takes whole numbers; its centre is rounded to {center:g}."


def _blocking(draft: Draft, options: DesignOptions) -> Blocking | None:
    """How rows are split into blocks; None where blocks hold whole replicates."""
    if options.replications % options.blocks == 0:
        return None
    if draft.fraction is None:
        raise InputError(
            f"blocks is {options.blocks}; {options.kind} can only be blocked by its replicates here, "
            f"so give replications that are a multiple of {options.blocks}."
        )
    return choose_blocking(draft.fraction, options.blocks)


def _row(
    index: int,
    settings: Settings,
    factors: Sequence[Factor],
    *,
    is_center: bool,
    options: DesignOptions,
    blocking: Blocking | None,
) -> Row:
    coded = {factor.name: coded_value(factor, value) for factor, value in zip(factors, settings, strict=True)}
    block = None
    if blocking:
        # Centre points are dealt out evenly: each block gets its share of them.
        signs = [place for place in coded.values() if place is not None]
        block = index % options.blocks if is_center else blocking.block_of(signs)
    return Row(
        index=index,
        settings=dict(zip((factor.name for factor in factors), settings, strict=True)),
        coded=coded,
        is_center=is_center,
        block=block,
    )
