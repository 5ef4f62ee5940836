"""TrainingExperiments on the cluster: gather what became of the runs, let it be decided, create those that are due."""

import asyncio
import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from coxswain.core.api.design import SEARCHES
from coxswain.core.api.objects import owner_reference
from coxswain.core.api.status import ExperimentStatus, render_time
from coxswain.core.cost import Prices
from coxswain.core.errors import InputError
from coxswain.core.experiments import findings
from coxswain.core.experiments.life import Decision, decide
from coxswain.core.experiments.plan import plan_course, plan_design
from coxswain.core.experiments.view import Experiment, Plan, Snapshot
from coxswain.core.jobs.view import Job
from coxswain.core.ledger.entry import Entry
from coxswain.shell.cache import Cache, Key
from coxswain.shell.cluster import CONFIG_MAPS, EXPERIMENTS, JOBS, NODES, Cluster, Manifest
from coxswain.shell.errors import AlreadyExists, Refused, Unavailable
from coxswain.shell.events import Recorder
from coxswain.shell.learn_from import learn_from
from coxswain.shell.ledger import Ledger
from coxswain.shell.logs import about
from coxswain.shell.nodes import likely_type
from coxswain.shell.processes import Processes

RESULTS_STORED = "ResultsStored"
_DIGEST = "coxswain.dev/observations"
"""The annotation of stored results that tells of which observations they are."""
_TAKEN = (
    "the results go into ConfigMap {name}, and there is one of that name that is not this experiment's; save its "
    "content under another name and delete it, and the results are stored. All observations are in the ledger."
)


class Experiments:
    """Looks after every TrainingExperiment, one at a time."""

    def __init__(
        self,
        cluster: Cluster,
        cache: Cache,
        ledger: Ledger,
        recorder: Recorder,
        *,
        processes: Processes,
        prices: Prices,
    ) -> None:
        self._cluster, self._cache, self._ledger, self._recorder = cluster, cache, ledger, recorder
        self._processes, self._prices = processes, prices
        self._plans: dict[str, tuple[int, str, Plan | str]] = {}

    async def reconcile(self, key: Key) -> datetime | None:
        """Do what is due for an experiment; gives the time to look again if nothing happens before."""
        manifest = self._cache.get(EXPERIMENTS, key)
        if manifest is None:
            return None
        seen = await self._gather(Experiment(manifest))
        decision = decide(seen)
        await self._carry_out(seen, decision)
        return decision.wake_at

    async def _gather(self, experiment: Experiment) -> Snapshot:
        # As they are now: what comes in while the plan is made is for the next look.
        entries = dict(self._ledger.of_experiment(experiment.namespace, experiment.uid))
        jobs = {
            job.name: job
            for job in self._cache.jobs()
            if job.namespace == experiment.namespace and job.experiment == (experiment.name, experiment.uid)
        }
        ready = False
        if entries and experiment.status.results:
            stored = await self._cluster.find(CONFIG_MAPS, experiment.namespace, experiment.status.results)
            known = (stored or {}).get("metadata", {}).get("annotations") or {}
            ready = known.get(_DIGEST) == _digest(experiment, list(entries.values()))
        plan = await self._plan(experiment, entries, jobs)
        return Snapshot(experiment, datetime.now(UTC), plan, entries, jobs, ready, self._prices)

    async def _plan(self, experiment: Experiment, entries: Mapping[str, Entry], jobs: Mapping[str, Job]) -> Plan | str:
        """The design and its runs, made aside, and again only when what they follow from has changed."""
        if experiment.problem is not None:
            return experiment.problem
        asked, generation = experiment.parsed, experiment.generation
        searches = asked.spec.design.type in SEARCHES
        seen = _state(entries, jobs) if searches else ""
        known = self._plans.get(experiment.uid)
        if known is not None and known[:2] == (generation, seen):
            return known[2]
        if searches:
            plan = await self._processes.run(plan_course, asked, entries, list(jobs.values()))
        else:
            plan = await asyncio.to_thread(plan_design, asked)
        if not isinstance(plan, str) and (known is None or known[0] != generation):
            problem = await self._learn_from(experiment)
            if problem is not None:
                return problem  # and look again next time: what is missing may be created meanwhile
        self._plans[experiment.uid] = generation, seen, plan
        return plan

    async def _learn_from(self, experiment: Experiment) -> str | None:
        """Take in what the experiment brings with it; a sentence if that is not possible."""
        selector = experiment.parsed.spec.template.spec.node_selector or {}
        node_type = likely_type(self._cache.all(NODES), selector)
        now = render_time(datetime.now(UTC))
        asked = experiment.parsed
        try:
            await learn_from(self._cluster, self._ledger, asked, experiment.namespace, node_type=node_type, now=now)
        except InputError as error:
            return str(error)
        return None

    async def _carry_out(self, seen: Snapshot, decision: Decision) -> None:
        experiment = seen.experiment
        if decision.remove:
            await self._cluster.delete(EXPERIMENTS, experiment.namespace, experiment.name, uid=experiment.uid)
            return
        status = decision.status
        if decision.analyse:
            status = await self._analyse(seen, status)
        await self._write(experiment, status)
        for note in decision.notes:
            await self._recorder.emit(experiment.manifest, note.reason, note.message, warning=note.warning)
        for manifest in decision.create:
            await self._create(experiment, manifest)

    async def _create(self, experiment: Experiment, manifest: Manifest) -> None:
        name = manifest["metadata"]["name"]
        try:
            created = await self._cluster.create(JOBS, experiment.namespace, manifest)
        except AlreadyExists:
            created = await self._cluster.get(JOBS, experiment.namespace, name)
            if Job(created).experiment != (experiment.name, experiment.uid):
                sentence = f"TrainingJob {name} belongs to something else; it has to go first."
                raise Unavailable(409, sentence) from None
        except Refused as error:
            await self._recorder.emit(experiment.manifest, "Refused", f"{name}: {error}", warning=True)
            raise
        else:
            about(experiment.manifest).info("create %s", name)
        self._cache.put(JOBS, created)

    async def _analyse(self, seen: Snapshot, status: ExperimentStatus) -> ExperimentStatus:
        experiment = seen.experiment
        entries = list(seen.entries.values())
        name = f"{experiment.name}-results"
        # Before the work is done, which would have nowhere to go.
        stored = await self._cluster.find(CONFIG_MAPS, experiment.namespace, name)
        if stored is not None and not _owned(stored, experiment):
            return status.having(RESULTS_STORED, "False", "NameTaken", _TAKEN.format(name=name), now=seen.now)
        search = seen.plan.search if isinstance(seen.plan, Plan) else None
        course = search.course if search else None
        found = await self._processes.run(findings.find, experiment.parsed.spec, entries, course)
        manifest: Manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "annotations": {_DIGEST: _digest(experiment, entries)},
                "ownerReferences": [owner_reference("TrainingExperiment", experiment.name, experiment.uid)],
            },
            "binaryData": {key: base64.b64encode(value).decode() for key, value in found.content.items()},
        }
        if stored is None:
            await self._cluster.create(CONFIG_MAPS, experiment.namespace, manifest)
        else:
            # As long as it is the very one that was looked at.
            manifest["metadata"] |= {key: stored["metadata"][key] for key in ("namespace", "uid", "resourceVersion")}
            await self._cluster.replace(CONFIG_MAPS, manifest)
        about(experiment.manifest).info("analysed %d observations", sum(entry.excluded is None for entry in entries))
        status = found.on(status).model_copy(update={"results": name})
        return status.having(RESULTS_STORED, "True", "Stored", f"they are in ConfigMap {name}.", now=seen.now)

    async def _write(self, experiment: Experiment, status: ExperimentStatus) -> None:
        rendered = status.render()
        if rendered == experiment.manifest.get("status"):
            return
        written = await self._cluster.replace(EXPERIMENTS, {**experiment.manifest, "status": rendered}, "status")
        self._cache.put(EXPERIMENTS, written)
        if status.state != experiment.status.state:
            about(experiment.manifest).info("%s", status.state)


def _owned(stored: Manifest, experiment: Experiment) -> bool:
    return experiment.uid in {owner["uid"] for owner in stored["metadata"].get("ownerReferences", ())}


def _state(entries: Mapping[str, Entry], jobs: Mapping[str, Job]) -> str:
    """A name for what a search goes by: its observations, those that do not count apart, and its jobs that exist."""
    observed = [f"{entry.uid}{'' if entry.excluded is None else ' excluded'}" for entry in entries.values()]
    return "\n".join([*sorted(observed), *sorted(jobs)])


def _digest(experiment: Experiment, entries: Sequence[Entry]) -> str:
    """A name for the observations that count and for what is asked about them."""
    counted = sorted(entry.uid for entry in entries if entry.excluded is None)
    asked = experiment.parsed.spec.analysis.model_dump_json()
    return hashlib.sha256("\n".join([asked, *counted]).encode()).hexdigest()[:16]
