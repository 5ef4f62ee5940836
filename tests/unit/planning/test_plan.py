"""What a plan decides, on queues small enough to be decided by hand."""

from dataclasses import replace

import numpy as np
import pytest

from coxswain.core.errors import InputError
from coxswain.core.planning import (
    Arrivals,
    Candidate,
    Capacity,
    Decision,
    Infeasible,
    Pending,
    Plan,
    Running,
    Snapshot,
    exactly,
    lognormal,
    plan,
    times_of,
)

CORE = Capacity(1000)


def epochs(counts: range, seconds: float = 10.0, spread: float = 0.1, need: Capacity = CORE) -> tuple[Candidate, ...]:
    """Candidates that take so many seconds an epoch and are the better the more epochs they have."""
    return tuple(
        Candidate({"epochs": count}, need, lognormal(seconds * count, spread), 1 - 0.5 / count) for count in counts
    )


def job(name: str, deadline: float | None = None, **more: object) -> Pending:
    return replace(Pending(name, 0.0, epochs(range(1, 11)), requested=9, deadline=deadline), **more)  # type: ignore[arg-type]


def made(*jobs: Pending, cores: int = 1, **more: object) -> Plan:
    return plan(replace(Snapshot(0.0, Capacity(1000 * cores), jobs), **more))  # type: ignore[arg-type]


def test_a_job_gets_the_most_epochs_that_are_in_time_with_its_confidence() -> None:
    decided = made(job("a", 60.0)).decision("a")
    # 5 epochs take 50 s in the median and 50 * exp(0.1645) = 58.9 s at 95 %.
    assert decided.choice == 4
    assert decided.starts_now
    assert decided.attainable
    assert decided.forecast.chance == pytest.approx(0.966, abs=0.002)


def test_a_higher_confidence_costs_an_epoch() -> None:
    assert made(job("a", 60.0, confidence=0.99)).decision("a").choice == 3


def test_jobs_share_one_core_by_their_deadlines() -> None:
    decided = made(job("late", 200.0), job("soon", 60.0))
    assert [each.name for each in decided.decisions] == ["soon", "late"]
    assert [each.starts_now for each in decided.decisions] == [True, False]
    assert all(each.attainable for each in decided.decisions)


def test_one_job_takes_less_so_that_the_other_is_in_time() -> None:
    alone = made(job("a", 100.0)).decision("a")
    shared = made(job("a", 100.0), job("b", 105.0))
    assert all(each.attainable for each in shared.decisions)
    assert shared.decision("a").choice + shared.decision("b").choice < 2 * alone.choice


def test_a_job_that_is_not_sure_to_be_in_time_gets_what_hardly_lessens_its_chance() -> None:
    # Its start takes 10 s, an epoch next to nothing: one epoch is in time with 65 %, two with 61 and ten with 32 %.
    mostly_start = tuple(
        Candidate({"epochs": count}, CORE, lognormal(10 + 0.1 * count, 0.1), 1 - 0.5 / count) for count in range(1, 11)
    )
    decided = made(job("a", 10.5, candidates=mostly_start)).decision("a")
    assert (decided.choice, decided.attainable, decided.starts_now) == (1, False, True)
    assert decided.forecast.chance == pytest.approx(0.61, abs=0.01)
    # Without a chance, the sooner it is done the better; behind others it adds nothing to their wait.
    assert made(job("a", 1.0, candidates=mostly_start)).decision("a").choice == 0
    crowd = made(job("first", 12.0), job("a", 10.5, candidates=mostly_start))
    assert (crowd.decision("a").choice, crowd.decision("a").starts_now) == (0, False)


def test_a_job_that_cannot_be_in_time_gives_way_and_is_told_what_would_do() -> None:
    decided = made(job("hopeless", 5.0, priority=1), job("able", 12.0))
    assert [each.name for each in decided.decisions] == ["able", "hopeless"]
    hopeless = decided.decision("hopeless")
    assert hopeless.attainable is False
    assert hopeless.choice == 0
    assert hopeless.remedy is not None
    assert hopeless.remedy.startswith("A deadline ")


def test_a_job_that_is_to_be_held_does_not_start() -> None:
    assert not made(job("a", 5.0, when_infeasible=Infeasible.HOLD)).decision("a").starts_now
    assert made(job("a", 5.0)).decision("a").starts_now


def test_priority_goes_first_when_both_can_be_in_time() -> None:
    decided = made(job("a", 50.0), job("b", 400.0, priority=5))
    assert all(each.attainable for each in decided.decisions)
    only_one = made(job("a", 12.0), job("b", 12.0, priority=5))
    assert only_one.decision("b").attainable
    assert not only_one.decision("a").attainable


def test_a_job_without_a_deadline_runs_as_requested_and_ages() -> None:
    free = job("free")
    decided = made(job("timed", 150.0), free)
    assert decided.decision("free").choice == 9
    assert [each.name for each in decided.decisions] == ["timed", "free"]
    aged = made(job("timed", 1500.0), free, now=1000.0, patience=900.0)
    assert [each.name for each in aged.decisions] == ["free", "timed"]


def test_a_narrow_job_fills_the_hole_before_a_wide_one_if_it_delays_nobody() -> None:
    busy = Running("busy", CORE, exactly(100.0))
    wide = Pending("wide", 0.0, epochs(range(1, 2), need=Capacity(2000)), deadline=125.0)
    short = Pending("short", 0.0, (Candidate({}, CORE, exactly(50.0)),))
    long = Pending("long", 0.0, (Candidate({}, CORE, exactly(150.0)),))
    decided = made(wide, short, long, cores=2, running=(busy,))
    assert decided.decision("short").starts_now
    assert not decided.decision("long").starts_now
    assert decided.decision("wide").attainable


def test_waits_and_finishes_are_told_from_the_running_job() -> None:
    busy = Running("busy", CORE, lognormal(100.0, 0.2))
    forecast = made(job("a", 1000.0), running=(busy,)).decision("a").forecast
    assert forecast.wait.median == pytest.approx(100.0, rel=0.05)
    assert forecast.wait.bound == pytest.approx(100.0 * 2.718281828 ** (0.2 * 1.645), rel=0.1)


def test_a_job_may_be_put_off_for_those_to_come_while_it_is_in_time() -> None:
    coming = Arrivals(0.01, CORE, lognormal(10.0, 0.1), due=lognormal(50.0, 0.5))
    busy = Running("busy", CORE, lognormal(100.0, 0.2))
    alone = made(job("a", 1000.0), running=(busy,)).decision("a")
    crowded = made(job("a", 1000.0), running=(busy,), arrivals=coming).decision("a")
    assert alone.forecast.wait.median is not None
    assert crowded.forecast.wait.median is not None
    assert crowded.forecast.wait.median > alone.forecast.wait.median
    assert crowded.attainable
    assert crowded.forecast.start.bound is not None
    assert 800 < crowded.forecast.start.bound < 1000


def test_a_promise_is_not_given_up_for_a_newcomer() -> None:
    old = Pending("old", 0.0, epochs(range(1, 2), seconds=20.0), deadline=26.0)
    new = Pending("new", 0.0, epochs(range(1, 2), seconds=10.0), deadline=25.0)
    assert made(old, new).decision("new").attainable
    promised = made(replace(old, promised=True), new)
    assert promised.decision("old").attainable
    assert not promised.decision("new").attainable


def test_nothing_starts_that_would_make_a_running_job_late() -> None:
    # It takes 100 s alone, and 115 s with the other core busy: 1 + 0.3 * 1/2.
    waiting = Pending("a", 0.0, epochs(range(1, 2)))

    def starts(deadline: float) -> bool:
        runs = Running("busy", CORE, exactly(100.0), deadline=deadline)
        return made(waiting, cores=2, running=(runs,), contention=0.3).decision("a").starts_now

    assert starts(120.0)
    assert not starts(110.0)
    assert starts(90.0)  # it is late anyway


def test_a_chance_counts_all_the_company_there_could_be() -> None:
    # It takes 100 s alone, and 125 s with the other of two cores busy: 1 + 0.5 * 1/2.
    own = Pending("a", 0.0, (Candidate({}, CORE, exactly(100.0)),), deadline=120.0)
    other = Pending("b", 0.0, (Candidate({}, CORE, exactly(30.0)),))
    coming = Arrivals(0.05, CORE, exactly(30.0), due=exactly(1000.0))  # 1.5 of them at a time

    def decided(*others: Pending, deadline: float = 120.0, **more: object) -> Decision:
        return made(replace(own, deadline=deadline), *others, cores=2, contention=0.5, **more).decision("a")

    alone = decided()
    assert (alone.attainable, alone.forecast.finish.median) == (True, 100.0)
    for crowded in (decided(other), decided(arrivals=coming), decided(running=(Running("c", CORE, exactly(30.0)),))):
        assert (crowded.attainable, crowded.forecast.finish.median) == (False, 125.0)
    assert decided(other, deadline=130.0).attainable


def test_who_runs_beside_others_is_waited_for_longer() -> None:
    # The first that runs would be done in 100 s; with the third core busy, too, it takes 1.5 / 1.25 times as long.
    running = tuple(Running(name, CORE, exactly(100.0)) for name in ("b", "c"))
    wide = Pending("a", 0.0, (Candidate({}, Capacity(3000), exactly(10.0)),))
    assert made(wide, cores=3, running=running).decision("a").forecast.wait.median == 100.0
    told = made(wide, cores=3, running=running, contention=0.75).decision("a").forecast
    assert told.wait.median == pytest.approx(120.0)
    assert told.finish.median == pytest.approx(130.0)  # beside one that needs all cores there is nobody


def test_a_choice_is_kept_without_news_and_changed_when_it_is_too_slow() -> None:
    kept = made(job("a", 60.0, current=2, news=False)).decision("a")
    assert kept.choice == 2
    assert made(job("a", 60.0, current=2)).decision("a").choice == 4
    assert made(job("a", 60.0, current=7, news=False)).decision("a").choice == 4


def test_planning_again_changes_nothing() -> None:
    jobs = tuple(job(f"job {number}", 60.0 + 40 * number) for number in range(12))
    first = made(*jobs, cores=2)
    again = made(*(replace(each, current=first.decision(each.name).choice) for each in jobs), cores=2)
    assert {each.name: each.choice for each in again.decisions} == {each.name: each.choice for each in first.decisions}


def test_a_tail_of_which_nothing_is_known_does_not_make_the_mean() -> None:
    usual = lognormal(10.0, 0.2)
    assert usual.mean == pytest.approx(10.0 * 2.718281828**0.02, rel=0.02)
    assert times_of(lambda levels: np.where(levels > 0.999, 1e9, 10.0)).mean == pytest.approx(10.0)


def test_the_model_being_wrong_for_all_widens_the_wait() -> None:
    def wait(shared: float) -> float:
        queue = tuple(
            Pending(f"j{n}", 0.0, (Candidate({}, CORE, lognormal(10.0, 0.3, shared)),), family="f") for n in range(20)
        )
        bound = made(*queue).decisions[-1].forecast.wait.bound
        assert bound is not None
        return bound

    assert wait(0.9) > 1.2 * wait(0.0)


def test_a_job_larger_than_the_queue_is_told_so() -> None:
    decided = made(Pending("a", 0.0, epochs(range(1, 2), need=Capacity(4000)))).decision("a")
    assert not decided.starts_now
    assert decided.reason == "It needs 4 cores, but its queue has 1 core."


def test_a_deadline_in_the_past_is_not_attainable() -> None:
    assert made(job("a", -100.0)).decision("a").attainable is False


def test_nobody_waits_and_nothing_is_planned() -> None:
    assert made() == Plan(())


def test_a_job_without_settings_is_refused() -> None:
    with pytest.raises(InputError, match="no setting to run with"):
        Pending("a", 0.0, ())
