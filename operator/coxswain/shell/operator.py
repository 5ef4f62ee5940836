"""The operator as a whole: what it knows, what wakes it, and the loops that keep it going.

    watches ──▶ cache, wake-ups ──▶ workers: gather, decide (coxswain.core), apply
    resync  ──▶ lists everything, so that nothing missed stays missed
    scraper ──▶ progress of running jobs

Only the one that leads writes anything; the others keep their caches warm and wait.
"""

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from coxswain.core.api.status import Interval
from coxswain.core.experiments.view import Experiment
from coxswain.core.families import family_of
from coxswain.core.forecasts.outlook import outlook
from coxswain.core.jobs import cold
from coxswain.core.jobs.entries import load_during
from coxswain.core.jobs.view import Job, Outlook, Trained
from coxswain.core.manifests.attempt import JOB_LABEL
from coxswain.shell.cache import Cache, Key, key_of
from coxswain.shell.cluster import BATCH_JOBS, EXPERIMENTS, JOBS, NODES, PODS, Cluster, Manifest, Resource, connected
from coxswain.shell.errors import ApiError, Conflict
from coxswain.shell.events import Recorder
from coxswain.shell.experiments import Experiments
from coxswain.shell.health import Health
from coxswain.shell.jobs import Jobs
from coxswain.shell.leader import Leader
from coxswain.shell.learning import Learning
from coxswain.shell.ledger import Ledger
from coxswain.shell.metrics import Metrics
from coxswain.shell.nodes import likely_type
from coxswain.shell.processes import Processes
from coxswain.shell.progress import ProgressWatch
from coxswain.shell.queues import Queues
from coxswain.shell.scraping import new_session
from coxswain.shell.settings import Settings
from coxswain.shell.steering import Steering
from coxswain.shell.wakeups import Wakeups

_log = logging.getLogger("coxswain")
WATCHED = (JOBS, EXPERIMENTS, BATCH_JOBS, PODS, NODES)
OURS = {BATCH_JOBS: JOB_LABEL, PODS: JOB_LABEL}
"""Of these kinds only the objects with this label are ours."""


class Kind(Enum):
    """What can be woken."""

    JOB = "job"
    EXPERIMENT = "experiment"
    QUEUE = "queue"


@dataclass(frozen=True)
class Wake:
    """Something to look at; a queue has no namespace."""

    kind: Kind
    namespace: str
    name: str


class Operator:
    """Everything the operator is made of."""

    def __init__(self, cluster: Cluster, settings: Settings, metrics: Metrics) -> None:
        self.settings, self.metrics, self.cluster = settings, metrics, cluster
        self.health = Health(settings.resync_seconds)
        self.cache = Cache()
        self.wakeups: Wakeups[Wake] = Wakeups()
        self.ledger = Ledger(cluster, settings.namespaces or None, on_change=self._observed)
        recorder = Recorder(cluster)
        self.progress = ProgressWatch(self.cache, settings.scrape, metrics)
        self._processes = Processes(settings.model_processes)
        debounce = settings.refit_debounce_seconds
        self.learning = Learning(self.ledger, self._processes, metrics, debounce, self._learned)
        self.steering = Steering(
            cluster,
            self.cache,
            recorder,
            metrics,
            settings.prices.table,
            family=self._family,
            model=self.learning.of,
            progress=self.progress.of,
        )
        self.queues = Queues(
            cluster,
            self.cache,
            settings,
            recorder,
            metrics=metrics,
            steering=self.steering,
            outlook_at_start=self._outlook_at_start,
            cold=self._cold,
        )
        self.jobs = Jobs(
            cluster,
            self.cache,
            settings,
            self.ledger,
            recorder,
            metrics=metrics,
            progress=self.progress.of,
            never=self.queues.never,
            outlook=self._outlook,
            advice=self.steering.advice,
            crowded=self.queues.crowded,
            probes=self._probes,
        )
        self.experiments = Experiments(
            cluster, self.cache, self.ledger, recorder, processes=self._processes, prices=settings.prices.table
        )
        self.identity = f"{socket.gethostname()}-{os.getpid()}"
        self.leader = Leader(cluster, settings.lease, self.identity)

    def seen(self, resource: Resource, manifest: Manifest, *, gone: bool) -> None:
        """A watch tells of an object."""
        self.health.watch_spoke(resource.kind)
        if gone:
            self.cache.drop(resource, manifest)
            if resource == JOBS and _runs(Job(manifest)):
                self._wake_running()
        elif not self.cache.put(resource, manifest):
            return
        self._wake_for(resource, manifest)

    def _wake_for(self, resource: Resource, manifest: Manifest) -> None:
        namespace, name = key_of(manifest)
        if resource == JOBS:
            self.wakeups.wake(Wake(Kind.JOB, namespace, name))
            self.wakeups.wake(Wake(Kind.QUEUE, "", manifest["spec"].get("queueName") or "default"))
            owner = Job(manifest).experiment
            if owner is not None:
                self.wakeups.wake(Wake(Kind.EXPERIMENT, namespace, owner[0]))
        elif resource == EXPERIMENTS:
            self.wakeups.wake(Wake(Kind.EXPERIMENT, namespace, name))
        elif resource == NODES:
            self._wake_queues()
        else:
            label = (manifest["metadata"].get("labels") or {}).get(JOB_LABEL)
            if label:
                self.wakeups.wake(Wake(Kind.JOB, namespace, label))

    def _wake_queues(self) -> None:
        for queue in self.settings.queues:
            self.wakeups.wake(Wake(Kind.QUEUE, "", queue.name))

    async def resync(self) -> None:
        """See everything as it is, and look at it again."""
        missed: set[str] = set()
        for resource in WATCHED:
            began = time.monotonic()
            for namespace in self._namespaces(resource):
                listed = await self.cluster.list(resource, namespace, labelSelector=OURS.get(resource, ""))
                for key in self.cache.replace(resource, listed, began, namespace):
                    missed.add(resource.kind)
                    manifest = self.cache.get(resource, key)
                    if manifest is not None:
                        self._wake_for(resource, manifest)
        await self.ledger.compact(self.settings.ledger.keep_per_family, self._live())
        await self.queues.look_around()
        for job in self.cache.jobs():
            brief = not job.problem and job.spec.ttl_seconds_after_finished is not None
            if brief or not job.status.finished or job.has_finalizer:
                self._wake_for(JOBS, dict(job.manifest))
        for manifest in self.cache.all(EXPERIMENTS):
            self._wake_for(EXPERIMENTS, manifest)
        self._wake_queues()
        self.health.resynced(missed=missed)
        experiments = Counter(str(Experiment(each).status.state) for each in self.cache.all(EXPERIMENTS))
        self.metrics.show_experiments(experiments)
        self.metrics.show_jobs(Counter(job.status.state for job in self.cache.jobs()))

    def _live(self) -> set[str]:
        return {manifest["metadata"]["uid"] for kind in (JOBS, EXPERIMENTS) for manifest in self.cache.all(kind)}

    def _namespaces(self, resource: Resource) -> tuple[str | None, ...]:
        return self.settings.namespaces if resource.namespaced and self.settings.namespaces else (None,)

    async def run(self) -> None:
        """Wait for the lead, then work until cancelled."""
        self.health.standing_by()
        await self.leader.acquire()
        self.health.started()
        self.metrics.leader.set(1)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.leader.hold())
                await self.resync()
                for queue in self.settings.queues:
                    # First, so that jobs that can never start are not called pending for a moment.
                    await self._look_at(Wake(Kind.QUEUE, "", queue.name))
                tasks.create_task(self._every(self.settings.resync_seconds, self.resync))
                tasks.create_task(self._scrape())
                tasks.create_task(self.learning.run())
                for _ in range(self.settings.workers):
                    tasks.create_task(self._work())
        finally:
            self.metrics.leader.set(0)
            self._processes.shutdown()
            await self.leader.release()

    async def _work(self) -> None:
        while True:
            wake, waited = await self.wakeups.next()
            self.metrics.work_queue_wait.observe(waited)
            self.metrics.work_queue_length.set(len(self.wakeups))
            outcome = "ok"
            with self.metrics.reconcile_duration.labels(wake.kind.value).time():
                try:
                    await self._look_at(wake)
                except Conflict:
                    outcome = "conflict"
                    await self._refresh(wake)
                except ApiError as error:
                    outcome = "error"
                    _log.warning("%s %s/%s: %s", wake.kind.value, wake.namespace, wake.name, error)
                except Exception:  # noqa: BLE001 - one object's trouble must not stop another's work
                    outcome = "bug"
                    _log.exception("%s %s/%s", wake.kind.value, wake.namespace, wake.name)
            self.wakeups.done(wake, failed=outcome != "ok")
            self.metrics.reconciles.labels(wake.kind.value, outcome).inc()

    async def _look_at(self, wake: Wake) -> None:
        key = (wake.namespace, wake.name)
        again: datetime | None = None
        if wake.kind is Kind.JOB:
            before = self.cache.get(JOBS, key)
            again = await self.jobs.reconcile(key)
            self._wake_after(JOBS, key, before)
        elif wake.kind is Kind.EXPERIMENT:
            before = self.cache.get(EXPERIMENTS, key)
            again = await self.experiments.reconcile(key)
            self._wake_after(EXPERIMENTS, key, before)
        else:
            running = {job.uid for job in self._running()}
            changed, again = await self.queues.admit(wake.name)
            for namespace, name in changed:
                self.wakeups.wake(Wake(Kind.JOB, namespace, name))
            if {job.uid for job in self._running()} != running:
                self._wake_running()
        if again is not None:
            self.wakeups.wake_in(wake, (again - datetime.now(UTC)).total_seconds())

    def _wake_after(self, resource: Resource, key: Key, before: Manifest | None) -> None:
        """What was just written is no news to the watch any more, but may call for the next step."""
        after = self.cache.get(resource, key)
        if after is not None and after is not before:
            self._wake_for(resource, after)
            if resource == JOBS and before is not None and _runs(Job(before)) != _runs(Job(after)):
                self._wake_running()

    def _running(self) -> list[Job]:
        return [job for job in self.cache.jobs() if _runs(job)]

    def _wake_running(self) -> None:
        """Another job has begun or ended: those that run are faster or slower now, and are forecast anew.

        After a moment, as jobs often begin and end together, and no more often than their workers are asked.
        """
        for job in self._running():
            if job.status.forecast is not None:
                wake = Wake(Kind.JOB, job.namespace, job.name)
                self.wakeups.wake_in(wake, self.settings.scrape.interval_seconds)

    async def _refresh(self, wake: Wake) -> None:
        """What was decided upon has changed: see it as it is."""
        resource = {Kind.JOB: JOBS, Kind.EXPERIMENT: EXPERIMENTS}.get(wake.kind)
        if resource is None:
            return
        with contextlib.suppress(ApiError):
            found = await self.cluster.find(resource, wake.namespace, wake.name)
            if found is not None:
                self.cache.put(resource, found)
            elif (known := self.cache.get(resource, (wake.namespace, wake.name))) is not None:
                self.cache.drop(resource, known)

    async def _scrape(self) -> None:
        async with new_session() as session:
            while True:
                await self.progress.look(session, self._progressed)
                await asyncio.sleep(self.settings.scrape.interval_seconds)

    def _family(self, job: Job) -> str:
        selector = job.spec.node_selector or {}
        return family_of(job.namespace, job.effective, likely_type(self.cache.all(NODES), selector)).key

    def _outlook(self, job: Job, now: datetime) -> Outlook | None:
        """A job's forecast, as the last plan has it start if it waits; one that no plan has seen has none yet.

        It would be forecast as if it began at once, and its first forecast is the one that is kept.
        """
        key = (job.namespace, job.name)
        if not job.problem and job.waits and not self.steering.planned(key):
            return None
        return self._foreseen(job, now, self.steering.wait(key))

    def _outlook_at_start(self, job: Job, now: datetime) -> Outlook | None:
        return self._foreseen(job, now, None)

    def _cold(self, job: Job) -> bool:
        """Whether a job does not start because too little is known of runs like it."""
        if job.spec.steering.cold_start == "Run":
            return False
        return cold.waits(job, self._outlook(job, datetime.now(UTC)), self._probes(job))

    def _probes(self, job: Job) -> tuple[Job, ...]:
        """The probes of a job's family, if it may have some."""
        if job.spec.steering.cold_start != "Probe":
            return ()
        probes = [each for each in self.cache.jobs() if each.probe_of and not each.problem]
        return tuple(each for each in probes if self._family(each) == self._family(job))

    def _foreseen(self, job: Job, now: datetime, wait: Interval | None) -> Outlook | None:
        model = self.learning.of(self._family(job))
        if model is None:
            return None
        trained = self.progress.of(job.uid)
        others = sum(other.uid != job.uid for other in self._running())
        # Who has to wait begins when somebody has ended.
        load = float(max(others, 1) if wait is not None and wait.expected > 0 else others + 1)
        so_far = self._load_so_far(job, trained)
        try:
            return outlook(job, model, now, load=load, load_so_far=so_far, wait=wait, trained=trained)
        except (ArithmeticError, ValueError):
            # A model may be wrong in ways nobody thought of; the job goes on without a forecast.
            _log.exception("no forecast for %s/%s", job.namespace, job.name)
            return Outlook(None, "NotLearned", "what runs like it have taught could not be applied to it.")

    def _load_so_far(self, job: Job, trained: Trained | None) -> float | None:
        """How many jobs ran on average while a job did the epochs that are known of it."""
        attempt = job.status.attempt
        if attempt is None or trained is None or not trained.epochs:
            return None
        return load_during(job, self.cache.jobs(), attempt.start_time, trained.at)

    def _observed(self, family: str) -> None:
        """The ledger has other observations of a family."""
        self.learning.changed(family)

    def _learned(self, family: str) -> None:
        """A family's models are new: all its jobs that are not finished get new forecasts."""
        for job in self.cache.jobs():
            if not job.problem and not job.status.finished and self._family(job) == family:
                self.wakeups.wake(Wake(Kind.JOB, job.namespace, job.name))
                self.wakeups.wake(Wake(Kind.QUEUE, "", job.spec.queue_name))

    def _progressed(self, key: Key) -> None:
        self.wakeups.wake(Wake(Kind.JOB, *key))

    async def _every(self, seconds: float, do: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await do()
            except ApiError as error:
                _log.warning("%s: %s", do.__name__, error)


def _runs(job: Job) -> bool:
    """Whether a job slows others down, as one that waits in Kueue does not."""
    attempt = job.status.attempt
    return attempt is not None and not attempt.queued


@contextlib.asynccontextmanager
async def operator(settings: Settings, metrics: Metrics) -> AsyncIterator[Operator]:
    """An operator that is connected to its cluster."""
    async with connected(metrics.observe_request) as cluster:
        yield Operator(cluster, settings, metrics)
