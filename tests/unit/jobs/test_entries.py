"""What the ledger keeps of jobs that were tried several times, or never."""

import pytest

from coxswain.core.api.status import Attempt, JobStatus
from coxswain.core.cost import Prices
from coxswain.core.jobs import actions
from coxswain.core.jobs.entries import entry_of
from coxswain.core.jobs.life import decide
from coxswain.core.jobs.view import RUN_ANNOTATION, Advice, Job
from coxswain.core.ledger.entry import Entry
from coxswain.core.ledger.table import read_csv, to_csv
from coxswain.core.observations import FAILED, SUCCEEDED
from coxswain.core.verdict import Verdict
from tests.unit.jobs.making import after, job, next_job, seen

HOURLY = Prices(core_hour=3600.0)
"""A second of a core costs 1."""


def entry(known: Job, verdict: Verdict, seconds: float) -> Entry:
    return entry_of(known, verdict, ended=after(seconds), node_type="", prices=HOURLY, load=None)


def tried(number: int, begin: float, end: float | None, reason: str | None = None, **more: object) -> Attempt:
    closed = None if end is None else after(end)
    made = Attempt(
        number=number,
        job_name=f"train-{number}",
        jobUID=f"child{number}",
        start_time=after(begin),
        completion_time=closed,
        reason=reason,
    )
    return made.model_copy(update=more)


def test_every_attempt_that_ran_is_paid_for_and_no_other() -> None:
    attempts = (
        tried(1, 0, 100, "PeerLost"),
        tried(2, 200, 240, "Suspended"),
        tried(3, 300, 900, "StartTimeout"),
        tried(4, 1000, 1600, "StartTimeout", jobUID=None),
        tried(5, 2000, 2900, "Suspended", queued=True),
        tried(6, 3000, None),
    )
    word = {"state": SUCCEEDED, "epochs": 1, "seconds": {"total": 8.0}}
    known = job(JobStatus(attempts=attempts), resources={"workers": 1, "coresPerWorker": 1})
    found = entry(known, Verdict(SUCCEEDED, word=word), 3010).observation
    assert found.responses["money"] == pytest.approx(100 + 40 + 10)
    # How long it takes is a matter of the one that succeeded.
    assert (found.responses["duration"], found.attempts) == (10, 6)


RUN = {RUN_ANNOTATION: '{"run": "study-3-1", "row": 3, "replicate": 1, "settings": {"batch": 64.0}}'}
HOPELESS = Advice(attainable=False, remedy="20 min would do.")


def test_a_run_that_fails_because_it_cannot_be_in_time_is_recorded_once_as_any_other() -> None:
    asked = job(metadata={"annotations": RUN}, steering={"whenInfeasible": "Fail"}, deadline={"within": "1m"})
    decision = decide(seen(asked, advice=HOPELESS))
    (record,) = decision.actions
    assert isinstance(record, actions.Record)
    assert (record.verdict.state, record.verdict.reason) == (FAILED, "Infeasible")
    assert decision.status.result
    assert (decision.status.state, decision.status.result.outcome) == ("Failed", "Failed")
    assert decide(seen(next_job(asked, decision), advice=HOPELESS)).actions == ()
    kept = entry(asked, record.verdict, 60)
    found = kept.observation
    assert (found.run, found.row, found.state, found.reason) == ("study-3-1", 3, FAILED, "Infeasible")
    # It took no time, and nothing is to be learned from that.
    assert (found.responses, found.attempts, kept.promised) == ({"money": 0}, 0, None)
    assert Entry.from_json(kept.to_json()) == kept
    assert read_csv(to_csv([kept]), "here", None, "") == [kept]


def test_a_run_that_was_tried_before_it_became_hopeless_is_paid_for() -> None:
    known = job(JobStatus(attempts=(tried(1, 0, 100, "PeerLost"),)), resources={"workers": 1, "coresPerWorker": 1})
    found = entry(known, Verdict(FAILED, "Infeasible", "it cannot meet its deadline."), 130).observation
    assert (found.responses, found.attempts) == ({"money": 100}, 1)
