"""What a job that cannot be in time could ask for instead: the cheapest settings that would do, by its own fields."""

from coxswain.core.api.job import Steered
from coxswain.core.cost import Prices
from coxswain.core.planning.times import Times
from coxswain.core.planning.values import Candidate, Decision, Opening, Pending
from coxswain.core.steering.alternatives import Alternative, beyond
from coxswain.core.steering.predictions import cost_of, need_of, times_at
from coxswain.core.steering.scene import Prospect, Situation

# More than so many ways out are no help.
_MOST_TOLD = 2


def remedy_of(
    prospect: Prospect, pending: Pending, decision: Decision, chosen: Steered | None, situation: Situation
) -> str | None:
    """The cheapest settings beyond what the job allows that would be in time, then the earliest time that would do."""
    opening = decision.opening
    settings = [] if opening is None else _would_do(prospect, pending, chosen, opening, situation)
    if not settings:
        return decision.remedy
    told = ", or ".join(each.told for each in settings[:_MOST_TOLD])
    return " ".join(filter(None, (f"It would do with {told}.", decision.remedy)))


def _would_do(
    prospect: Prospect, pending: Pending, chosen: Steered | None, opening: Opening, situation: Situation
) -> list[Alternative]:
    """Of each field the value that differs least and would do, the cheapest first."""
    model = prospect.model
    if pending.deadline is None:
        return []
    within = pending.deadline - situation.now.timestamp()
    found: list[tuple[float, Alternative]] = []
    for changes in beyond(prospect.job.spec, chosen, situation.capacity):
        times = times_at(model, [each.spec for each in changes], situation.load)
        for each, lasting in zip(changes, times, strict=True):
            candidate = Candidate({each.field: each.value}, need_of(each.spec), lasting)
            if opening.takes(candidate, within, pending.asks_for):
                found.append((_price(each, lasting, situation.prices), each))
                break
    return [each for _, each in sorted(found, key=lambda one: one[0])]


def _price(alternative: Alternative, times: Times, prices: Prices) -> float:
    """What it costs in money, or where nothing has a price, in core-seconds."""
    return cost_of(alternative.spec, times, prices) or need_of(alternative.spec).cores * times.mean
