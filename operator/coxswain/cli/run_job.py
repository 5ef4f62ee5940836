"""A single job on this machine; with a deadline, for as many epochs as are sure to be done by then."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from coxswain.cli.output import Format, Table, emit
from coxswain.cli.progress import make_runs
from coxswain.core.errors import InputError
from coxswain.core.expand import single
from coxswain.core.observations import FAILED
from coxswain.local.active import seconds_left
from coxswain.local.folder import Folder, read_manifest, read_observations
from coxswain.local.plan import fractions, in_vain
from coxswain.local.runner import Options

TELLING = 0.01
"""A lower bound of an accuracy below this tells nothing."""

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coxswain.core.api import TrainingJob
    from coxswain.core.choice import Choice
    from coxswain.core.observations import Observation
    from coxswain.local.plan import Claims


def run_job(job: "TrainingJob", path: Path, claims: "Claims", learn_from: Path | None, output: Format) -> None:
    """Run the job, unless it is done, and print its result."""
    limit = seconds_left(job.spec.deadline, datetime.now(UTC)) if job.spec.deadline else None
    chosen, notes = None, [*in_vain(job.spec), *fractions([single(job)])]
    if learn_from is not None:
        if limit is None:
            raise InputError("--from chooses epochs by a deadline, and the job has none; give --deadline.")
        chosen = _choose(job, learn_from, limit)
        job = _with_epochs(job, chosen.epochs)
        notes += [_told(chosen, limit), *chosen.notes]
    elif job.spec.adjust:
        notes.append("The job runs as asked for: only --from can say what else would be done in time.")
    runs = [single(job)]
    options = Options(experiment="", parallelism=1, most_failures=0, claims=claims, fresh=False)
    with Folder(path) as folder:
        make_runs(runs, folder, options, notes)
        [observation] = folder.of(runs)
        folder.write_table([observation])
    tables = [_result(observation, limit)]
    document: dict[str, Any] = asdict(observation) | {"deadline_seconds": limit}
    if chosen is not None:
        tables.append(_comparison(chosen, observation))
        document["forecast"] = asdict(chosen)
    emit(output, tables, document)
    if observation.state == FAILED:
        raise typer.Exit(1)


def _choose(job: "TrainingJob", learn_from: Path, limit: float) -> "Choice":
    from coxswain.core.api import parse_experiment
    from coxswain.core.choice import candidates, choose, learn, settings_of
    from coxswain.core.observations import latest

    experiment = parse_experiment(read_manifest(learn_from)).spec
    allowed = candidates(job.spec.adjust)
    settings = settings_of(job.spec, experiment)
    lessons = learn(experiment, latest(read_observations(learn_from)))
    steering = job.spec.steering
    chosen = choose(lessons, settings, allowed, limit, steering.confidence_percent / 100)
    if not chosen.sure and steering.when_infeasible != "RunAnyway":
        raise InputError(
            f"not even {chosen.epochs} epochs are sure to be done within {limit:g} s, for they take up to "
            f"{chosen.duration_bound:.0f} s; allow fewer epochs or a later deadline."
        )
    return chosen


def _with_epochs(job: "TrainingJob", epochs: int) -> "TrainingJob":
    parameters = job.spec.parameters.model_copy(update={"epochs": epochs})
    return job.model_copy(update={"spec": job.spec.model_copy(update={"parameters": parameters})})


def _told(chosen: "Choice", limit: float) -> str:
    sure = f"done within {chosen.duration_bound:.1f} s with {100 * chosen.confidence:g} % confidence"
    if chosen.sure:
        return f"Training {_epochs(chosen.epochs)}, the most that fit into {limit:g} s: {sure}."
    return (
        f"Nothing that the job allows is sure to fit into {limit:g} s: "
        f"training the fewest epochs, {chosen.epochs}, {sure}."
    )


def _result(observation: "Observation", limit: float | None) -> Table:
    facts = {"state": observation.state, "reason": observation.reason, "message": observation.message}
    rows: list[tuple[str, Any]] = [(name, value) for name, value in facts.items() if value is not None]
    rows += [("epochs", observation.epochs), *observation.responses.items()]
    if limit is None:
        return Table(observation.job, ("", "value"), rows)
    left = limit - observation.responses["duration"]
    kept = f"met with {left:.1f} s to spare" if left >= 0 else f"missed by {-left:.1f} s"
    return Table(observation.job, ("", "value"), rows, [f"The deadline of {limit:g} s was {kept}."])


def _comparison(chosen: "Choice", observation: "Observation") -> Table:
    actual = observation.responses
    rows = [["duration", f"{chosen.duration:.1f} s", f"at most {chosen.duration_bound:.1f} s", _seconds(actual)]]
    if chosen.accuracy is not None and chosen.accuracy_bound is not None:
        reached = actual.get("accuracy")
        rows.append(
            [
                "accuracy",
                f"{chosen.accuracy:.1%}",
                f"at least {chosen.accuracy_bound:.0%}" if chosen.accuracy_bound >= TELLING else "anything is possible",
                "" if reached is None else f"{reached:.1%}",
            ]
        )
    columns = ("", "predicted", f"with {100 * chosen.confidence:g} % confidence", "actual")
    notes = [f"The chance to meet the deadline was put at {100 * chosen.chance:.1f} %."]
    return Table(f"{_epochs(chosen.epochs)}, predicted and actual", columns, rows, notes)


def _seconds(responses: "Mapping[str, float]") -> str:
    return f"{responses['duration']:.1f} s" if "duration" in responses else ""


def _epochs(count: int) -> str:
    return "1 epoch" if count == 1 else f"{count} epochs"
