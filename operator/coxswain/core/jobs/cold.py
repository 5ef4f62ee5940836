"""Cold starts: what a job does while too few runs like it have finished to forecast it, as its `coldStart` says.

    Run    it runs as it was asked to, without a forecast
    Hold   it waits until others have taught enough
    Probe  it waits for short runs of its own, one after the other, as many as are missing at most

A probe is a TrainingJob that the job owns. Time is learned by the epoch, so two epochs will do: the first is not like
the others. Its other settings are one that the job allows, where it teaches most: if the settings of runs so far are
the rows of X, coded, the one whose x'(X'X)⁻¹x is largest raises the determinant of X'X most (D-optimality). When the
probes are used up the job runs, whatever came out of them; a probe is never worth waiting for ever.
"""

import hashlib
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coxswain.core.api.job import JobSpec, Steered, Steering
from coxswain.core.api.objects import owner_reference
from coxswain.core.api.parsing import API_VERSION
from coxswain.core.factors import Level
from coxswain.core.families import fields_of
from coxswain.core.jobs.actions import Probe
from coxswain.core.jobs.parameters import effective
from coxswain.core.jobs.view import Job, Outlook
from coxswain.core.manifests.attempt import KUEUE_LABEL
from coxswain.core.models.duration import FEWEST_RUNS

PROBE_EPOCHS = 2
_EPOCHS = "epochs"
# Added to the information, so that the first rows, which cannot tell all effects apart, can be compared.
_RIDGE = 1e-3
_LONGEST_NAME = 50


def waits(job: Job, outlook: Outlook | None, probes: Sequence[Job] = ()) -> bool:
    """Whether a job does not start because too little is known; `probes` are those of its family."""
    steering = job.spec.steering
    if steering.cold_start == "Run" or job.status.attempts:
        return False
    if outlook is None:
        return True  # what its family has taught will be known in a moment
    if not outlook.missing:
        return False
    return steering.cold_start == "Hold" or not _used_up(job, probes)


def told(job: Job, outlook: Outlook | None, probes: Sequence[Job]) -> str:
    """What a job that waits so is told."""
    if outlook is None:
        return "what runs like it have taught is being learned."
    missing = f"{outlook.missing} more finished runs like it are needed before it can be forecast"
    if job.spec.steering.cold_start == "Hold":
        return f"coldStart is Hold: {missing}."
    live = [probe.name for probe in probes if not probe.status.finished]
    return f"coldStart is Probe: {missing}; short runs are made first{f', now {live[0]}' if live else ''}."


def next_probe(job: Job, outlook: Outlook | None, probes: Sequence[Job]) -> Probe | None:
    """The probe to create now, if any: one at a time, and no more of a family than runs are missing."""
    if outlook is None or job.spec.steering.cold_start != "Probe" or not outlook.missing or _used_up(job, probes):
        return None
    if any(not probe.status.finished for probe in probes):
        return None
    number = 1 + len(_own(job, probes))
    return Probe(_name(job, number), _manifest(job, number, most_telling(job.spec, outlook.observed)))


def most_telling(spec: JobSpec, observed: Sequence[Mapping[str, Level]]) -> Steered | None:
    """The setting within `adjust`, but for the epochs, at which a run adds most to what some runs have told."""
    choices = _choices(spec)
    fields = [fields_of(effective(spec.model_copy(update={"steered": choice}))) for choice in choices]
    varied = [name for name in fields[0] if len({each[name] for each in fields}) > 1]
    levels = {name: [float(each[name]) for each in fields] for name in varied}
    rows = [_row(each, levels) for each in observed if all(name in each for name in varied)]
    information = _RIDGE * np.eye(1 + len(varied)) + sum(np.outer(row, row) for row in rows)
    gains = [float(row @ np.linalg.solve(information, row)) for row in (_row(each, levels) for each in fields)]
    # The first of equals, whatever the rounding: what was asked for comes before all others.
    return choices[max(range(len(choices)), key=lambda place: (round(gains[place], 6), -place))]


def _choices(spec: JobSpec) -> list[Steered | None]:
    """What was asked for, and the corners of what is allowed: what tells most about effects lies at the ends."""
    adjust = [each for each in spec.adjust or () if each.field != _EPOCHS]
    ends = [each.values or (each.min or 1.0, each.max or 1.0) for each in adjust]
    found: list[Steered | None] = [None]
    for values in itertools.product(*((min(each), max(each)) for each in ends)) if adjust else ():
        steered = Steered.model_validate(
            {each.field: value for each, value in zip(adjust, values, strict=True)}, strict=False
        )
        changed = effective(spec.model_copy(update={"steered": steered}))
        if changed.resources.workers * changed.resources.processes_per_worker <= changed.parameters.batch_size:
            found.append(steered)
    return found


def _row(fields: Mapping[str, Level], levels: Mapping[str, Sequence[float]]) -> np.ndarray:
    """A setting as a row of the model matrix: 1, and each field by its logarithm from -1 to 1."""
    coded = [1.0]
    for name, values in levels.items():
        low, high = math.log(min(values)), math.log(max(values))
        coded.append((2 * math.log(float(fields[name])) - low - high) / (high - low))
    return np.array(coded)


def _own(job: Job, probes: Sequence[Job]) -> list[Job]:
    return [probe for probe in probes if probe.probe_of == job.uid]


def _used_up(job: Job, probes: Sequence[Job]) -> bool:
    own = _own(job, probes)
    return len(own) >= FEWEST_RUNS and all(probe.status.finished for probe in own)


def _name(job: Job, number: int) -> str:
    stem = job.name
    if len(stem) > _LONGEST_NAME:
        stem = f"{stem[:40].rstrip('.-')}-{hashlib.sha256(job.uid.encode()).hexdigest()[:8]}"
    return f"{stem}-probe-{number}"


def _manifest(job: Job, number: int, steered: Steered | None) -> dict[str, Any]:
    spec = effective(job.spec.model_copy(update={"steered": steered}))
    # It is not steered, nobody waits for it, and what it trains is not the job's result.
    spec = spec.model_copy(
        update={
            "parameters": spec.parameters.model_copy(update={_EPOCHS: min(spec.parameters.epochs, PROBE_EPOCHS)}),
            "steering": Steering(mode="Disabled"),
            **dict.fromkeys(("deadline", "adjust", "steered", "output")),
        }
    )
    kueue = {KUEUE_LABEL: job.labels[KUEUE_LABEL]} if job.in_kueue else {}
    return {
        "apiVersion": API_VERSION,
        "kind": "TrainingJob",
        "metadata": {
            "name": _name(job, number),
            "namespace": job.namespace,
            "labels": kueue,
            "ownerReferences": [owner_reference("TrainingJob", job.name, job.uid)],
        },
        "spec": spec.model_dump(mode="json", by_alias=True, exclude_none=True),
    }
