"""What the best setting does to a queue of such jobs, by the textbook's formulas.

Jobs arrive at the rate at which the start would keep its servers busy four fifths of the time, as in the BigDL study;
at the same rate, the best setting leaves the servers idle for longer, or lets jobs wait for longer.
"""

from dataclasses import dataclass
from statistics import fmean

from coxswain.core.queueing.formulas import Queue
from coxswain.core.search.course import Course

UTILIZATION = 0.8
SERVERS = (1, 4)


@dataclass(frozen=True)
class Queues:
    """The same jobs before and after the search; times are in seconds."""

    before: Queue
    after: Queue


def queues_of(course: Course) -> tuple[Queues, ...]:
    """The queue with one server and with four, at the start's setting and at the best one's; none without both."""
    if course.start is None or course.best is None or course.best.row == course.start.row:
        return ()
    slow, fast = fmean(course.start.seconds), fmean(course.best.seconds)
    if not (slow > 0 and fast > 0):
        return ()
    queues = []
    for servers in SERVERS:
        before = Queue.at_utilization(UTILIZATION, 1 / slow, servers)
        queues.append(Queues(before, Queue(before.arrival_rate, 1 / fast, servers)))
    return tuple(queues)
