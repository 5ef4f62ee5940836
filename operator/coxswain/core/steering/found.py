"""A queue put together from jobs as they are found, in files or in a cluster, and from what has been observed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from coxswain.core.api import TrainingExperiment, parse_job
from coxswain.core.api.fields import CONCURRENCY, with_value
from coxswain.core.api.parsing import API_VERSION
from coxswain.core.cost import Prices
from coxswain.core.families import family_of, fields_of
from coxswain.core.forecasts.learning import FamilyModel, learn
from coxswain.core.jobs.view import Job, Trained
from coxswain.core.ledger.entry import Entry
from coxswain.core.observations import Observation
from coxswain.core.planning.values import Capacity
from coxswain.core.steering.scene import Prospect, Situation


class Teaching:
    """The models of families, each learned from its entries when it is first asked for."""

    def __init__(self, entries: Iterable[Entry], family: Callable[[Entry], str]) -> None:
        self._entries: dict[str, list[Entry]] = {}
        for entry in entries:
            if entry.excluded is None:
                self._entries.setdefault(family(entry), []).append(entry)
        self._models: dict[str, FamilyModel] = {}

    def of(self, family: str) -> FamilyModel:
        """What a family has taught."""
        if family not in self._models:
            self._models[family] = learn(self._entries.get(family, ()))
        return self._models[family]


@dataclass(frozen=True, eq=False)
class Queue:
    """What a queue has, what that costs, the time at which it is looked at, and what is not known of it."""

    name: str
    capacity: Capacity
    prices: Prices
    now: datetime
    notes: tuple[str, ...] = ()


def situation_of(
    jobs: Sequence[Job], queue: Queue, family: Callable[[Job], str], model: Callable[[str], FamilyModel]
) -> Situation:
    """Who of some jobs waits, runs or has ended in a queue.

    What cannot run is left out. So is what Kueue starts, but that is noted: the operator steers each by itself.
    """

    def prospect(job: Job) -> Prospect:
        key = family(job)
        return Prospect(job, key, model(key), _trained(job))

    of_queue = [job for job in jobs if not job.problem and job.spec.queue_name == queue.name]
    own = [job for job in of_queue if not job.in_kueue]
    in_kueue = sum(job.in_kueue and not job.status.finished for job in of_queue)
    return Situation(
        tuple(prospect(job) for job in own if job.waits),
        tuple(prospect(job) for job in own if not job.status.finished and job.holds_capacity),
        queue.capacity,
        queue.now,
        queue.prices,
        tuple(job for job in own if job.status.finished),
        (*queue.notes, *_of_kueue(in_kueue)),
    )


def _of_kueue(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    jobs = "1 job is" if count == 1 else f"{count} jobs are"
    return (f"{jobs} in Kueue and not shown: Kueue starts them, and the operator steers each by itself.",)


def entries_of_runs(experiment: TrainingExperiment, observations: Iterable[Observation]) -> list[Entry]:
    """What the runs of an experiment on one machine would be in a ledger, so that jobs can learn from them."""
    template = experiment.spec.template.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    fields = {factor.name: factor.field for factor in experiment.spec.factors if factor.field != CONCURRENCY}
    entries = []
    for each in observations:
        content = template
        for name, field in fields.items():
            content = with_value(content, field, each.settings[name])
        manifest = {"apiVersion": API_VERSION, "kind": "TrainingJob", "metadata": {"name": each.job}, "spec": content}
        spec = parse_job(manifest).spec
        entries.append(Entry(uid=each.job, family=family_of("", spec, ""), fields=fields_of(spec), observation=each))
    return entries


def _trained(job: Job) -> Trained | None:
    """How far a running job is, by what its status says."""
    progress = job.status.progress
    if progress is None or progress.last_scrape_time is None or not progress.seconds_per_epoch:
        return None
    return Trained(
        at=progress.last_scrape_time,
        state="training",
        epochs=progress.epoch,
        planned=progress.epochs,
        seconds_per_epoch=progress.seconds_per_epoch,
        epoch_seconds=(progress.seconds_per_epoch,) * progress.epoch,
    )
