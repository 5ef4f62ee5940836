"""What a person sees, on a terminal and without one, and how times left are estimated."""

from collections.abc import Sequence

import pytest

from coxswain.cli.progress import Progress, clock
from coxswain.core.expand import PlannedRun
from coxswain.core.verdict import Verdict
from coxswain.local.progress import Progress as Seen
from coxswain.local.snapshot import Running, Snapshot, take_snapshot
from tests.unit.local.conftest import experiment, runs_of

RUNS: Sequence[PlannedRun] = runs_of(experiment())
NOW = Snapshot(total=4, done=1, failed=1, running=(Running("tiny-row3-0", 2, 1, 4, 75.0, 8.0),), left=3725.0)


def test_a_terminal_shows_what_runs_and_how_long_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with Progress("tiny") as display:
        display.show(NOW)
        display.show(NOW)
        display.retrying(RUNS[0], Verdict("failed", "Killed", "it was killed.", retry=True))
    shown = capsys.readouterr()
    assert shown.out == ""
    for words in ("1 of 4 done, 1 failed, 1 running, 1:02:05 left", "tiny-row3-0 (attempt 2)", "1/4", "1:15", "0:08"):
        assert words in shown.err
    assert f"↻ {RUNS[0].name} again: it was killed." in shown.err


def test_without_a_terminal_there_are_lines_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("tiny") as display:
        display.say("Something worth knowing.")
        display.show(NOW)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "Something worth knowing.\n")


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "–"), (0, "0:00"), (59.6, "1:00"), (125, "2:05"), (3599, "59:59"), (3600, "1:00:00")]
)
def test_times_are_told_as_people_read_them(seconds: float | None, text: str) -> None:
    assert clock(seconds) == text


def test_a_job_that_knows_its_pace_knows_what_is_left() -> None:
    assert Seen(epochs=3, epoch_seconds=2.0, seen=100.0).left(planned=5, now=101.0) == 3.0
    assert Seen(epochs=5, epoch_seconds=2.0, seen=100.0).left(planned=5, now=200.0) == 0.0
    assert Seen(epochs=0, epoch_seconds=0.0, seen=100.0).left(planned=5, now=101.0) is None


@pytest.mark.parametrize(
    ("waiting", "durations", "lanes", "left"),
    [(4, [], 0, None), (4, [8.0, 12.0], 1, 40.0), (4, [10.0], 2, 20.0), (0, [10.0], 2, 0.0)],
)
def test_the_time_left_follows_from_what_other_runs_took(
    waiting: int, durations: list[float], lanes: int, left: float | None
) -> None:
    runs = RUNS[:waiting]
    now = take_snapshot(total=4, failed=0, waiting=runs, active=[], durations=durations, lanes=lanes, elapsed=10.0)
    assert now.left == left


def test_runs_that_are_yet_to_arrive_are_waited_for() -> None:
    arriving = runs_of(experiment(arrivals={"type": "Trace", "times": [0, 10, 20, 100]}))
    now = take_snapshot(total=4, failed=0, waiting=arriving[1:], active=[], durations=[5.0], lanes=4, elapsed=1.0)
    assert now.left == 100 - 1 + 5
    assert now.done == 1
