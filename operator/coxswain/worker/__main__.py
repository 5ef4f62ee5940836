"""`python -m coxswain.worker`: what a pod of a built-in workload runs.

The engine and the workload choose the program. It is imported inside the job, because that takes seconds: meanwhile
the job can be watched, can be asked to stop, and can say so if a library is missing.
"""

import importlib
import logging
import os
import signal
import sys

from coxswain.worker import report
from coxswain.worker.report.contract import LOCAL_PROCESS

_PROGRAMS = {
    ("Torch", "Train"): "coxswain.worker.torch.app",
    ("Spark", "Train"): "coxswain.worker.spark.training",
    ("Spark", "Ingest"): "coxswain.worker.ingest.app",
}


def main() -> None:
    """Run the program the environment asks for."""
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(message)s")
    local = os.environ.get(LOCAL_PROCESS)
    if local:
        # Its main process is asked to stop as well, and all agree on where.
        for wish in (signal.SIGTERM, signal.SIGINT):
            signal.signal(wish, signal.SIG_IGN)
        settings = report.Settings.from_environment()
        importlib.import_module(_program(settings)).take_part(settings, int(local))
        return
    with report.job() as job:
        importlib.import_module(_program(job.settings)).main(job)


def _program(settings: report.Settings) -> str:
    wanted = (settings.engine, settings.workload)
    if wanted not in _PROGRAMS:
        known = ", ".join(" ".join(program) for program in _PROGRAMS)
        raise report.Failure(
            report.Reason.BAD_PARAMETER, f"there is no worker for {' '.join(wanted)}; use one of {known}."
        )
    return _PROGRAMS[wanted]


if __name__ == "__main__":
    main()
