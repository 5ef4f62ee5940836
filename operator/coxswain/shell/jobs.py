"""TrainingJobs on the cluster: gather what is seen of one, let it be decided, carry the decision out."""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from coxswain.core.api.status import Attempt as BegunAttempt
from coxswain.core.api.status import JobStatus
from coxswain.core.demand import demand_of
from coxswain.core.jobs import actions
from coxswain.core.jobs.decision import Decision
from coxswain.core.jobs.entries import entry_of, load_during
from coxswain.core.jobs.life import decide, not_created, start_due
from coxswain.core.jobs.view import FINALIZER, Advice, Child, Job, Outlook, Pod, Snapshot, Trained
from coxswain.core.ledger.entry import Entry
from coxswain.core.manifests import Attempt, batch_job, needs_service, secret, service
from coxswain.core.manifests.attempt import ATTEMPT_LABEL, JOB_LABEL, KUEUE_LABEL
from coxswain.shell.cache import Cache, Key
from coxswain.shell.cluster import BATCH_JOBS, EVENTS, JOBS, NODES, PODS, SECRETS, SERVICES, Cluster, Manifest, Resource
from coxswain.shell.errors import AlreadyExists, Refused, Unavailable
from coxswain.shell.events import Recorder
from coxswain.shell.logs import about
from coxswain.shell.metrics import Metrics
from coxswain.shell.nodes import type_of
from coxswain.shell.settings import Settings

# A Job that has no pods after this long is asked why.
_CREATION_SECONDS = 3.0


class Records(Protocol):
    """Where observations are kept."""

    def has(self, namespace: str, uid: str) -> bool:
        """Whether the run of this UID is recorded."""

    async def append(self, entry: Entry) -> None:
        """Keep an observation; the same again changes nothing."""


class Jobs:
    """Looks after every TrainingJob, one at a time."""

    def __init__(
        self,
        cluster: Cluster,
        cache: Cache,
        settings: Settings,
        ledger: Records,
        recorder: Recorder,
        *,
        metrics: Metrics,
        progress: Callable[[str], Trained | None],
        never: Callable[[Key], str | None],
        outlook: Callable[[Job, datetime], Outlook | None],
        advice: Callable[[Key], Advice | None],
        crowded: Callable[[Key], str | None],
        probes: Callable[[Job], tuple[Job, ...]],
    ) -> None:
        self._cluster, self._cache, self._settings = cluster, cache, settings
        self._ledger, self._recorder, self._metrics = ledger, recorder, metrics
        self._progress, self._never, self._outlook, self._advice = progress, never, outlook, advice
        self._crowded, self._probes = crowded, probes

    async def reconcile(self, key: Key) -> datetime | None:
        """Do what is due for a job; gives the time to look again if nothing happens before."""
        manifest = self._cache.get(JOBS, key)
        if manifest is None:
            self._cache.forget_pods(key)
            return None
        snapshot = await self._gather(Job(manifest))
        decision = decide(snapshot)
        await self._carry_out(snapshot, decision)
        return decision.wake_at

    async def _gather(self, job: Job) -> Snapshot:
        key = (job.namespace, job.name)
        attempt = job.status.attempt
        now = datetime.now(UTC)
        if attempt is None:
            invalid = None if job.problem else job.refusal
            outlook = None if job.problem or job.status.finished else self._outlook(job, now)
            return Snapshot(
                job,
                now,
                past=self._past(job),
                invalid=invalid,
                never=self._never(key),
                crowded=self._crowded(key),
                outlook=outlook,
                advice=self._advice(key),
                probes=() if job.problem else self._probes(job),
            )
        child = await self._child(job, attempt, now)
        if child is not None and child.ended:
            await self._read_pods(job, attempt.number)
        if child is None and attempt.reason:
            # What counts is what is left of them.
            pods = await self._read_pods(job, attempt.number)
        else:
            pods = [Pod(pod) for pod in self._cache.pods_of(key)]
        mine = _newest(pod for pod in pods if pod.attempt == attempt.number)
        complaints: tuple[tuple[str, str], ...] = ()
        waited = (now - attempt.start_time).total_seconds()
        may_run = child is not None and not child.ended and not child.suspended
        if child and may_run and len(mine) < job.pod_count and waited > _CREATION_SECONDS:
            complaints = await self._complaints(child, job.namespace)
        # A job that waits in Kueue is still planned.
        advice = self._advice(key) if job.status.started_parameters is None else None
        trained, outlook = self._progress(job.uid), self._outlook(job, now)
        return Snapshot(job, now, child, mine, complaints, trained, outlook, advice, past=self._past(job))

    async def _child(self, job: Job, attempt: BegunAttempt, now: datetime) -> Child | None:
        """The Job of an attempt; only the server knows for sure that there is none."""
        manifest = self._cache.get(BATCH_JOBS, (job.namespace, attempt.job_name))
        if attempt.jobUID is None:
            unsure = job.spec.suspend or now >= start_due(job, attempt)
        else:
            unsure = manifest is None or manifest["metadata"]["uid"] != attempt.jobUID
        if unsure:
            manifest = await self._cluster.find(BATCH_JOBS, job.namespace, attempt.job_name)
        return Child(manifest) if manifest else None

    def _past(self, job: Job) -> tuple[Child, ...]:
        over = (each.job_name for each in job.status.attempts if each.completion_time is not None)
        found = (self._cache.get(BATCH_JOBS, (job.namespace, name)) for name in over)
        return tuple(Child(manifest) for manifest in found if manifest is not None)

    async def _read_pods(self, job: Job, attempt: int) -> list[Pod]:
        """See the pods of an attempt that has ended as they are now: the watch may still lag its Job's."""
        selector = f"{JOB_LABEL}={job.name},{ATTEMPT_LABEL}={attempt}"
        pods = await self._cluster.list(PODS, job.namespace, labelSelector=selector)
        for pod in pods:
            self._cache.put(PODS, pod)
        return [Pod(pod) for pod in pods]

    async def _complaints(self, child: Child, namespace: str) -> tuple[tuple[str, str], ...]:
        found = await self._cluster.list(EVENTS, namespace, fieldSelector=f"involvedObject.uid={child.uid}")
        warnings = [event for event in found if event.get("type") == "Warning"]
        return tuple((event.get("reason") or "Warning", event.get("message") or "") for event in warnings)

    async def _carry_out(self, seen: Snapshot, decision: Decision) -> None:
        job, status = seen.job, decision.status
        for action in decision.actions:
            about(job.manifest).info("%s", _told(action))
            match action:
                case actions.Launch() if not job.has_finalizer:  # Kueue may start it any moment
                    await self._set_finalizers(job, [*_finalizers(job), FINALIZER])
                    return
                case actions.Launch():
                    try:
                        status = await self._launch(job, status)
                    except (Refused, Unavailable) as error:
                        # It is tried again after a pause that grows, as after any error, until its time is over.
                        await self._say(job, not_created(seen, status, str(error)))
                        raise
                case actions.Record():
                    await self._record(self._entry(seen, action))
                    self._cache.forget_pods((job.namespace, job.name))
                case actions.ForgetPods():
                    self._cache.forget_pods((job.namespace, job.name))
                case actions.Probe(_, manifest):
                    self._cache.put(JOBS, await self._create(JOBS, job, dict(manifest)))
                case actions.Release():
                    await self._set_finalizers(job, [name for name in _finalizers(job) if name != FINALIZER])
                    return
                case actions.Remove():
                    await self._cluster.delete(JOBS, job.namespace, job.name, uid=job.uid)
                    return
                case _:
                    await self._tend(job, action)
        await self._say(job, replace(decision, status=status))

    async def _say(self, job: Job, decision: Decision) -> None:
        await self._write(job, decision.status)
        for note in decision.notes:
            await self._recorder.emit(job.manifest, note.reason, note.message, warning=note.warning)

    async def _tend(
        self, job: Job, action: actions.Retarget | actions.TakeDown | actions.Discard | actions.DropHelpers
    ) -> None:
        """What concerns the objects of an attempt."""
        match action:
            case actions.Retarget(job_name, annotations):
                patch: Manifest = {"spec": {"template": {"metadata": {"annotations": dict(annotations)}}}}
                self._cache.put(BATCH_JOBS, await self._cluster.merge(BATCH_JOBS, job.namespace, job_name, patch))
            case actions.TakeDown(job_name):
                patch = {"spec": {"suspend": True}}
                self._cache.put(BATCH_JOBS, await self._cluster.merge(BATCH_JOBS, job.namespace, job_name, patch))
            case actions.Discard(job_name, uid, version):
                await self._cluster.delete(BATCH_JOBS, job.namespace, job_name, uid=uid, version=version)
                gone = {"metadata": {"namespace": job.namespace, "name": job_name, "uid": uid}}
                self._cache.drop(BATCH_JOBS, gone)
            case actions.DropHelpers(job_name):
                await self._drop_helpers(job, job_name)

    async def _write(self, job: Job, status: JobStatus) -> None:
        rendered = status.render()
        if rendered == job.manifest.get("status"):
            return
        written = await self._cluster.replace(JOBS, {**job.manifest, "status": rendered}, "status")
        self._cache.put(JOBS, written)
        if status.state != job.status.state:
            about(job.manifest).info("%s", status.state)

    async def _launch(self, job: Job, status: JobStatus) -> JobStatus:
        """Create what an attempt needs, its Job last, and record which Job it is."""
        begun = status.attempts[-1]
        image = job.spec.workload.image or getattr(self._settings.images, job.spec.engine.lower())
        attempt = Attempt(
            job.name,
            job.uid,
            begun.number,
            job.effective,
            image,
            self._settings.gpu_resource,
            job.labels.get(KUEUE_LABEL),
            job.stop_at,
        )
        address = None
        if needs_service(attempt.spec):
            created = await self._create(SERVICES, job, service(attempt))
            address = created["spec"]["clusterIP"]
        if attempt.spec.engine == "Spark":
            await self._create(SECRETS, job, secret(attempt, secrets.token_urlsafe(32)))
        child = await self._create(BATCH_JOBS, job, batch_job(attempt, address))
        self._cache.put(BATCH_JOBS, child)
        return status.with_last_attempt(jobUID=child["metadata"]["uid"])

    async def _create(self, resource: Resource, job: Job, manifest: Manifest) -> Manifest:
        """Create an object of a job; one that is there already counts only if it belongs to this very job."""
        name = manifest["metadata"]["name"]
        try:
            return await self._cluster.create(resource, job.namespace, manifest)
        except AlreadyExists:
            if resource == SECRETS:
                # The operator may not read secrets. If it is not ours the pods say so: what they look for is not in it.
                return manifest
            found = await self._cluster.get(resource, job.namespace, name)
            if not _belongs(found, job):
                kind = resource.kind
                raise Refused(409, f"{kind} {name} belongs to something else; it has to go first.") from None
            return found

    async def _drop_helpers(self, job: Job, name: str) -> None:
        if demand_of(job.effective).pods > 1:
            found = await self._cluster.find(SERVICES, job.namespace, name)
            if found is not None and _belongs(found, job):
                await self._cluster.delete(SERVICES, job.namespace, name, uid=found["metadata"]["uid"])
        if job.spec.engine == "Spark":
            await self._cluster.delete(SECRETS, job.namespace, name)

    async def _set_finalizers(self, job: Job, finalizers: list[str]) -> None:
        version = job.manifest["metadata"]["resourceVersion"]
        patch = {"metadata": {"finalizers": finalizers, "resourceVersion": version}}
        self._cache.put(JOBS, await self._cluster.merge(JOBS, job.namespace, job.name, patch))

    def _entry(self, seen: Snapshot, action: actions.Record) -> Entry:
        job, attempt = seen.job, seen.attempt
        jobs = self._cache.jobs()
        return entry_of(
            job,
            action.verdict,
            ended=seen.ended_at,
            node_type=self._node_type(seen),
            prices=self._settings.prices.table,
            load=load_during(job, jobs, attempt.start_time, seen.ended_at) if attempt else None,
        )

    async def _record(self, entry: Entry) -> None:
        """Keep an observation, and count it and what had been forecast of it, once."""
        known = self._ledger.has(*entry.key)
        await self._ledger.append(entry)
        if not known:
            self._metrics.observations.inc()
            self._metrics.observe_forecasts(entry)

    def _node_type(self, seen: Snapshot) -> str:
        """The type of node that the first worker ran on."""
        node = self._cache.get(NODES, ("", seen.pods[0].node)) if seen.pods and seen.pods[0].node else None
        return type_of(node) if node else ""


def _newest(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """The last pod of each worker: a Job that Kueue has taken back and started again has had others."""
    newest = {pod.index: pod for pod in sorted(pods, key=lambda pod: pod.created)}
    return tuple(newest[index] for index in sorted(newest))


def _belongs(manifest: Manifest, job: Job) -> bool:
    return Child(manifest).belongs_to(job)


def _finalizers(job: Job) -> list[str]:
    return list(job.manifest["metadata"].get("finalizers", ()))


def _told(action: actions.Action) -> str:
    words = [type(action).__name__, *(str(value) for value in vars(action).values() if isinstance(value, (str, int)))]
    return " ".join(words)
