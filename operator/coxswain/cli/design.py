"""`cox design`: the runs an experiment would make, what they can tell apart, and how small an effect they can find.

The names in the JSON document are explained in docs/designs.md. Effects are in units of the noise, the standard
deviation between runs of the same settings, unless --noise gives it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coxswain.cli.data import Output
from coxswain.cli.manifest import read_manifest
from coxswain.cli.output import Format, Table, emit

if TYPE_CHECKING:
    from coxswain.core.api.experiment import AnalysisOptions
    from coxswain.core.designs import Design, Power, TermPower, Word
    from coxswain.core.factors import Level

STUDIED_REPLICATIONS = 5
STUDIED_EFFECTS = (1, 2)
MOST_WORDS = 127

NO_ERROR = "The runs leave no degrees of freedom for the error: add replications or centre points to test effects."

Aliases = Sequence[Sequence["Word"]] | None


def design(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TrainingExperiment in YAML.")],
    *,
    name: Annotated[str | None, typer.Option(help="Which experiment, if the file has several.")] = None,
    aliases: Annotated[
        int, typer.Option(metavar="ORDER", min=1, help="Tell aliases of effects of up to so many factors.")
    ] = 2,
    noise: Annotated[
        float, typer.Option(metavar="SD", help="The standard deviation between runs of the same settings.")
    ] = 1.0,
    output: Output = Format.TABLE,
) -> None:
    """The runs of an experiment in their order, with resolution, aliases and power; nothing is run."""
    from coxswain.core.api import parse_experiment
    from coxswain.core.designs.from_spec import design_of

    spec = parse_experiment(read_manifest(file, "TrainingExperiment", name=name)).spec
    made = design_of(spec)
    notes = [*made.notes, *spec.notes]
    groups = made.fraction.aliases(aliases) if made.fraction else None
    power = _power(made, spec.analysis, noise)
    study = [(changed, _power(changed, spec.analysis, noise)) for changed in _other_replications(made)]
    tables = [
        _runs(made, output),
        _summary(made, notes),
        *_alias_table(groups, aliases),
        _power_table(power),
        _study_table(study),
    ]
    emit(output, tables, {**_document(made, aliases, groups, power, study), "notes": notes})


def _power(made: "Design", analysis: "AnalysisOptions", noise: float) -> "Power":
    from coxswain.core.designs import detectable

    return detectable(made, noise=noise, interactions=analysis.interactions, alpha=analysis.alpha)


def _other_replications(made: "Design") -> "list[Design]":
    """The design with few and more replications, as far as there is room for them."""
    from coxswain.core.api.design import MOST_RUNS

    # Where blocks hold whole replicates, replications come in multiples of the blocks.
    step = 1 if made.confounded else made.options.blocks
    counts = range(step, step * STUDIED_REPLICATIONS + 1, step)
    changed = [replace(made, options=replace(made.options, replications=count)) for count in counts]
    return [each for each in changed if each.run_count <= MOST_RUNS]


def _runs(made: "Design", output: Format) -> Table:
    """All columns in CSV, whose names are stable; people are spared those that say nothing."""
    names = [factor.name for factor in made.factors]
    columns: dict[str, list[Any]] = {
        "position": [run.position for run in made.runs],
        "row": [run.row for run in made.runs],
        "replicate": [run.replicate for run in made.runs],
        "block": [run.block for run in made.runs],
        "center": ["yes" if made.rows[run.row].is_center else "no" for run in made.runs],
        **{name: [_plain(made.rows[run.row].settings[name]) for run in made.runs] for name in names},
    }
    shown = [name for name, cells in columns.items() if output is Format.CSV or name in names or len(set(cells)) > 1]
    rows = list(zip(*(columns[name] for name in shown), strict=True))
    return Table(f"{len(rows)} runs in their order", shown, rows)


def _plain(value: "Level") -> "Level | int":
    """A whole number without its .0, as people write it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _summary(made: "Design", notes: "Sequence[str]") -> Table:
    facts: dict[str, Any] = {
        "type": made.options.kind,
        "rows": len(made.rows),
        "replications": made.options.replications,
        "runs": made.run_count,
        "letters": ", ".join(f"{letter} {name}" for letter, name in made.letters.items()),
        "resolution": made.resolution,
        "generators": ", ".join(made.fraction.generators) if made.fraction else None,
        "defining relation": " = ".join(["I", *relation]) if (relation := _relation(made)) else None,
        "confounded with blocks": ", ".join(map(str, made.confounded)),
        "D-efficiency": made.d_efficiency,
        "digest": made.digest,
    }
    known = [(name, fact) for name, fact in facts.items() if fact not in (None, "")]
    return Table("Design", ["", "value"], known, notes)


def _relation(made: "Design") -> list[str] | None:
    """The words of the defining relation, unless they are more than anybody would read."""
    if made.fraction is None or sum(made.fraction.word_lengths.values()) > MOST_WORDS:
        return None
    return [str(word) for word in made.fraction.defining_relation]


def _alias_table(groups: Aliases, order: int) -> list[Table]:
    if groups is None:
        return []
    aliased = [(str(first), ", ".join(map(str, others))) for first, *others in groups if others]
    clear = [str(first) for first, *others in groups if not others]
    notes = [f"Clear of all others up to order {order}: {', '.join(clear)}."] if clear else []
    return [Table(f"Aliases up to order {order}", ["effect", "cannot be told from"], aliased, notes)]


def _power_table(power: "Power") -> Table:
    alike: dict[float, list[TermPower]] = {}
    for term in power.terms if power.residual_df else ():
        alike.setdefault(round(term.standard_error, 9), []).append(term)
    rows = [
        (
            ", ".join(term.term for term in terms),
            terms[0].smallest_effect,
            *(power.chance(terms[0], multiple * power.noise) for multiple in STUDIED_EFFECTS),
        )
        for terms in alike.values()
    ]
    model = "main effects only" if power.interactions == 1 else f"terms of up to {power.interactions} factors"
    found = f"Found with a chance of {power.power:.0%} at alpha {power.alpha:g}, in a model with {model}"
    notes = [f"{found}, which leaves {power.residual_df} degrees of freedom."]
    if power.inseparable:
        notes.append(f"Not told from these or from blocks: {', '.join(power.inseparable)}.")
    return Table(
        f"Smallest effects {_unit(power)}",
        ["term", "smallest effect", *(f"chance of {multiple} x noise" for multiple in STUDIED_EFFECTS)],
        rows,
        notes if power.residual_df else [NO_ERROR],
    )


def _unit(power: "Power") -> str:
    return "in units of the noise" if power.noise == 1 else f"at noise {power.noise:g}"


def _study_table(study: "Sequence[tuple[Design, Power]]") -> Table:
    columns = ["replications", "runs", "residual df", "smallest effect of a factor"]
    rows = [
        (made.options.replications, made.run_count, power.residual_df, _found_of_every_factor(made, power))
        for made, power in study
    ]
    return Table("What replications buy", columns, rows)


def _found_of_every_factor(made: "Design", power: "Power") -> float | None:
    """The smallest effect that is found of whichever factor has it; None if some factor's cannot be found at all."""
    effects = [term.smallest_effect for term in power.terms if term.is_main]
    return max(effects) if power.residual_df and len(effects) == len(made.factors) else None


def _document(
    made: "Design", order: int, groups: Aliases, power: "Power", study: "Sequence[tuple[Design, Power]]"
) -> dict[str, Any]:
    fraction = made.fraction
    return {
        "type": made.options.kind,
        "digest": made.digest,
        "factors": [factor.name for factor in made.factors],
        "rows": [
            {
                "row": row.index,
                "settings": row.settings,
                "coded": row.coded,
                "center": row.is_center,
                "block": row.block,
            }
            for row in made.rows
        ],
        "runs": [
            {"position": run.position, "row": run.row, "replicate": run.replicate, "block": run.block}
            for run in made.runs
        ],
        "letters": made.letters,
        "resolution": made.resolution,
        "generators": list(fraction.generators) if fraction else None,
        "defining_relation": _relation(made),
        "word_lengths": fraction.word_lengths if fraction else None,
        "aliases": {
            "order": order,
            "groups": None if groups is None else [[str(word) for word in group] for group in groups],
        },
        "confounded_with_blocks": [str(word) for word in made.confounded],
        "d_efficiency": made.d_efficiency,
        "power": {
            "noise": power.noise,
            "alpha": power.alpha,
            "power": power.power,
            "interactions": power.interactions,
            "residual_df": power.residual_df,
            "terms": [
                {
                    "term": term.term,
                    "standard_error": term.standard_error,
                    "smallest_effect": term.smallest_effect,
                }
                for term in power.terms
            ],
            "inseparable": list(power.inseparable),
            "replications": [
                {
                    "replications": changed.options.replications,
                    "runs": changed.run_count,
                    "residual_df": other.residual_df,
                    "smallest_effect": _found_of_every_factor(changed, other),
                }
                for changed, other in study
            ],
        },
    }
