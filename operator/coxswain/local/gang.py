"""The workers of one attempt of one job, as processes of this machine, each on a leash and on its own cores."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coxswain.core.expand import PlannedJob
from coxswain.core.observations import FAILED, TIME_IS_OVER
from coxswain.core.verdict import Remains, Verdict, judge
from coxswain.local import leash
from coxswain.local.cores import Share
from coxswain.local.environment import uid, worker_environment
from coxswain.local.plan import command_of
from coxswain.local.progress import Watch
from coxswain.worker.report import Settings

STRAGGLER_SECONDS = 15.0
"""How long the other workers have to end by themselves after one has failed."""
_LAST_BYTES = 4096


class Lifeline:
    """A pipe that nobody writes to: when this process ends, however that comes about, it closes."""

    def __init__(self) -> None:
        self.held_by_workers, self._held_here = os.pipe()

    def close(self) -> None:
        """Let go of it."""
        os.close(self.held_by_workers)
        os.close(self._held_here)


@dataclass(frozen=True)
class Files:
    """Where a worker prints to and where it leaves its last word."""

    folder: Path
    worker: int

    @property
    def log(self) -> Path:
        """What it prints."""
        return self.folder / f"worker-{self.worker}.log"

    @property
    def termination_log(self) -> Path:
        """Its last word."""
        return self.folder / f"worker-{self.worker}.json"

    def word(self) -> dict[str, Any]:
        """The last word, or nothing if there is none."""
        try:
            word = json.loads(self.termination_log.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return word if isinstance(word, dict) else {}

    def last_line(self) -> str:
        """The last line it printed."""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - _LAST_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


class Gang:
    """The processes, from start to verdict."""

    def __init__(
        self,
        job: PlannedJob,
        settings: Settings,
        folder: Path,
        shares: Sequence[Share],
        *,
        lifeline: Lifeline,
        threads: ThreadPoolExecutor,
    ) -> None:
        self.job, self.planned_epochs = job, settings.planned_epochs
        self.began = time.monotonic()
        self._broken_since: float | None = None
        self._cause: Verdict | None = None
        folder.mkdir(parents=True)
        self._files = [Files(folder, worker) for worker in range(len(shares))]
        self._processes: list[subprocess.Popen[bytes]] = []
        for files, share in zip(self._files, shares, strict=True):
            environment, port = worker_environment(settings, files.worker, files.termination_log)
            if files.worker == 0:
                self.watch = Watch(port, uid(job), threads)
            self._processes.append(_start(command_of(job.spec), environment, files.log, share, lifeline))

    @property
    def ended(self) -> bool:
        """Whether every process has ended."""
        return all(process.poll() is not None for process in self._processes)

    def look(self, now: float) -> None:
        """See how far it is, and whether its time is over."""
        self.watch.look(now)
        limit = self.job.spec.active_deadline_seconds
        if limit is not None and now - self.began > limit and self._cause is None and not self.ended:
            sentence = f"it ran longer than the {limit} s that activeDeadlineSeconds allows."
            self._cause = Verdict(FAILED, TIME_IS_OVER, sentence)
            self.kill()
        if self._broken_since is None and any(process.poll() for process in self._processes):
            self._broken_since = now
        if self._broken_since is not None and now - self._broken_since > STRAGGLER_SECONDS:
            self.kill()

    def stop(self) -> None:
        """Ask all to stop."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """End all at once."""
        self._send(leash.KILL)

    def verdict(self) -> Verdict:
        """How it ended, once it has."""
        found = judge(
            [
                Remains(process.wait(), files.word(), files.last_line())
                for process, files in zip(self._processes, self._files, strict=True)
            ]
        )
        return found if found.state != FAILED or self._cause is None else self._cause

    def _send(self, number: signal.Signals) -> None:
        for process in self._processes:
            process.send_signal(number)


def _start(
    command: list[str], environment: dict[str, str], log: Path, share: Share, lifeline: Lifeline
) -> subprocess.Popen[bytes]:
    held = lifeline.held_by_workers
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", leash.__file__, str(held), ",".join(map(str, sorted(share))), *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[held],
            start_new_session=True,  # Ctrl-C is for cox alone, which then ends its workers in good order
        )
