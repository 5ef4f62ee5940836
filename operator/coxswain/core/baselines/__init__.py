"""Policies that choose a job's setting for a deadline, and what would have come of them on runs that are recorded.

Recorded (contexts with their candidates) ──> folds of whole contexts ──> each policy learns from the others
                                              deadlines, truths      ──> what it picks, promises and keeps
                                              arrivals, servers      ──> and how long its jobs wait for each other
"""

from coxswain.core.baselines.arriving import Poisson, QueuedResult, backtest_queue, parse_arrivals
from coxswain.core.baselines.backtest import Result, backtest
from coxswain.core.baselines.deadlines import Contested, Deadlines, Normal, parse_deadlines
from coxswain.core.baselines.policies import POLICIES, Policy
from coxswain.core.baselines.recorded import Context, Recorded, read_recorded

__all__ = [
    "POLICIES",
    "Contested",
    "Context",
    "Deadlines",
    "Normal",
    "Poisson",
    "Policy",
    "QueuedResult",
    "Recorded",
    "Result",
    "backtest",
    "backtest_queue",
    "parse_arrivals",
    "parse_deadlines",
    "read_recorded",
]
