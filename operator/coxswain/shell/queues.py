"""Queues: who of those that wait may start, given what the nodes offer and what has been promised already."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from coxswain.core.demand import demand_of
from coxswain.core.jobs.admission import Admission, Capacity, Node, Waiting, admit
from coxswain.core.jobs.life import not_before, start
from coxswain.core.jobs.view import FINALIZER, Job, Outlook
from coxswain.core.manifests.attempt import JOB_LABEL
from coxswain.core.planning import values as planning
from coxswain.shell.cache import Cache, Key
from coxswain.shell.cluster import JOBS, NODES, PODS, Cluster, Manifest
from coxswain.shell.errors import Conflict, NotFound
from coxswain.shell.events import Recorder
from coxswain.shell.logs import about
from coxswain.shell.metrics import Metrics
from coxswain.shell.nodes import LIVE_PODS, amount, requests_of, usable
from coxswain.shell.settings import Queue, Settings
from coxswain.shell.steering import Steering

_SOON = timedelta(seconds=0.5)


class Queues:
    """Admits jobs. One pass at a time over all queues, because they may share their nodes."""

    def __init__(
        self,
        cluster: Cluster,
        cache: Cache,
        settings: Settings,
        recorder: Recorder,
        *,
        metrics: Metrics,
        steering: Steering,
        outlook_at_start: Callable[[Job, datetime], Outlook | None],
        cold: Callable[[Job], bool],
    ) -> None:
        self._cluster, self._cache, self._settings, self._recorder = cluster, cache, settings, recorder
        self._metrics, self._steering, self._outlook_at_start = metrics, steering, outlook_at_start
        self._cold = cold
        self._pass = asyncio.Lock()
        self._others: dict[str, list[Manifest]] = {}
        self._never: dict[Key, str] = {}
        self._crowded: dict[Key, str] = {}

    def never(self, key: Key) -> str | None:
        """Why a job could not start even if nothing else ran, as far as the last pass found."""
        return self._never.get(key)

    def crowded(self, key: Key) -> str | None:
        """Why pods that are not ours leave no room for a job, as far as the last pass found."""
        return self._crowded.get(key)

    async def look_around(self) -> None:
        """See what pods that are not ours take of the nodes."""
        if not any("auto" in (queue.cores, queue.gpus) for queue in self._settings.queues):
            return
        others: dict[str, list[Manifest]] = {}
        for pod in await self._cluster.list(PODS, fieldSelector=LIVE_PODS):
            if JOB_LABEL not in (pod["metadata"].get("labels") or {}):
                others.setdefault(pod["spec"]["nodeName"], []).append(pod)
        self._others = others

    async def admit(self, name: str) -> tuple[Sequence[Key], datetime | None]:
        """One pass over a queue; gives the jobs that changed, and when to look again if nothing happens before."""
        async with self._pass:
            now = datetime.now(UTC)
            jobs = self._cache.jobs()
            queued = (job for job in jobs if job.waits and job.spec.queue_name == name)
            waiting = {(job.namespace, job.name): job for job in queued}
            planned: Sequence[Key] = ()
            unsettled: set[Key] = set()
            if all(queue.name != name for queue in self._settings.queues):
                known = ", ".join(queue.name for queue in self._settings.queues)
                outcome = Admission(never=dict.fromkeys(waiting, f"there is no queue {name}; use one of {known}."))
            else:
                capacity = self._capacity(name, jobs)
                self._show(name, len(waiting), capacity)
                planned, unsettled = await self._plan(list(waiting.values()), jobs, name, capacity)
                current = self._again(waiting)
                waiting = {key: current[key] for key in current.keys() - unsettled if self._may_start(current[key])}
                ranked = [
                    replace(_waiting(job), rank=self._steering.rank(key), starts_now=self._steering.starts_now(key))
                    for key, job in waiting.items()
                ]
                outcome = admit(ranked, capacity, now)
            changed = {*planned, *await self._steer_in_kueue(jobs, name, now)}
            for said, found in ((self._never, outcome.never), (self._crowded, outcome.crowded)):
                changed |= {key for key in waiting if said.get(key) != found.get(key)}
                for key in waiting:
                    said.pop(key, None)
                said.update(found)
            for each in outcome.start:
                if await self._start(waiting[each.key]):
                    changed.add(each.key)
            # What changed while it was planned is planned again, before it may start.
            again = now + _SOON if unsettled else outcome.again_at
            return list(changed), again

    async def _plan(
        self, waiting: Sequence[Job], jobs: Sequence[Job], name: str, capacity: Capacity
    ) -> tuple[Sequence[Key], set[Key]]:
        holding = (job for job in jobs if not job.problem and job.holds_capacity and not job.deleting)
        running = [job for job in holding if job.spec.queue_name == name]
        free = capacity.nodes or ()
        cores = capacity.cores
        if cores is None:
            # What the nodes have left for this queue, and what its own jobs hold of them.
            cores = sum(node.free_cores for node in free) + sum(demand_of(job.effective).all_cores for job in running)
        gpus = capacity.gpus
        if gpus is None:
            gpus = sum(node.free_gpus for node in free) + sum(demand_of(job.effective).all_gpus for job in running)
        return await self._steering.plan(
            name, waiting, running, planning.Capacity(round(1000 * max(cores, 0)), int(gpus))
        )

    async def _steer_in_kueue(self, jobs: Sequence[Job], name: str, now: datetime) -> Sequence[Key]:
        """Steer those that Kueue starts, as if it did so just before they are looked at again."""
        waiting = [job for job in jobs if job.waits_in_kueue and job.spec.queue_name == name]
        begin = now + timedelta(seconds=self._settings.resync_seconds)
        changed, _ = await self._steering.plan_apart(f"{name} in Kueue", waiting, begin)
        return changed

    def _again(self, jobs: Mapping[Key, Job]) -> dict[Key, Job]:
        """The jobs as they are now that some may have been rewritten."""
        return {key: Job(manifest) for key in jobs if (manifest := self._cache.get(JOBS, key)) is not None}

    def _may_start(self, job: Job) -> bool:
        """Whether enough is known of a job, it harms nobody, and if it is late it should run all the same."""
        key = (job.namespace, job.name)
        if self._cold(job) or self._steering.holds(key) or self._steering.awaits_lessons(job):
            return False
        advice = self._steering.advice(key)
        return advice is None or advice.attainable is not False or job.spec.steering.when_infeasible == "RunAnyway"

    async def _start(self, job: Job) -> bool:
        """Fix a job's parameters and begin its next attempt, if it is still what was decided upon."""
        metadata = job.manifest["metadata"]
        try:
            manifest = dict(job.manifest)
            if not job.has_finalizer:
                finalizers = [*metadata.get("finalizers", ()), FINALIZER]
                patch = {"metadata": {"finalizers": finalizers, "resourceVersion": metadata["resourceVersion"]}}
                manifest = await self._cluster.merge(JOBS, job.namespace, job.name, patch)
                self._cache.put(JOBS, manifest)
            advice = self._steering.advice((job.namespace, job.name))
            begins, now = Job(manifest), datetime.now(UTC)
            status = start(begins, now, advice, self._outlook_at_start(begins, now))
            written = await self._cluster.replace(JOBS, {**manifest, "status": status.render()}, "status")
        except (Conflict, NotFound):
            # Somebody changed or deleted it this very moment: the watch will tell, and then it is looked at again.
            return False
        self._cache.put(JOBS, written)
        if len(status.attempts) == 1:
            waited = (datetime.now(UTC) - job.created).total_seconds()
            self._metrics.queue_wait.labels(job.spec.queue_name).observe(max(waited, 0.0))
        about(job.manifest).info("start attempt %d", status.attempts[-1].number)
        message = f"attempt {status.attempts[-1].number} begins."
        await self._recorder.emit(job.manifest, "Started", message)
        return True

    def _show(self, name: str, waiting: int, capacity: Capacity) -> None:
        self._metrics.queue_jobs.labels(name).set(waiting)
        self._metrics.queue_cores.labels(name, "used").set(capacity.held_cores)
        self._metrics.queue_gpus.labels(name, "used").set(capacity.held_gpus)
        nodes = capacity.nodes or ()
        cores = sum(node.cores for node in nodes) if capacity.cores is None else capacity.cores
        gpus = sum(node.gpus for node in nodes) if capacity.gpus is None else capacity.gpus
        self._metrics.queue_cores.labels(name, "capacity").set(cores)
        self._metrics.queue_gpus.labels(name, "capacity").set(gpus)

    def _capacity(self, name: str, jobs: Iterable[Job]) -> Capacity:
        queue = next(queue for queue in self._settings.queues if queue.name == name)
        holding = [job for job in jobs if not job.problem and job.holds_capacity and not job.deleting]
        mine = [job for job in holding if job.spec.queue_name == name]
        demands = [demand_of(job.effective) for job in mine]
        return Capacity(
            cores=None if queue.cores == "auto" else float(queue.cores),
            gpus=None if queue.gpus == "auto" else float(queue.gpus),
            held_cores=sum(demand.all_cores for demand in demands),
            held_gpus=sum(demand.all_gpus for demand in demands),
            nodes=self._nodes(queue, holding),
            beside=tuple(self._nodes_beside_others().values()) if "auto" in {queue.cores, queue.gpus} else (),
        )

    def _nodes(self, queue: Queue, holding: Sequence[Job]) -> tuple[Node, ...] | None:
        """The nodes as they are once every promised pod has its place; None where the queue's numbers are given."""
        if "auto" not in {queue.cores, queue.gpus}:
            return None
        gpu, nodes = self._settings.gpu_resource, self._nodes_beside_others()
        unplaced = {(job.namespace, job.name): demand_of(job.effective) for job in holding}
        for pod in self._cache.all(PODS):
            # Those of a job that is gone or over, which have not ended yet, count as well.
            name = pod["spec"].get("nodeName")
            if name not in nodes or pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
                continue
            nodes[name] = nodes[name].less(requests_of(pod, gpu))
            owner = (pod["metadata"]["namespace"], (pod["metadata"].get("labels") or {}).get(JOB_LABEL, ""))
            if owner in unplaced:
                unplaced[owner] = replace(unplaced[owner], pods=unplaced[owner].pods - 1)
        capacity = Capacity(None, None, nodes=tuple(nodes.values()))
        for job in holding:
            demand = unplaced[job.namespace, job.name]
            if demand.pods > 0:
                capacity = capacity.place(replace(_waiting(job), demand=demand)) or capacity
        return capacity.nodes

    def _nodes_beside_others(self) -> dict[str, Node]:
        """The nodes as pods that are not ours leave them."""
        gpu = self._settings.gpu_resource
        nodes = {node.name: node for node in (_node(each, gpu) for each in self._cache.all(NODES) if usable(each))}
        for name in self._others.keys() & nodes.keys():
            for pod in self._others[name]:
                nodes[name] = nodes[name].less(requests_of(pod, gpu))
        return nodes


def _waiting(job: Job) -> Waiting:
    return Waiting(
        key=(job.namespace, job.name),
        demand=demand_of(job.effective),
        created=job.created,
        priority=job.spec.priority,
        deadline=job.deadline,
        not_before=not_before(job),
        node_selector=job.spec.node_selector or {},
    )


def _node(manifest: Manifest, gpu: str) -> Node:
    offered = manifest["status"].get("allocatable", {})
    cores, memory, gpus = (
        amount(offered.get("cpu")),
        int(amount(offered.get("memory"))),
        int(amount(offered.get(gpu))),
    )
    labels = manifest["metadata"].get("labels") or {}
    return Node(manifest["metadata"]["name"], cores, memory, gpus, cores, memory, gpus, labels)
