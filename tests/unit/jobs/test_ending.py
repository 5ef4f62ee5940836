import pytest

from coxswain.core.api.status import render_time
from coxswain.core.jobs.ending import INTERRUPTED, LOST, verdict_of
from coxswain.core.jobs.view import Child, Pod
from coxswain.core.observations import FAILED, STOPPED, SUCCEEDED
from tests.unit.jobs.making import after, child, ended, pod, running

DONE, BROKEN = child(("Complete", "")), child(("Failed", "PodFailurePolicy"))
EVICTED = pod(state={"terminated": {"exitCode": 137}}, reason="Evicted", message="the node was low on memory.")
DISRUPTED = pod(
    state={"terminated": {"exitCode": 143}},
    conditions=[
        {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager", "message": "taint."}
    ],
)
DRAINED = pod(
    state={"terminated": {"exitCode": 0, "message": '{"state": "stopped", "epochs": 3}'}},
    conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "drain."}],
)


def word(state: str, reason: str = "") -> dict[str, str]:
    return {"state": state, "reason": reason, "message": f"because of {reason}."}


@pytest.mark.parametrize(
    ("job", "pods", "workers", "expected"),
    [
        pytest.param(DONE, [ended(0, word("succeeded"))], 1, (SUCCEEDED, None, False), id="it went well"),
        pytest.param(DONE, [ended(0, word("stopped"))], 1, (FAILED, INTERRUPTED, True), id="asked to stop by others"),
        pytest.param(DONE, [DRAINED], 1, (FAILED, "EvictionByEvictionAPI", True), id="its node was drained"),
        pytest.param(DONE, [ended(0)], 1, (FAILED, "NoResult", False), id="it said nothing"),
        pytest.param(DONE, [], 1, (FAILED, LOST, True), id="its pod is gone with its result"),
        pytest.param(BROKEN, [ended(64, word("failed", "BadData"))], 1, (FAILED, "BadData", False), id="its own error"),
        pytest.param(BROKEN, [ended(75, word("failed", "PeerLost"))], 1, (FAILED, "PeerLost", True), id="bad luck"),
        pytest.param(
            BROKEN,
            [ended(75, word("failed", "PeerLost")), ended(64, word("failed", "BadData"), 1)],
            2,
            (FAILED, "BadData", False),
            id="the cause explains the lost peer",
        ),
        pytest.param(BROKEN, [ended(137, reason="OOMKilled")], 1, (FAILED, "OutOfMemory", False), id="out of memory"),
        pytest.param(BROKEN, [ended(137)], 1, (FAILED, "Killed", True), id="killed by somebody"),
        pytest.param(BROKEN, [EVICTED], 1, (FAILED, "Evicted", True), id="evicted"),
        pytest.param(BROKEN, [DISRUPTED], 1, (FAILED, "DeletionByTaintManager", True), id="its node is going"),
        pytest.param(BROKEN, [running()], 1, (FAILED, LOST, True), id="its node is gone"),
        pytest.param(
            child(("Failed", "DeadlineExceeded")), [ended(143)], 1, (FAILED, "DeadlineExceeded", False), id="too long"
        ),
    ],
)
def test_how_an_attempt_ended(
    job: Child, pods: list[Pod], workers: int, expected: tuple[str, str | None, bool]
) -> None:
    found = verdict_of(job, pods, workers)
    assert (found.state, found.reason, found.retry) == expected
    assert found.state == SUCCEEDED or found.message


@pytest.mark.parametrize(("second", "state"), [(58, FAILED), (59, STOPPED), (61, STOPPED)])
def test_who_stops_at_his_time_has_a_result_and_who_stops_before_it_has_not(second: int, state: str) -> None:
    finished = render_time(after(second))
    left = ended(0, word("stopped"), finishedAt=finished)
    assert verdict_of(DONE, [left], 1, stop_at=after(60)).state == state


@pytest.mark.parametrize(
    ("second", "left", "expected"),
    [
        pytest.param(60, ended(143), "DeadlineExceeded", id="killed when its time was over"),
        pytest.param(59, ended(143), "Killed", id="killed before"),
        pytest.param(60, ended(64, word("failed", "BadData")), "BadData", id="its own error"),
    ],
)
def test_who_ran_too_long_is_told_so_though_his_job_says_only_that_he_was_killed(
    second: int, left: Pod, expected: str
) -> None:
    broken = child(("Failed", "PodFailurePolicy"), seconds=second, activeDeadlineSeconds=60)
    assert verdict_of(broken, [left], 1).reason == expected


def test_a_script_that_crashed_is_quoted() -> None:
    crashed = pod(state={"terminated": {"exitCode": 1, "message": "Traceback\nKeyError: 'x'"}})
    assert str(verdict_of(BROKEN, [crashed], 1).message).endswith("KeyError: 'x'")
