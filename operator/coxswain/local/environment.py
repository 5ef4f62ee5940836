"""What a worker of this machine is told: the job's parameters as every worker gets them, and where its own files are.

The parameters are told as a pod is told them; see docs/worker-contract.md.
"""

import itertools
import os
import secrets
import socket
from dataclasses import replace
from pathlib import Path

from coxswain.core.expand import PlannedJob
from coxswain.core.manifests.environment import variables
from coxswain.local.plan import Claims
from coxswain.worker.report import Settings

_LOOPBACK = "127.0.0.1"
# Below the range from which systems take the ports of outgoing connections: nobody gets one of these by chance.
_PORTS = itertools.cycle(range(20000 + os.getpid() % 100 * 100, 32000))


def job_settings(job: PlannedJob, attempt: int, claims: Claims, *, fresh: bool) -> Settings:
    """What all workers of an attempt are told.

    With `fresh`, every attempt has an output folder of its own and so starts from the beginning: in an experiment its
    duration is the measurement.
    """
    spec = job.spec
    data = output = None
    if spec.data is not None and spec.data.claim is not None:
        data = claims[spec.data.claim] / (spec.data.path or "")
    if spec.output is not None:
        output = claims[spec.output.claim] / (spec.output.path or "") / (f"attempt-{attempt}" if fresh else "")
    return replace(
        Settings.from_environment(variables(spec)),
        job_uid=uid(job),
        attempt=attempt,
        spark_secret=secrets.token_hex(32),
        rendezvous_host=_LOOPBACK,
        rendezvous_port=_free_port(),
        data_path=data,
        output_path=output,
        metrics_host=_LOOPBACK,
    )


def worker_environment(settings: Settings, worker: int, termination_log: Path) -> tuple[dict[str, str], int]:
    """The environment of one worker, and the port of its metrics."""
    own = replace(
        settings,
        worker=worker,
        pod_ip=f"127.0.0.{worker % 254 + 1}",  # so that the nodes of a Spark cluster are told apart
        metrics_port=_free_port(),
        termination_log=termination_log,
    )
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COXSWAIN_")}
    return {**inherited, **own.environment()}, own.metrics_port or 0


def uid(job: PlannedJob) -> str:
    """What stands for the UID that a cluster would give the job: the same for every attempt of the same job."""
    return f"{job.name}.{job.digest.removeprefix('sha256:')[:12]}"


def _free_port() -> int:
    """A port nobody listens on."""
    for port in _PORTS:
        with socket.socket() as probe:
            try:
                probe.bind((_LOOPBACK, port))
            except OSError:
                continue
            return port
    raise AssertionError("the ports repeat for ever")
