"""What the results of an experiment say: whole, for a ConfigMap of its own, and in short, for its status."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coxswain.core.analysis import document
from coxswain.core.api.experiment import ExperimentSpec
from coxswain.core.api.status import Effect, ExperimentStatus, ResponseFit
from coxswain.core.observations import Observation
from coxswain.core.results import Result, analyze_experiment
from coxswain.core.search import Course, search_document

PLAIN_KEY, COMPRESSED_KEY = "results.json", "results.json.gz"
_LONGEST_PLAIN = 256 * 1024
_EFFECTS_PER_RESPONSE = 8
_MOST_EFFECTS = 64


@dataclass(frozen=True)
class Findings:
    """The results as one document, and the part of it that the status shows."""

    text: str
    effects: tuple[Effect, ...]
    fits: tuple[ResponseFit, ...]
    largest: str | None

    @property
    def content(self) -> dict[str, bytes]:
        """The document as it is stored: as it is, or compressed when it is long."""
        encoded = self.text.encode()
        if len(encoded) <= _LONGEST_PLAIN:
            return {PLAIN_KEY: encoded}
        return {COMPRESSED_KEY: gzip.compress(encoded, mtime=0)}

    def on(self, status: ExperimentStatus) -> ExperimentStatus:
        """The status with them."""
        columns = status.columns.model_copy(update={"largest_effect": self.largest}) if status.columns else None
        return status.model_copy(update={"effects": self.effects, "fits": self.fits, "columns": columns})


def find(spec: ExperimentSpec, observations: Sequence[Observation], course: Course | None = None) -> Findings:
    """Analyse an experiment, which may have been a search."""
    results = analyze_experiment(spec, observations)
    whole = {
        "observations": len(observations),
        "succeeded": sum(each.succeeded for each in observations),
        "responses": [_whole(result) for result in results],
    }
    if course is not None:
        whole["search"] = search_document(course)
    effects = [_effects(result) for result in results]
    return Findings(
        text=json.dumps(whole, allow_nan=False, ensure_ascii=False),
        effects=tuple(effect for each in effects for effect in each)[:_MOST_EFFECTS],
        fits=tuple(_fit(result) for result in results),
        largest=_largest(effects[0]) if effects else None,
    )


def _whole(result: Result) -> dict[str, Any]:
    found = document(result.analysis) if result.analysis else {"response": result.response}
    return found | {"notes": [*found.get("notes", []), *result.notes]}


def _effects(result: Result) -> list[Effect]:
    """The terms that explain most of a response, the largest first."""
    if result.analysis is None:
        return []
    found = document(result.analysis)
    sizes = {each["term"]: each.get("effect") for each in found["coefficients"]}
    rows = [row for row in found["anova"] if row["term"] in set(found["terms"]) and row["percent"] is not None]
    rows.sort(key=lambda row: -row["percent"])
    return [
        Effect(
            response=result.response,
            term=row["term"],
            effect=sizes.get(row["term"]),
            percent=row["percent"],
            p=row["p"],
        )
        for row in rows[:_EFFECTS_PER_RESPONSE]
    ]


def _fit(result: Result) -> ResponseFit:
    if result.analysis is None:
        return ResponseFit(response=result.response)
    found = document(result.analysis)
    return ResponseFit(response=result.response, r2=found["r2"], r2_predicted=found["r2_predicted"])


def _largest(effects: Sequence[Effect]) -> str | None:
    if not effects:
        return None
    return f"{effects[0].term} ({effects[0].percent:.0f}% of {effects[0].response})"[:128]
