"""The contract between a job and whoever started it; a user's own script needs two lines of it.

    from coxswain.worker import report

    with report.job() as job:
        ...
        job.epoch(loss=loss, accuracy=accuracy)

docs/worker-contract.md says what goes in and what comes out. Nothing here needs more than the standard library and
prometheus-client.
"""

from coxswain.worker.report.contract import ExitCode, Failure, Reason, State, Stopped, explain
from coxswain.worker.report.job import Job, job
from coxswain.worker.report.message import Epoch
from coxswain.worker.report.settings import Settings

__all__ = ["Epoch", "ExitCode", "Failure", "Job", "Reason", "Settings", "State", "Stopped", "explain", "job"]
