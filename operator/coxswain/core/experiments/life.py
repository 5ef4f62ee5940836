"""The decision about one experiment: which runs to create now, when it is over, and what to say.

The design is fixed by writing its hash before the first run is created; what may change afterwards (more replications)
leaves the hash as it is. Runs are created as parallelism allows, in the order of the design, block after block.
Suspending creates no further run; those under way are finished, because a run that is stopped half-way tells nothing.
The same holds when it is to end: what is missing of a run that has begun is created all the same.
A search in place of a design has its runs so far for a plan, which grows as they end; all else is the same.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from coxswain.core.api.design import Setting
from coxswain.core.api.status import (
    COMPLETE,
    FAILED,
    SUSPENDED,
    Counts,
    DesignSummary,
    ExperimentColumns,
    ExperimentState,
    ExperimentStatus,
    SearchSummary,
)
from coxswain.core.expand import PlannedRun
from coxswain.core.experiments.children import jobs_of
from coxswain.core.experiments.notices import with_budget, with_held
from coxswain.core.experiments.view import Plan, RunState, Snapshot
from coxswain.core.jobs.decision import Note
from coxswain.core.search import Course

VALID = "Valid"
_MOST_ALIASES, _LONGEST_ALIAS, _LONGEST_SEARCH = 64, 512, 1024
_ROMAN = {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII", 8: "VIII", 9: "IX", 10: "X", 11: "XI"}


@dataclass(frozen=True)
class Decision:
    """What to say first; then which jobs to create; whether to analyse or delete; and when to look again."""

    status: ExperimentStatus
    create: tuple[dict[str, Any], ...] = ()
    analyse: bool = False
    remove: bool = False
    notes: tuple[Note, ...] = ()
    wake_at: datetime | None = None


def decide(seen: Snapshot) -> Decision:
    """The decision."""
    experiment = seen.experiment
    if experiment.deleting:
        return Decision(experiment.status)
    if isinstance(seen.plan, str):
        return _refused(seen, seen.plan)
    status = _described(seen, seen.plan)
    if experiment.status.design_hash is None:
        # The design is fixed first, and then the first run is created.
        return Decision(status, notes=(Note("Designed", _designed(status)),))
    if status.design_hash != experiment.status.design_hash:
        return _refused(seen, "the design is not the one that was begun; create another experiment for it.")
    states = [seen.state_of(run) for run in seen.plan.runs]
    ending = _ending(seen, states)
    if ending is not None and RunState.RUNNING not in states:
        return _over(seen, status, ending)
    return _under_way(seen, seen.plan, status, states, stop=ending is not None)


@dataclass(frozen=True)
class _Ending:
    """Why no further run is created."""

    failed: bool
    reason: str
    message: str


def _ending(seen: Snapshot, states: Sequence[RunState]) -> _Ending | None:
    spec = seen.experiment.parsed.spec
    counts = Counter(states)
    left = counts[RunState.PENDING]
    undone = f"{left} of {len(states)} runs are left undone"
    if counts[RunState.FAILED] > spec.max_failed_runs:
        message = f"{counts[RunState.FAILED]} runs failed, more than maxFailedRuns {spec.max_failed_runs}; {undone}."
        return _Ending(failed=True, reason="TooManyFailedRuns", message=message)
    course = _course(seen)
    if left == 0:
        if counts[RunState.RUNNING] or (course is not None and course.over is None):
            return None  # a run of several jobs may still lack one of them, and a search its next row
        told = f"{counts[RunState.SUCCEEDED]} runs succeeded, {counts[RunState.FAILED]} failed."
        message = f"{course.message} {told}" if course is not None else told
        return _Ending(failed=False, reason="Completed", message=message)
    budget = spec.budget
    if budget and budget.cost is not None and seen.spent >= budget.cost:
        message = f"the budget of {budget.cost:g} is spent; {undone}."
        return _Ending(failed=False, reason="BudgetSpent", message=message)
    if budget and budget.duration is not None and seen.elapsed >= timedelta(seconds=budget.duration):
        return _Ending(failed=False, reason="BudgetSpent", message=f"the time of the budget is over; {undone}.")
    return None


def _over(seen: Snapshot, status: ExperimentStatus, ending: _Ending) -> Decision:
    before = seen.experiment.status
    if seen.entries and not seen.results_ready:
        return Decision(status.model_copy(update={"state": "Analysing"}), analyse=True)
    state: ExperimentState = "Failed" if ending.failed else "Succeeded"
    completed = before.completion_time or seen.now
    status = status.model_copy(update={"state": state, "completion_time": completed})
    kind = FAILED if ending.failed else COMPLETE
    status = status.having(kind, "True", ending.reason, ending.message, now=seen.now)
    notes = () if before.state == state else (Note(ending.reason, ending.message, warning=ending.failed),)
    ttl = seen.experiment.parsed.spec.ttl_seconds_after_finished
    due = None if ttl is None else completed + timedelta(seconds=ttl)
    if due is not None and seen.now >= due and before.state == state:
        return Decision(status, remove=True)
    return Decision(status, notes=notes, wake_at=due)


def _under_way(
    seen: Snapshot, plan: Plan, status: ExperimentStatus, states: Sequence[RunState], *, stop: bool
) -> Decision:
    spec = seen.experiment.parsed.spec
    state: ExperimentState = "Suspended" if spec.suspend else "Running"
    # One that is resumed by more replications has not ended yet.
    kept = tuple(each for each in status.conditions if each.type not in {COMPLETE, FAILED})
    update = {"state": state, "conditions": kept, "completion_time": None, "start_time": status.start_time or seen.now}
    status = status.model_copy(update=update)
    if spec.suspend:
        message = "suspend is true: no further run is created, those under way are finished."
        status = status.having(SUSPENDED, "True", "Suspended", message, now=seen.now)
    elif status.condition(SUSPENDED):
        status = status.having(SUSPENDED, "False", "Resumed", "runs are created.", now=seen.now)
    goes_on = not (stop or spec.suspend)
    due, wake_at = _due(seen, plan, states) if goes_on else ([], None)
    news = _news(seen, status) if goes_on else ()
    missing = [run for run, where in zip(plan.runs, states, strict=True) if where is RunState.RUNNING]
    create = [
        manifest
        for run in (*missing, *due)
        for manifest in jobs_of(seen.experiment, run, _arrival(seen, run))
        if manifest["metadata"]["name"] not in seen.entries and manifest["metadata"]["name"] not in seen.jobs
    ]
    return Decision(status, create=tuple(create), notes=news, wake_at=wake_at)


def _news(seen: Snapshot, status: ExperimentStatus) -> tuple[Note, ...]:
    """What a search tries now, where it has not said so yet."""
    before, now = seen.experiment.status.search, status.search
    changed = now is not None and before is not None and now.message != before.message
    return (Note("Searching", now.message),) if now is not None and changed else ()


def _due(seen: Snapshot, plan: Plan, states: Sequence[RunState]) -> tuple[list[PlannedRun], datetime | None]:
    """The runs to begin now, and when the next one arrives."""
    room = seen.experiment.parsed.spec.parallelism - sum(state is RunState.RUNNING for state in states)
    over = {RunState.SUCCEEDED, RunState.FAILED}
    open_blocks = [run.block for run, state in zip(plan.runs, states, strict=True) if state not in over]
    block = min(open_blocks, default=0)
    waiting = [
        run for run, state in zip(plan.runs, states, strict=True) if state is RunState.PENDING and run.block == block
    ]
    due: list[PlannedRun] = []
    for run in waiting:
        arrival = _arrival(seen, run)
        if len(due) >= room:
            return due, None
        if arrival is not None and arrival > seen.now:
            return due, arrival
        due.append(run)
    return due, None


def _arrival(seen: Snapshot, run: PlannedRun) -> datetime | None:
    if run.arrival is None:
        return None
    return (seen.experiment.status.start_time or seen.now) + timedelta(seconds=run.arrival)


def _refused(seen: Snapshot, problem: str) -> Decision:
    before = seen.experiment.status
    status = before.model_copy(update={"state": "Pending", "observed_generation": seen.experiment.generation})
    status = status.having(VALID, "False", "InvalidSpec", problem, now=seen.now)
    known = before.condition(VALID)
    new = known is None or known.message != problem
    return Decision(status, notes=(Note("InvalidSpec", problem, warning=True),) if new else ())


def _described(seen: Snapshot, plan: Plan) -> ExperimentStatus:
    """What is said of an experiment in any state."""
    before, design = seen.experiment.status, plan.design
    states = Counter(seen.state_of(run) for run in plan.runs)
    groups = design.fraction.aliases(2) if design.fraction else ()
    aliases = [" = ".join(str(word) for word in group) for group in groups if len(group) > 1]
    summary = DesignSummary(
        rows=len(design.rows),
        runs=len(plan.runs),
        resolution=_ROMAN.get(design.resolution) if design.resolution else None,
        aliases=tuple(alias[:_LONGEST_ALIAS] for alias in aliases[:_MOST_ALIASES]),
        notes=tuple(note[:_LONGEST_ALIAS] for note in design.notes[:16]),
    )
    counts = Counts(
        total=len(plan.runs),
        pending=states[RunState.PENDING],
        running=states[RunState.RUNNING],
        succeeded=states[RunState.SUCCEEDED],
        failed=states[RunState.FAILED],
    )
    columns = ExperimentColumns(
        runs=f"{counts.succeeded}/{counts.total}",
        largest_effect=before.columns.largest_effect if before.columns else None,
    )
    update: dict[str, Any] = {
        "observed_generation": seen.experiment.generation,
        "design_hash": plan.digest,
        "design": summary,
        "search": _found(plan.search.course) if plan.search else None,
        "counts": counts,
        "columns": columns,
    }
    status = before.model_copy(update=update)
    if before.condition(VALID) is None or before.condition(VALID).status != "True":  # type: ignore[union-attr]
        status = status.having(VALID, "True", "Designed", _designed(status), now=seen.now)
    return with_budget(with_held(status, seen, plan), seen, plan)


def _course(seen: Snapshot) -> Course | None:
    plan = seen.plan
    return plan.search.course if isinstance(plan, Plan) and plan.search else None


def _found(course: Course) -> SearchSummary:
    best = course.best
    if best is None:
        return SearchSummary(message=course.message[:_LONGEST_SEARCH])
    return SearchSummary(
        message=course.message[:_LONGEST_SEARCH],
        best=tuple(
            Setting(name=factor.name, category=value)
            if isinstance(value, str)
            else Setting(name=factor.name, level=value)
            for factor, value in zip(course.space.factors, best.settings, strict=True)
        ),
        row=best.row,
        response=best.mean,
        standard_error=best.error,
    )


def _designed(status: ExperimentStatus) -> str:
    design = status.design
    if status.search is not None:
        return f"the search begins. {status.search.message}"
    if design is None:
        return ""
    resolution = f", resolution {design.resolution}" if design.resolution else ""
    return f"the design has {design.rows} rows and {design.runs} runs{resolution}."
