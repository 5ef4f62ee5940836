"""Steering on the cluster: plan the jobs of a queue together, and rewrite those that should run with something else.

`spec.steered` is written by server-side apply under a field manager of its own, and only if the job is still the one
that was planned: who edits a job meanwhile wins, and the next plan sees what he asked for.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from coxswain.core.api.job import JobSpec
from coxswain.core.api.parsing import API_VERSION
from coxswain.core.api.status import Interval
from coxswain.core.cost import Prices
from coxswain.core.forecasts.learning import FamilyModel
from coxswain.core.jobs.foreseen import unrecorded
from coxswain.core.jobs.parameters import steered_to
from coxswain.core.jobs.view import Advice, Job, Trained
from coxswain.core.planning.values import Capacity
from coxswain.core.steering.predictions import need_of
from coxswain.core.steering.scene import Prospect, Situation
from coxswain.core.steering.steps import Step, steps_for
from coxswain.shell.cache import Cache, Key
from coxswain.shell.cluster import JOBS, Cluster
from coxswain.shell.errors import Conflict, NotFound, Refused
from coxswain.shell.events import Recorder
from coxswain.shell.logs import about
from coxswain.shell.metrics import Metrics

FIELD_MANAGER = "coxswain-steering"

_Known = tuple[int, JobSpec]
"""From how many runs a job was planned, and what it asked for: either is news when it changes."""


class Steering:
    """Plans, and remembers what the last plan said of each job that waits."""

    def __init__(
        self,
        cluster: Cluster,
        cache: Cache,
        recorder: Recorder,
        metrics: Metrics,
        prices: Prices,
        *,
        family: Callable[[Job], str],
        model: Callable[[str], FamilyModel | None],
        progress: Callable[[str], Trained | None],
    ) -> None:
        self._cluster, self._cache, self._recorder, self._metrics = cluster, cache, recorder, metrics
        self._prices, self._family, self._model, self._progress = prices, family, model, progress
        self._said: dict[str, dict[Key, Step]] = {}
        """By the name of the queue."""
        self._seen: dict[Key, _Known] = {}

    def planned(self, key: Key) -> bool:
        """Whether the last plan knew of a job."""
        return self._step(key) is not None

    def wait(self, key: Key) -> Interval | None:
        """How long a job is still to wait, by the last plan."""
        step = self._step(key)
        return step.wait if step else None

    def advice(self, key: Key) -> Advice | None:
        """What the last plan said of a job."""
        step = self._step(key)
        return step.advice if step else None

    def holds(self, key: Key) -> bool:
        """Whether a job is not to start now by the last plan, for the sake of others that run."""
        step = self._step(key)
        return step is not None and step.held

    def starts_now(self, key: Key) -> bool:
        """Whether a job starts now by the last plan."""
        step = self._step(key)
        return step is not None and step.decision.starts_now

    def awaits_lessons(self, job: Job) -> bool:
        """Whether it is not known yet what runs like it have taught, and it should not start or end without that.

        So it is for a moment after every start of the operator, and for the first job of a family.
        """
        steering = job.spec.steering
        matters = (job.spec.adjust and steering.mode != "Disabled") or steering.when_infeasible != "RunAnyway"
        return bool(matters) and not job.begun and self._model(self._family(job)) is None

    def rank(self, key: Key) -> int | None:
        """A job's place in the last plan."""
        step = self._step(key)
        return step.rank if step else None

    def _step(self, key: Key) -> Step | None:
        return next((steps[key] for steps in self._said.values() if key in steps), None)

    async def plan(
        self, queue: str, waiting: Sequence[Job], running: Sequence[Job], capacity: Capacity
    ) -> tuple[list[Key], set[Key]]:
        """Plan a queue; gives the jobs of which something new is said, and those that changed under our hands."""
        now = datetime.now(UTC)
        prospects, others = (tuple(self._prospect(job) for job in jobs) for jobs in (waiting, running))
        situation = Situation(prospects, others, capacity, now, self._prices, self._ended(queue))
        return await self._follow(queue, waiting, [situation])

    async def plan_apart(self, name: str, waiting: Sequence[Job], begin: datetime) -> tuple[list[Key], set[Key]]:
        """The same for jobs that start when somebody else says so, each as if it began at that time; none waits."""
        situations = [
            Situation((self._prospect(job),), (), need_of(job.effective), begin, self._prices) for job in waiting
        ]
        return await self._follow(name, waiting, situations)

    async def _follow(
        self, queue: str, waiting: Sequence[Job], situations: Sequence[Situation]
    ) -> tuple[list[Key], set[Key]]:
        if not waiting:
            self._said.pop(queue, None)
            return [], set()
        # It may take a second where thousands wait, and the loop must go on meanwhile.
        steps = await asyncio.to_thread(lambda: [step for each in situations for step in steps_for(each)])
        before = self._said.get(queue, {})
        # Known before anything is written: whoever sees a rewritten job finds here why.
        said = self._said[queue] = {_key(step.job): step for step in steps}
        changed: list[Key] = []
        unsettled: set[Key] = set()
        for key, step in list(said.items()):
            if unrecorded(step.job) and key in before:
                # The reason of a rewrite is kept until it is on record, and the next one waits for that.
                said[key] = before[key]
                changed.append(key)
                if step.rewrites:
                    unsettled.add(key)
            elif step.rewrites:
                if await self._rewrite(step):
                    changed.append(key)
                else:
                    unsettled.add(key)
                    del said[key]
            elif key not in before or _differs(before[key], step):
                changed.append(key)
        seen = {key: known for key, known in self._seen.items() if self._cache.get(JOBS, key) is not None}
        settled = [job for job in waiting if _key(job) not in unsettled and self._model(self._family(job)) is not None]
        self._seen = seen | {_key(job): self._known(job) for job in settled}
        return changed, unsettled

    def _prospect(self, job: Job) -> Prospect:
        family = self._family(job)
        model = self._model(family)
        return Prospect(job, family, model, self._progress(job.uid), self._is_news(job, model))

    def _is_news(self, job: Job, model: FamilyModel | None) -> bool:
        """Whether a run has been observed, or something else been asked for, since a job was last steered.

        What was seen of it is only in memory: for a while after a start the times of its last adjustment and of the
        last run that was learned from tell.
        """
        if _key(job) in self._seen:
            return self._seen[_key(job)] != self._known(job)
        if not job.status.adjustments or model is None or model.knows is None:
            return not job.status.adjustments
        return model.knows > job.status.adjustments[-1].time

    def _ended(self, queue: str) -> tuple[Job, ...]:
        """The finished jobs of a queue that are still there."""
        jobs = self._cache.jobs()
        return tuple(job for job in jobs if job.status.finished and not job.problem and job.spec.queue_name == queue)

    def _known(self, job: Job) -> _Known:
        model = self._model(self._family(job))
        return (model.runs if model else 0), job.spec.model_copy(update={"steered": None})

    async def _rewrite(self, step: Step) -> bool:
        """Write what a job should run with, unless it has changed since it was planned."""
        job = step.job
        wanted = None if job.spec.steering.mode == "Disabled" else step.steered
        manifest = {
            "apiVersion": API_VERSION,
            "kind": "TrainingJob",
            "metadata": {"name": job.name, "resourceVersion": job.manifest["metadata"]["resourceVersion"]},
            "spec": {"steered": steered_to(wanted)} if wanted else {},
        }
        try:
            written = await self._cluster.apply(JOBS, job.namespace, job.name, manifest, manager=FIELD_MANAGER)
        except (Conflict, NotFound):
            return False
        except Refused as error:
            # Whatever the server has against it, the job can run as it is.
            about(job.manifest).warning("could not be steered: %s", error)
            return True
        self._cache.put(JOBS, written)
        for each in step.advice.adjusted:
            self._metrics.adjustments.labels(each.field).inc()
            message = f"{each.field} {each.before:g} → {each.to:g}: {each.reason}"
            about(job.manifest).info("steered %s", message)
            await self._recorder.emit(job.manifest, "Adjusted", message)
        return True


def _differs(before: Step, after: Step) -> bool:
    if before.advice.attainable != after.advice.attainable or (before.wait is None) != (after.wait is None):
        return True
    if before.wait is None or after.wait is None:
        return False
    return abs(before.wait.expected - after.wait.expected) > max(2.0, 0.1 * before.wait.expected)


def _key(job: Job) -> Key:
    return job.namespace, job.name
