"""In which order jobs start: priority, then the earliest deadline; who waited for too long first, who is late last.

Within a priority come first those that have waited longer than the queue's patience and have no deadline they could
still meet, the oldest ahead; then those with a deadline, the earliest ahead; then the others, the oldest ahead. A job
that cannot be in time gives way to all that can, whatever their priority, until its patience is over: so nobody waits
for ever, and nobody is late for the sake of one who is late anyway. One that is late and is not to run comes last.
"""

import numpy as np

from coxswain.core.models.types import Bools, Floats, Ints
from coxswain.core.planning.values import Infeasible, Snapshot


def in_order(
    snapshot: Snapshot, *, priority: Ints, due: Floats, created: Floats, late: Bools, earlier: Ints | None = None
) -> Ints:
    """The jobs' places in the order of their start; `earlier` is an order to be kept among jobs with deadlines."""
    timed = np.isfinite(due) & ~late
    waited = ~timed & (created + snapshot.patience <= snapshot.now)
    group = np.where(waited, 0, np.where(timed, 1, 2))
    within = np.where(timed, due, created)
    if earlier is not None:
        place = np.empty(len(due))
        place[earlier] = np.arange(len(due))
        within = np.where(timed, place, created)
    runs_anyway = np.array([job.when_infeasible is Infeasible.RUN_ANYWAY for job in snapshot.pending], dtype=bool)
    gives_way = np.where(late & ~runs_anyway, 2, late & ~waited)
    return np.lexsort((created, within, group, -priority, gives_way)).astype(np.int64)
