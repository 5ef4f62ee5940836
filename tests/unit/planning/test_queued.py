"""Queues of policies that can be followed by hand."""

import numpy as np

from coxswain.core.baselines.queued import SERVER, Arrival, first_come, steered
from coxswain.core.planning import Candidate, exactly


def arrival(name: str, comes: float, due: float, *seconds: float) -> Arrival:
    """A job with settings that take as long as they are thought to; a longer one is worth more."""
    candidates = tuple(Candidate({}, SERVER, exactly(each), each) for each in seconds)
    return Arrival(name, comes, due, candidates, np.array(seconds))


def test_who_comes_first_is_served_first() -> None:
    served = first_come([arrival("a", 0, 9, 10), arrival("b", 1, 9, 5), arrival("c", 2, 9, 1)], [0, 0, 0], 1)
    assert [(each.starts, each.ends) for each in served] == [(0, 10), (10, 15), (15, 16)]
    two = first_come([arrival("a", 0, 9, 10), arrival("b", 1, 9, 5), arrival("c", 2, 9, 1)], [0, 0, 0], 2)
    assert [each.starts for each in two] == [0, 1, 6]


def test_planned_together_the_urgent_overtakes_and_each_gets_what_fits() -> None:
    jobs = [
        arrival("runs", 0.0, 20.0, 10.0),
        arrival("patient", 1.0, 100.0, 10.0, 60.0, 90.0),
        arrival("urgent", 2.0, 25.0, 10.0),
    ]
    runs, patient, urgent = steered(jobs, 1, patience=1000.0, least_span=60.0)
    assert (runs.starts, urgent.starts, patient.starts) == (0.0, 10.0, 20.0)
    assert patient.choice == 1
    assert patient.ends == 80.0
    assert all(each.promised for each in (runs, patient, urgent))


def test_what_was_told_first_is_what_counts() -> None:
    jobs = [arrival("runs", 0.0, 20.0, 10.0), arrival("waits", 1.0, 100.0, 10.0)]
    _, waits = steered(jobs, 1, patience=1000.0, least_span=60.0)
    assert waits.told_wait == 9.0


def test_jobs_side_by_side_slow_each_other_down_whoever_serves_them() -> None:
    # b begins when a has 8 s of work left; both are slower by a quarter until b is done, then a has 4 s left.
    jobs = [arrival("a", 0.0, 100.0, 10.0), arrival("b", 2.0, 100.0, 4.0)]
    in_turn = first_come(jobs, [0, 0], 2, contention=0.5)
    assert [(each.starts, each.ends) for each in in_turn] == [(0.0, 11.0), (2.0, 7.0)]
    for believed in (0.5, 0.0):
        planned = steered(jobs, 2, patience=1000.0, least_span=60.0, contention=0.5, believed=believed)
        assert [(each.starts, each.ends) for each in planned] == [(0.0, 11.0), (2.0, 7.0)]


def test_in_turn_one_waits_for_the_first_that_ends() -> None:
    jobs = [arrival("a", 0.0, 100.0, 10.0), arrival("b", 2.0, 100.0, 4.0), arrival("c", 3.0, 100.0, 8.0)]
    served = first_come(jobs, [0, 0, 0], 2, contention=0.5)
    # c begins at 7 s, when a has 4 s of work left, which take 5 s; c has done 4 of 8 by then and goes on alone.
    assert [(each.starts, each.ends) for each in served] == [(0.0, 12.0), (2.0, 7.0), (7.0, 16.0)]


def test_who_knows_what_company_does_promises_what_can_be_kept() -> None:
    # Both come together. The better setting takes 10 s alone and 12.5 s side by side, the other one 9 s and 11.25 s.
    jobs = [arrival(name, 0.0, 12.0, 9.0, 10.0) for name in ("a", "b")]
    knows = steered(jobs, 2, patience=1000.0, least_span=60.0, contention=0.5)
    assert [(each.choice, each.ends, each.promised) for each in knows] == [(0, 11.25, True)] * 2
    unaware = steered(jobs, 2, patience=1000.0, least_span=60.0, contention=0.5, believed=0.0)
    assert [(each.choice, each.ends, each.promised) for each in unaware] == [(1, 12.5, True)] * 2
