"""Which jobs start next, and with which settings, so that as many as possible are done in time.

    Snapshot ──> board (arrays, luck) ──> assign, search (settings, order) ──> simulation ──> decisions

`plan` is all that a caller needs beside the values it takes and gives; `promise_level` is the confidence to give a job
with several candidates, so that what it is promised holds as often as it was asked to.
"""

from coxswain.core.planning.arrivals import Came, arrivals_like
from coxswain.core.planning.planner import plan
from coxswain.core.planning.promise import promise_level, strictest
from coxswain.core.planning.times import Times, exactly, lognormal, times_of
from coxswain.core.planning.values import (
    Arrivals,
    Candidate,
    Capacity,
    Decision,
    Forecast,
    Infeasible,
    Opening,
    Pending,
    Plan,
    Quantiles,
    Running,
    Snapshot,
)

__all__ = [
    "Arrivals",
    "Came",
    "Candidate",
    "Capacity",
    "Decision",
    "Forecast",
    "Infeasible",
    "Opening",
    "Pending",
    "Plan",
    "Quantiles",
    "Running",
    "Snapshot",
    "Times",
    "arrivals_like",
    "exactly",
    "lognormal",
    "plan",
    "promise_level",
    "strictest",
    "times_of",
]
