"""What a job could ask for instead: one field changed, beyond what it allows, or half and twice what it has."""

from dataclasses import dataclass

from pydantic import ValidationError

from coxswain.core.api.job import FRACTIONAL, Adjustment, JobSpec, Steered
from coxswain.core.jobs.parameters import asked_for, effective, steered_to
from coxswain.core.planning.values import Capacity
from coxswain.core.steering.choices import runnable, thinned, values_of
from coxswain.core.steering.predictions import need_of

MOST_VALUES = 24
# More of these makes a job faster; each next value is twice the one before.
_GROWING = {"Torch": ("workers", "coresPerWorker"), "Spark": ("nodes", "coresPerExecutor")}
_DOUBLINGS = 4


@dataclass(frozen=True)
class Alternative:
    """One field with another value; `instead` says what it is, or has to be, as things are."""

    field: str
    value: float
    instead: str
    spec: JobSpec
    """The job as it would run."""

    @property
    def told(self) -> str:
        """The change in words: `epochs 3 instead of at least 5`."""
        return f"{self.field} {self.value:g} instead of {self.instead}"


def beyond(spec: JobSpec, chosen: Steered | None, capacity: Capacity) -> list[list[Alternative]]:
    """What a job does not allow but could be faster with: a list for each field, what differs least first.

    That is fewer epochs, more workers or cores as far as the queue has them, and a larger batch where it may vary.
    """
    allowed: dict[str, Adjustment] = {each.field: each for each in spec.adjust or ()}
    asked = asked_for(spec)
    lists = [_fewer_epochs(allowed.get("epochs"), int(asked["epochs"]))]
    growing = [*_GROWING[spec.engine], *(["batchSize"] if "batchSize" in allowed else [])]
    lists += [_more(field, allowed.get(field), asked[field]) for field in growing]
    made = [[_alternative(spec, chosen, *change) for change in changes] for changes in lists]
    found = [[each for each in changed if each and _could_run(each.spec, capacity)] for changed in made]
    return [each for each in found if each]


def around(spec: JobSpec, capacity: Capacity) -> list[Alternative]:
    """Each field halved and doubled from what a job would run with, as far as it could run so."""
    found = []
    now = asked_for(effective(spec))
    for field in ("epochs", "batchSize", *_GROWING[spec.engine]):
        half = now[field] / 2 if field in FRACTIONAL else now[field] // 2
        changed = [
            _alternative(spec, spec.steered, field, value, f"{now[field]:g}") for value in (half, 2 * now[field])
        ]
        found += [each for each in changed if each is not None and _could_run(each.spec, capacity)]
    return found


def _fewer_epochs(allowed: Adjustment | None, asked: int) -> list[tuple[str, float, str]]:
    least = int(min(values_of(allowed))) if allowed else asked
    instead = f"at least {least}" if allowed else f"{asked}"
    return [("epochs", value, instead) for value in thinned(list(range(least - 1, 0, -1)), MOST_VALUES)]


def _more(field: str, allowed: Adjustment | None, asked: float) -> list[tuple[str, float, str]]:
    most = max(values_of(allowed)) if allowed else asked
    instead = f"at most {most:g}" if allowed else f"{most:g}"
    return [(field, most * 2**doubling, instead) for doubling in range(1, _DOUBLINGS + 1)]


def _alternative(spec: JobSpec, chosen: Steered | None, field: str, value: float, instead: str) -> Alternative | None:
    """The change, if it is one that any job could ask for."""
    try:
        steered = Steered.model_validate({**steered_to(chosen), field: value}, strict=False)
    except ValidationError:
        return None
    return Alternative(field, value, instead, effective(spec.model_copy(update={"steered": steered})))


def _could_run(spec: JobSpec, capacity: Capacity) -> bool:
    return runnable(spec) and capacity.holds(need_of(spec))
