from coxswain.core import verdict
from coxswain.core.observations import FAILED, STOPPED, SUCCEEDED
from coxswain.core.verdict import Remains, judge
from coxswain.worker.report import ExitCode


def word(state: str, **facts: str) -> dict[str, str]:
    return {"state": state, **facts}


def test_worker_0_speaks_for_a_job_that_went_well() -> None:
    found = judge([Remains(0, word(SUCCEEDED, worker="0")), Remains(0, word(SUCCEEDED, worker="1"))])
    assert (found.state, found.word["worker"], found.retry) == (SUCCEEDED, "0", False)
    assert judge([Remains(0, word(STOPPED))]).state == STOPPED


def test_a_script_that_says_nothing_has_no_result() -> None:
    found = judge([Remains(0)])
    assert (found.state, found.reason, found.retry) == (FAILED, "NoResult", False)


def test_the_exit_code_decides_about_a_retry() -> None:
    assert not judge([Remains(64, word(FAILED, reason="BadData", message="no data."))]).retry
    assert judge([Remains(75, word(FAILED, reason="PeerLost", message="worker 1 is gone."))]).retry


def test_a_worker_that_was_killed_is_tried_again() -> None:
    found = judge([Remains(-9)])
    assert (found.reason, found.retry) == ("Killed", True)
    assert "signal 9" in str(found.message)


def test_a_worker_that_crashed_is_quoted() -> None:
    found = judge([Remains(1, last_line="ModuleNotFoundError: No module named 'x'")])
    assert (found.reason, found.retry) == ("Error", False)
    assert str(found.message).endswith("No module named 'x'")


def test_an_error_of_the_jobs_own_explains_a_lost_peer() -> None:
    lost = Remains(75, word(FAILED, reason="PeerLost", message="worker 1 is gone."))
    cause = Remains(64, word(FAILED, reason="OutOfMemory", message="memory ran out."))
    assert judge([lost, cause]).reason == "OutOfMemory"


def test_a_peer_that_was_killed_leaves_the_survivors_words() -> None:
    lost = Remains(75, word(FAILED, reason="PeerLost", message="worker 1 is gone."))
    found = judge([lost, Remains(-9)])
    assert (found.reason, found.retry) == ("PeerLost", True)


def test_the_exit_codes_are_the_workers() -> None:
    assert verdict._SUCCESS == ExitCode.SUCCESS
    assert verdict._INFRASTRUCTURE == ExitCode.INFRASTRUCTURE
