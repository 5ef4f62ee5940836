"""What the results of an experiment say: whole, for a ConfigMap of its own, and in short, for its status."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coxswain.core.analysis import document
from coxswain.core.api.experiment import ExperimentSpec
from coxswain.core.api.status import Effect, ExperimentStatus, Promises, QueueSummary, ResponseFit
from coxswain.core.experiments.queue import queue_document, queue_of, queue_summary
from coxswain.core.forecasts.scores import Made, scores_of
from coxswain.core.ledger.entry import Entry
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
    queue: QueueSummary | None
    promises: Promises | None

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
        update = {"effects": self.effects, "fits": self.fits, "columns": columns}
        return status.model_copy(update=update | {"queue": self.queue, "promises": self.promises})


def find(spec: ExperimentSpec, entries: Sequence[Entry], course: Course | None = None) -> Findings:
    """Analyse an experiment, which may have been a search, by what the ledger has of it."""
    counted = [entry for entry in entries if entry.excluded is None]
    observations = [entry.observation for entry in counted]
    results = analyze_experiment(spec, observations)
    queue = queue_of(spec, counted)
    whole = {
        "observations": len(observations),
        "succeeded": sum(each.succeeded for each in observations),
        "responses": [_whole(result) for result in results],
    }
    if course is not None:
        whole["search"] = search_document(course)
    if queue is not None:
        whole["queue"] = queue_document(queue)
    effects = [_effects(result) for result in results]
    return Findings(
        text=json.dumps(whole, allow_nan=False, ensure_ascii=False),
        effects=tuple(effect for each in effects for effect in each)[:_MOST_EFFECTS],
        fits=tuple(_fit(result) for result in results),
        largest=_largest(effects[0]) if effects else None,
        queue=queue_summary(queue) if queue else None,
        promises=_promises(counted),
    )


def _promises(entries: Sequence[Entry]) -> Promises | None:
    """How many deadlines were promised when runs were created, and how many of those were kept."""
    found = scores_of(entries, Made.CREATION)
    return Promises(promised=found.promised, kept=found.kept) if found.promised else None


def _whole(result: Result) -> dict[str, Any]:
    found = document(result.analysis) if result.analysis else {"response": result.response}
    return found | {"notes": [*found.get("notes", []), *result.notes]}


def _effects(result: Result) -> list[Effect]:
    """The terms that explain most of a response, the largest first."""
    if result.analysis is None:
        return []
    found = document(result.analysis)
    sizes = {each["term"]: each.get("effect") for each in found["coefficients"]}
    effects = {term.name for term in result.analysis.fit.matrix.terms if term != result.analysis.fit.block}
    rows = [row for row in found["anova"] if row["term"] in effects and row["percent"] is not None]
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
