"""The loop that makes the runs: start what there is room for, watch, retry what bad luck broke, record the rest.

One thread looks around ten times a second. Whatever ends the loop, its last act is to end every worker. A run is
recorded as a whole, once all its jobs have ended. What was running when the loop ended is made again next time, unless
its workers had come to their end unseen: then their last words are found and recorded.
"""

import contextlib
import os
import time
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from coxswain.core.expand import PlannedRun
from coxswain.core.observations import FAILED, SUCCEEDED, Observation
from coxswain.core.observing import observe
from coxswain.core.verdict import Verdict
from coxswain.local.active import Active
from coxswain.local.cores import Cores, Share
from coxswain.local.environment import job_settings, uid
from coxswain.local.folder import Folder
from coxswain.local.gang import Files, Gang, Lifeline
from coxswain.local.leash import GRACE_SECONDS
from coxswain.local.plan import Claims, cores_of, cores_of_run
from coxswain.local.snapshot import Snapshot, take_snapshot

LOOK_SECONDS = 0.1
_SCRAPING_THREADS = 4


class Display(Protocol):
    """Whoever shows a person what happens."""

    def show(self, now: Snapshot) -> None:
        """How things are, several times a second."""

    def finished(self, observations: Sequence[Observation], now: Snapshot) -> None:
        """A run has ended, for better or worse, and is recorded."""

    def retrying(self, run: PlannedRun, verdict: Verdict) -> None:
        """A run was broken by something around it and is made again."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How runs are made.

    With `fresh`, each attempt starts from the beginning whatever an earlier one has saved. With `keep_failed`, what
    failed before is not made again: to a search it says that the setting does not work.
    """

    experiment: str
    parallelism: int
    most_failures: int
    claims: Claims
    fresh: bool
    keep_failed: bool = False


def machine_cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


class Runner:
    """Makes the runs that are not done yet."""

    def __init__(self, runs: Sequence[PlannedRun], folder: Folder, options: Options, display: Display) -> None:
        self._runs, self._folder, self._options, self._display = runs, folder, options, display
        self._cores = Cores(machine_cores())
        known = folder.of(runs)
        self._done = {each.job: each for each in known if options.keep_failed or each.state != FAILED}
        self._waiting = deque(run for run in runs if not self._is_done(run))
        self._active: list[Active] = []
        self._lanes = 0
        self._failed = len({each.run for each in self._done.values() if each.state == FAILED})
        self._retries: Counter[str] = Counter()
        self._lifeline = Lifeline()
        self._threads = ThreadPoolExecutor(_SCRAPING_THREADS, thread_name_prefix="scrape")
        self._began = time.monotonic()

    @property
    def gave_up(self) -> bool:
        """Whether more runs have failed than the experiment allows."""
        return self._failed > self._options.most_failures

    def run(self) -> None:
        """Make all runs; returns when all are done, or too many have failed."""
        self._recover()
        self._began = time.monotonic() - self._elapsed_before()
        try:
            while (self._waiting or self._active) and not self.gave_up:
                self._start_what_fits()
                self._look()
                self._display.show(self._snapshot())
                time.sleep(LOOK_SECONDS)
        finally:
            self._end_all()
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._lifeline.close()

    def _is_done(self, run: PlannedRun) -> bool:
        return all(job.name in self._done for job in run.jobs)

    def _elapsed_before(self) -> float:
        """Where runs arrive by themselves, an experiment that goes on does so with the next arrival."""
        first = self._waiting[0].arrival if self._waiting and self._done else None
        return first or 0.0

    def _start_what_fits(self) -> None:
        """Start runs strictly in their order, block after block."""
        while self._waiting and len(self._active) < self._options.parallelism:
            run = self._waiting[0]
            early = run.arrival is not None and time.monotonic() - self._began < run.arrival
            if early or any(active.run.block != run.block for active in self._active):
                return
            shares = self._cores.take(cores_of_run(run))
            if shares is None:
                return
            self._waiting.popleft()
            self._start(run, shares)

    def _start(self, run: PlannedRun, shares: Sequence[Share]) -> None:
        attempt = self._folder.attempts(run) + 1
        wait = None if run.arrival is None else max(0.0, time.monotonic() - self._began - run.arrival)
        gangs = []
        rest = iter(shares)
        for job in run.jobs:
            settings = job_settings(job, attempt, self._options.claims, fresh=self._options.fresh)
            own = [next(rest) for _ in cores_of(job.spec)]
            folder = self._folder.attempt(job.name, attempt)
            gangs.append(Gang(job, settings, folder, own, lifeline=self._lifeline, threads=self._threads))
        self._active.append(Active(run, attempt, gangs, shares, wait))
        self._lanes = max(self._lanes, len(self._active))

    def _look(self) -> None:
        """Look at every active run, and record or repeat those that have ended."""
        now = time.monotonic()
        running = sum(not gang.ended for active in self._active for gang in active.gangs)
        for active in list(self._active):
            active.look(now, running)
            if active.ended:
                self._active.remove(active)
                self._cores.give_back(active.shares)
                self._finish(active)

    def _finish(self, active: Active) -> None:
        run, verdicts = active.run, active.verdicts()
        failed = [verdict for verdict in verdicts if verdict.state == FAILED]
        allowed = run.jobs[0].spec.max_retries
        if failed and all(verdict.retry for verdict in failed) and self._retries[run.name] < allowed:
            self._retries[run.name] += 1
            self._display.retrying(run, failed[0])
            self._waiting.appendleft(run)
            return
        self._failed += bool(failed)
        self._record(active.observations(self._options.experiment, verdicts))

    def _record(self, observations: Sequence[Observation]) -> None:
        self._folder.record(observations)
        self._done |= {each.job: each for each in observations}
        self._display.finished(observations, self._snapshot())

    def _recover(self) -> None:
        """Record runs that ended well while nobody was there to see it."""
        for run in list(self._waiting):
            attempt = self._folder.attempts(run)
            words = [Files(self._folder.attempt(job.name, attempt), 0).word() for job in run.jobs]
            ends = list(zip(run.jobs, words, strict=True))
            if all(word.get("state") == SUCCEEDED and word.get("jobUid") == uid(job) for job, word in ends):
                self._waiting.remove(run)
                name, now = self._options.experiment, datetime.now(UTC)
                self._record(
                    [
                        observe(name, run, job, Verdict(SUCCEEDED, word=word), attempt=attempt, began=now)
                        for job, word in ends
                    ]
                )

    def _snapshot(self) -> Snapshot:
        return take_snapshot(
            total=len(self._runs),
            failed=self._failed,
            waiting=self._waiting,
            active=self._active,
            lanes=self._lanes,
            durations=[each.responses["duration"] for each in self._done.values() if each.succeeded],
            elapsed=time.monotonic() - self._began,
        )

    def _end_all(self) -> None:
        """End every worker: ask first, then kill; asked again to hurry, kill at once."""
        gangs = [gang for active in self._active for gang in active.gangs]
        for gang in gangs:
            gang.stop()
        with contextlib.suppress(KeyboardInterrupt):
            deadline = time.monotonic() + GRACE_SECONDS
            while time.monotonic() < deadline and not all(gang.ended for gang in gangs):
                time.sleep(LOOK_SECONDS)
        for gang in gangs:
            gang.kill()
        while not all(gang.ended for gang in gangs):
            time.sleep(LOOK_SECONDS)
