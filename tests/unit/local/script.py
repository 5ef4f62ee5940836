"""A user's own training script, as short as one gets: it follows the contract and sleeps instead of learning.

The extra parameter `wish` says what should befall it; `seconds` how long an epoch takes.
"""

import os
import signal
import sys
import time

from coxswain.worker import report

with report.job() as job:
    settings, first_try = job.settings, job.settings.attempt == 1
    sys.stdout.write(f"output {settings.output_path}\ncores {sorted(os.sched_getaffinity(0))}\n")
    sys.stdout.flush()
    match settings.extra.get("wish"):
        case "bad data":
            raise report.Failure(report.Reason.BAD_DATA, "the data is not there.")
        case "bad data in worker 1" if settings.worker == 1:
            raise report.Failure(report.Reason.BAD_DATA, "the second worker has no data.")
        case "bad luck at first" if first_try:
            raise ConnectionError("the peer hung up")
        case "bad luck always":
            raise ConnectionError("the peer hung up")
        case "killed at first" if first_try:
            os.kill(os.getpid(), signal.SIGKILL)
        case "stopped at first" if first_try:
            os.kill(os.getpid(), signal.SIGTERM)
        case "crash":
            os._exit(3)
        case "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for epoch in range(settings.epochs):
        time.sleep(float(settings.extra.get("seconds", "0")))
        noise = settings.seed % 1000 / 100_000
        job.epoch(loss=1 / (epoch + 1), accuracy=0.5 + 0.05 * epoch + settings.batch_size / 1000 + noise, samples=100)
