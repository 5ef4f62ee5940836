"""What is said of an experiment so that nobody waits in vain: for runs that are held, or for a budget to be spent."""

from coxswain.core.api.status import ADMITTED, ExperimentStatus
from coxswain.core.demand import demand_of
from coxswain.core.experiments.view import Plan, RunState, Snapshot

HELD, BUDGET_COUNTED = "Held", "BudgetCounted"


def with_held(status: ExperimentStatus, seen: Snapshot, plan: Plan) -> ExperimentStatus:
    """The status with why runs are held: each keeps its place, so that no other run is begun in it."""
    begun = [run for run in plan.runs if seen.state_of(run) is RunState.RUNNING]
    held = [
        (run.name, job.status.condition(ADMITTED))
        for run in begun
        if (job := next((each for each in seen.open_jobs(run) if each.status.state == "Held"), None)) is not None
    ]
    if not held:
        if status.condition(HELD) is None:
            return status
        return status.having(HELD, "False", "NoneHeld", "no run is held.", now=seen.now)
    name, why = held[0]
    reason, message = (why.reason, why.message) if why else ("Held", "it does not say why.")
    more = f" {len(held)} runs are held in all." if len(held) > 1 else ""
    return status.having(HELD, "True", reason, f"run {name} is held ({reason}): {message}{more}", now=seen.now)


def with_budget(status: ExperimentStatus, seen: Snapshot, plan: Plan) -> ExperimentStatus:
    """The status with how much of the budget's money is spent, or why none ever will be."""
    budget = seen.experiment.parsed.spec.budget
    if budget is None or budget.cost is None:
        kept = tuple(each for each in status.conditions if each.type != BUDGET_COUNTED)
        return status.model_copy(update={"conditions": kept})
    if any(seen.prices.per_hour(demand_of(job.spec).reserved) for run in plan.runs for job in run.jobs):
        told = f"{seen.spent:.4g} of the budget of {budget.cost:g} is spent."
        return status.having(BUDGET_COUNTED, "True", "Counted", told, now=seen.now)
    told = (
        f"budget.cost is {budget.cost:g}, but nothing that the runs hold has a price, so it is never spent; set "
        "prices.coreHour, prices.gibHour or prices.gpuHour in the operator's settings, or use budget.duration."
    )
    return status.having(BUDGET_COUNTED, "False", "NoPrices", told, now=seen.now)
