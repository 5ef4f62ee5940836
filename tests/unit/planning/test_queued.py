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
