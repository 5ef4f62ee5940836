"""A search on this machine: row after row, each by what the ones before it gave.

The course is computed again from the folder before every run, as the operator does from its ledger; so the same
command goes on where it was, whatever ended it.
"""

from typing import TYPE_CHECKING

from coxswain.cli.output import Table
from coxswain.cli.progress import make_runs
from coxswain.core.errors import InputError
from coxswain.core.expressions import parse_expression
from coxswain.core.observations import latest
from coxswain.core.search import Begun, plan_search, queues_of
from coxswain.local.folder import read_observations
from coxswain.local.plan import fractions, in_vain, obstacle
from coxswain.local.runner import machine_cores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coxswain.core.api import TrainingExperiment
    from coxswain.core.api.experiment import ExperimentSpec
    from coxswain.core.observations import Observation
    from coxswain.core.search import Course, SearchPlan, Step
    from coxswain.local.folder import Folder
    from coxswain.local.runner import Options

# A cluster has prices, and jobs wait in its queue.
_CLUSTER_ONLY = {"money", "wait"}


def make_search(experiment: "TrainingExperiment", folder: "Folder", options: "Options") -> None:
    """Make runs until the search is over, or too many have failed to go on."""
    notes = [*in_vain(experiment.spec.template.spec, experiment.spec)]
    said = ""
    while (plan := plan_here(experiment, folder)).course.over is None:
        if not said:
            notes += fractions(plan.runs)
        if plan.course.message != said:
            said = plan.course.message
            notes.append(said)
        done = {each.run for each in folder.of(plan.runs)}
        # Only so many at a time: the first that fails says that its row need not be run again.
        due = [run for run in plan.runs if run.name not in done][: options.parallelism]
        if make_runs([*(run for run in plan.runs if run.name in done), *due], folder, options, notes):
            return
        notes = []


def plan_here(experiment: "TrainingExperiment", folder: "Folder") -> "SearchPlan":
    """The search as far as the folder knows it.

    Raises:
        InputError: if it goes by what is not measured here, or the folder has results of something else.
    """
    _check_measured(experiment.spec)
    observations = latest(read_observations(folder.path))
    plan = _plan(experiment, observations)
    # What failed before the manifest was changed counts no longer, and then neither do the rows it led to.
    known = folder.of(plan.runs)
    return plan if len(known) == len(observations) else _plan(experiment, known)


def _check_measured(spec: "ExperimentSpec") -> None:
    """Refuse to search by what nothing measures here."""
    search = spec.design.search
    wanted = {search.minimize, search.limit.response if search.limit else search.minimize} if search else set()
    for response in spec.analysis.responses:
        if response.name in wanted:
            expression = response.expression
            names = parse_expression(expression, spec.names_in_expressions).names if expression else {response.name}
            missing = min(names & _CLUSTER_ONLY, default=None)
            if missing is not None:
                raise InputError(
                    f"response {response.name}: nothing measures {missing} here; "
                    "write it as an expression over duration and the factors, say duration * workers * 0.03 / 3600."
                )


def _plan(experiment: "TrainingExperiment", observations: "Sequence[Observation]") -> "SearchPlan":
    begun = [Begun(each.row, each.replicate, each.settings, each) for each in observations]
    cores = machine_cores()
    return plan_search(experiment, begun, lambda run: obstacle(run, cores))


def search_tables(course: "Course") -> list[Table]:
    """The steps of a search, what it found and why it ended; and a queue of such jobs before and after."""
    names = [factor.name for factor in course.space.factors]
    columns = ("row", *names, course.search.minimize, "±", "runs", "verdict")
    title = f"{course.search.minimize}, row after row"
    steps = Table(title, columns, [_row(step) for step in course.steps], [course.message])
    queues = [
        (
            each.before.name,
            3600 * each.before.arrival_rate,
            *(value for queue in (each.before, each.after) for value in (queue.utilization, queue.response_time)),
        )
        for each in queues_of(course)
    ]
    if not queues:
        return [steps]
    columns = ("queue", "jobs an hour", "busy before", "E[T] before", "busy after", "E[T] after")
    notes = ["E[T] is the mean time from arrival to end in seconds; jobs arrive as often before as after."]
    return [steps, Table("A queue of such jobs at the start's setting and at the best", columns, queues, notes)]


def _row(step: "Step") -> list[float | int | str | None]:
    trial = step.trial
    known = trial if trial is not None and trial.has_values else None
    return [
        step.row,
        *step.settings,
        known.mean if known else None,
        known.error if known else None,
        len(trial.begun) if trial else 0,
        step.verdict,
    ]
