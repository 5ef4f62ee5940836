"""How far running jobs are: their first workers are asked in rounds, and what they say is remembered."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import aiohttp

from coxswain.core.jobs.view import Job, Pod, Trained
from coxswain.shell.cache import Cache, Key
from coxswain.shell.metrics import Metrics
from coxswain.shell.scraping import Sample, Target, scrape
from coxswain.shell.settings import Scrape


class ProgressWatch:
    """Asks the workers, and tells which jobs have made progress."""

    def __init__(self, cache: Cache, settings: Scrape, metrics: Metrics) -> None:
        self._cache, self._settings, self._metrics = cache, settings, metrics
        self._trained: dict[str, Trained] = {}

    def of(self, uid: str) -> Trained | None:
        """What the first worker of a job said last."""
        return self._trained.get(uid)

    async def look(self, session: aiohttp.ClientSession, progressed: Callable[[Key], None]) -> None:
        """One round; `progressed` is told of every job whose worker has finished another epoch."""
        jobs = {job.uid: job for job in self._running()}
        targets = [target for job in jobs.values() for target in self._targets(job)]
        with self._metrics.scrape_duration.time():
            samples = await scrape(session, targets, self._settings, self._metrics.observe_scrape)
        for sample in samples:
            if sample is not None and sample.job_uid in jobs and self._note(sample):
                job = jobs[sample.job_uid]
                progressed((job.namespace, job.name))
        self._trained = {uid: trained for uid, trained in self._trained.items() if uid in jobs}

    def _running(self) -> Iterable[Job]:
        return (job for job in self._cache.jobs() if job.status.attempt and not job.deleting)

    def _targets(self, job: Job) -> Iterable[Target]:
        attempt = job.status.attempt
        for manifest in self._cache.pods_of((job.namespace, job.name)):
            pod = Pod(manifest)
            if attempt and pod.attempt == attempt.number and pod.index == 0 and pod.running and pod.address:
                yield Target(pod.address, job.uid, attempt.number)

    def _note(self, sample: Sample) -> bool:
        before = self._trained.get(sample.job_uid)
        epochs = sample.epochs or 0
        known = before.epoch_seconds if before else ()
        if sample.epoch_seconds is not None and epochs > len(known):
            # Epochs between two rounds were not seen one by one; they were like the last.
            known = (*known, *([sample.epoch_seconds] * (epochs - len(known))))
        self._trained[sample.job_uid] = Trained(
            at=datetime.now(UTC),
            state=sample.state or "",
            epochs=epochs,
            planned=sample.planned_epochs or 0,
            seconds_per_epoch=sample.epoch_seconds,
            loss=sample.loss,
            accuracy=sample.accuracy,
            epoch_seconds=known,
        )
        return before is None or before.epochs != epochs
