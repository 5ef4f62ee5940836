"""What the workers of an attempt left behind means: a result, an error of the job's own, or bad luck worth a retry.

Worker 0 speaks for the job. Where it says no more than that another worker is gone, that one's own words are the
cause. The exit code decides about a retry; a worker that was killed has said nothing, and the same again may succeed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from coxswain.core.observations import FAILED, STOPPED, SUCCEEDED

# The exit codes of the contract; the worker's own module has them with their story.
_SUCCESS, _INFRASTRUCTURE = 0, 75


@dataclass(frozen=True)
class Remains:
    """What is left of one worker: its exit code, negative for a signal, its termination message and its last line."""

    exit_code: int
    word: dict[str, Any] = field(default_factory=dict)
    last_line: str = ""


@dataclass(frozen=True)
class Verdict:
    """How an attempt ended; `word` is the termination message that counts."""

    state: str
    reason: str | None = None
    message: str | None = None
    retry: bool = False
    word: dict[str, Any] = field(default_factory=dict)


def judge(workers: Sequence[Remains]) -> Verdict:
    """The verdict over all workers of an attempt."""
    first = workers[0]
    if all(worker.exit_code == _SUCCESS for worker in workers):
        if first.word.get("state") in {SUCCEEDED, STOPPED}:
            return Verdict(first.word["state"], word=first.word)
        sentence = "the worker left no result; a script says what it reached by coxswain.worker.report."
        return Verdict(FAILED, "NoResult", sentence)
    verdicts = [_of_one(index, worker) for index, worker in enumerate(workers) if worker.exit_code != _SUCCESS]
    own_errors = [verdict for verdict in verdicts if not verdict.retry]
    return (own_errors or verdicts)[0]


def _of_one(index: int, worker: Remains) -> Verdict:
    """The verdict over a worker that failed."""
    if worker.word.get("state") == FAILED:
        retry = worker.exit_code == _INFRASTRUCTURE
        return Verdict(FAILED, worker.word.get("reason"), worker.word.get("message"), retry, worker.word)
    if worker.exit_code < 0:
        sentence = f"worker {index} was killed by signal {-worker.exit_code}; the machine may have run out of memory."
        return Verdict(FAILED, "Killed", sentence, retry=True)
    sentence = f"worker {index} ended with exit code {worker.exit_code}: {worker.last_line or 'it printed nothing.'}"
    return Verdict(FAILED, "Error", sentence, retry=worker.exit_code == _INFRASTRUCTURE)
