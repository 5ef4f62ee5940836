"""One attempt of one run while it runs, and the observations it ends as."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from coxswain.core.api.job import Deadline
from coxswain.core.expand import PlannedRun
from coxswain.core.observations import FAILED, STOPPED, Observation
from coxswain.core.observing import observe
from coxswain.core.verdict import Verdict
from coxswain.local.cores import Share
from coxswain.local.gang import Gang

SAVING_SECONDS = 60.0
"""How long a job that is stopped at its deadline has to save its result."""


class Active:
    """An attempt: its gangs, one a job, which start together, and what only an onlooker can tell of them."""

    def __init__(
        self, run: PlannedRun, attempt: int, gangs: Sequence[Gang], shares: Sequence[Share], wait: float | None
    ) -> None:
        self.run, self.attempt, self.gangs, self.shares, self.wait = run, attempt, gangs, shares, wait
        self.began = self._looked = min(gang.began for gang in gangs)
        self._started = datetime.now(UTC) - timedelta(seconds=time.monotonic() - self.began)
        self._load_seconds = 0.0
        self._stop_at = self._stop_time()
        self._asked_to_stop = False

    @property
    def ended(self) -> bool:
        """Whether all jobs have ended."""
        return all(gang.ended for gang in self.gangs)

    def look(self, now: float, running: int) -> None:
        """Look at every job; `running` is how many the machine runs at the moment."""
        self._load_seconds += (now - self._looked) * running
        self._looked = now
        for gang in self.gangs:
            gang.look(now)
        if self._stop_at is not None and now >= self._stop_at:
            for gang in self.gangs:
                if self._asked_to_stop:
                    gang.kill()
                else:
                    gang.stop()
            self._asked_to_stop, self._stop_at = True, now + SAVING_SECONDS

    def verdicts(self) -> list[Verdict]:
        """How each job ended."""
        return [self._checked(gang.verdict()) for gang in self.gangs]

    def observations(self, experiment: str, verdicts: Sequence[Verdict]) -> list[Observation]:
        """What is recorded of the jobs."""
        taken = max(self._looked - self.began, 1e-9)
        return [
            observe(
                experiment,
                self.run,
                gang.job,
                verdict,
                attempt=self.attempt,
                wait=self.wait,
                load=self._load_seconds / taken,
                began=self._started,
                seconds=taken,
            )
            for gang, verdict in zip(self.gangs, verdicts, strict=True)
        ]

    def _checked(self, verdict: Verdict) -> Verdict:
        """A job that stopped though nobody here asked it to has not had its time."""
        if verdict.state == STOPPED and not self._asked_to_stop:
            return Verdict(FAILED, "Stopped", "its worker was told to stop by somebody else.", retry=True)
        return verdict

    def _stop_time(self) -> float | None:
        """When the jobs are stopped to be done by their deadline, if it asks for that."""
        deadline = self.run.jobs[0].spec.deadline
        if deadline is None or deadline.enforce != "Stop":
            return None
        return self.began - (self.wait or 0.0) + seconds_left(deadline, self._started)


def seconds_left(deadline: Deadline, created: datetime) -> float:
    """Seconds from the job's creation to its deadline."""
    end = deadline.at or created + timedelta(seconds=deadline.within or 0)
    return (end - created).total_seconds()
