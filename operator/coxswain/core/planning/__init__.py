"""Which jobs start next, and with which settings, so that as many as possible are done in time.

    Snapshot ──> board (arrays, luck) ──> assign, search (settings, order) ──> simulation ──> decisions

`plan` is all that a caller needs beside the values it takes and gives.
"""

from coxswain.core.planning.planner import plan
from coxswain.core.planning.times import Times, exactly, lognormal, times_of
from coxswain.core.planning.values import (
    Arrivals,
    Candidate,
    Capacity,
    Decision,
    Forecast,
    Infeasible,
    Pending,
    Plan,
    Quantiles,
    Running,
    Snapshot,
)

__all__ = [
    "Arrivals",
    "Candidate",
    "Capacity",
    "Decision",
    "Forecast",
    "Infeasible",
    "Pending",
    "Plan",
    "Quantiles",
    "Running",
    "Snapshot",
    "Times",
    "exactly",
    "lognormal",
    "plan",
    "times_of",
]
