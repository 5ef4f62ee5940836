"""How an attempt ended, from what is left of it: its Job's condition, its pods' last words, or their absence.

The worker's own reason comes first. Where the kernel or the cluster left it no time for one, the container's or the
pod's own reason stands in. A result that nobody could read any more is lost, and the run is tried again; so is one that
stopped before its time because somebody took its pods away, a drained node say: workers leave politely when asked.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from coxswain.core.api.status import parse_time
from coxswain.core.jobs.view import Child, Pod
from coxswain.core.observations import FAILED, STOPPED, TIME_IS_OVER
from coxswain.core.verdict import Remains, Verdict, judge

LOST = "ResultLost"
INTERRUPTED = "Interrupted"
SUSPENSION, START_TIMEOUT, PREEMPTED = "Suspended", "StartTimeout", "Preempted"
"""Ends that are nobody's fault: by the user, for want of room, by Kueue."""
_KUBELETS_CLOCK = timedelta(seconds=1)
"""It tells times by the second."""
_KILLED = {137, 143}
_OUT_OF_MEMORY = (
    "OutOfMemory",
    "the kernel ended a worker because it used more than its memory; raise the job's memory or lower its batchSize.",
)
_OVERDUE = Verdict(FAILED, TIME_IS_OVER, "it ran longer than activeDeadlineSeconds; raise that or do less.")


def verdict_of(child: Child, pods: Sequence[Pod], workers: int, stop_at: datetime | None = None) -> Verdict:
    """The verdict over an attempt whose Job has ended, of so many workers that were to stop at that time, if any."""
    failed = child.condition("Failed")
    if failed is not None and failed.get("reason") == TIME_IS_OVER:
        return _OVERDUE
    verdict = _of_pods(child, pods, workers, stop_at)
    # The Job controller ends pods that ran too long before it says so; when its word comes to nothing, by a conflict
    # say, it finds ended pods, and gives their end as the reason.
    return _OVERDUE if verdict.retry and child.overdue else verdict


def _of_pods(child: Child, pods: Sequence[Pod], workers: int, stop_at: datetime | None) -> Verdict:
    ended = {pod.index: pod for pod in sorted(pods, key=lambda pod: pod.created)}
    broken = [pod for pod in ended.values() if pod.disruption or _failed(pod)]
    for pod in broken:
        if (pod.terminated or {}).get("reason") == "OOMKilled":
            return Verdict(FAILED, *_OUT_OF_MEMORY)
    if child.condition("Complete") is not None:
        return _of_complete(ended, stop_at)
    remains = [_remains(pod) for pod in ended.values() if pod.terminated]
    own = judge(remains) if any(each.exit_code for each in remains) else None
    if own is not None and not own.retry:
        return own
    for pod in broken:
        if pod.disruption and not pod.word:
            reason, sentence = pod.disruption
            return Verdict(FAILED, reason, f"the cluster ended worker {pod.index}: {sentence}", retry=True)
    if own is not None:
        return own
    gone = workers - len(remains)
    return Verdict(FAILED, LOST, f"{gone} of {workers} pods vanished before their result was read.", retry=True)


def missing() -> Verdict:
    """The verdict over an attempt whose Job is gone."""
    return Verdict(FAILED, "JobMissing", "somebody deleted the attempt's Job before it had ended.", retry=True)


def _of_complete(ended: dict[int, Pod], stop_at: datetime | None) -> Verdict:
    first = ended.get(0)
    if first is None or first.terminated is None:
        return Verdict(FAILED, LOST, "the first worker's pod vanished before its result was read.", retry=True)
    verdict = judge([_remains(first)])
    if verdict.state != STOPPED:
        return verdict
    stopped = first.terminated.get("finishedAt")
    if stop_at is not None and (stopped is None or parse_time(stopped) + _KUBELETS_CLOCK >= stop_at):
        return Verdict(STOPPED, first.word.get("reason"), first.word.get("message"), word=verdict.word)
    nobody = (INTERRUPTED, "who did is not known.")
    reason, why = next((pod.disruption for pod in ended.values() if pod.disruption), nobody)
    sentence = f"its pods were asked to stop after epoch {verdict.word.get('epochs', 0)}, and not by us: {why}"
    return Verdict(FAILED, reason, sentence, retry=True)


def _failed(pod: Pod) -> bool:
    return pod.terminated is not None and pod.terminated.get("exitCode") != 0


def _remains(pod: Pod) -> Remains:
    terminated = pod.terminated or {}
    code = int(terminated.get("exitCode", 1))
    word = pod.word
    if not word and code in _KILLED:
        # What a shell adds to the number of a signal.
        code = 128 - code
    lines = (terminated.get("message") or "").strip().splitlines()
    return Remains(code, word, "" if word or not lines else lines[-1][:500])
