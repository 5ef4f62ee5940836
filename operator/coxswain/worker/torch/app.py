"""A training job inside its pod, or as processes on this machine.

The main process of a worker is its first replica and speaks for it: it serves the metrics and has the last word.
Further ones (processesPerWorker) are processes it starts, which say nothing but take part. Every process loads the
data itself, so that pods need to share no more than the read-only claim.
"""

import contextlib
import logging
import math
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.distributed as dist

from coxswain.worker import report
from coxswain.worker.report import Failure, Settings, State, Stopped
from coxswain.worker.report.contract import LOCAL_PROCESS
from coxswain.worker.torch import data, failures, rendezvous
from coxswain.worker.torch.checkpoint import Checkpoints
from coxswain.worker.torch.monitor import Monitor
from coxswain.worker.torch.recipe import Recipe, Strategy
from coxswain.worker.torch.trainer import Trainer
from coxswain.worker.torch.world import Place, World

LOG = logging.getLogger(__name__)
_LEAVE_SECONDS = 10.0


def main(job: report.Job) -> None:
    """Train as the main process of a worker."""
    try:
        trainer = _train(job)
    except Exception as error:
        raise failures.explain(error) from error
    if trainer.stopped:
        raise Stopped


def _train(job: report.Job) -> Trainer:
    settings = job.settings
    recipe = Recipe.from_settings(settings)
    job.parameters |= {"network": recipe.network, "dataset": recipe.dataset}
    place = Place(settings.worker, settings.workers, 0, settings.processes_per_worker)

    def abort(failure: Failure) -> None:
        if job.end(State.FAILED, failure):
            LOG.error("%s: %s", failure.reason, failure.sentence)
        os._exit(failure.reason.exit_code)

    listener = rendezvous.listen(settings, place) if place.size > 1 else None
    if listener is not None:
        settings = replace(settings, rendezvous_port=listener.getsockname()[1])
    with (
        _further_processes(settings) as children,
        _together(settings, place, job.stop, abort, listener=listener, children=children),
    ):
        trainer = _trainer(settings, recipe, place, job.stop)
        job.resume(trainer.history)
        job.describe({"torch": torch.__version__, "numpy": np.__version__}, distribution=place.strategy)
        job.describe(**trainer.facts, threads=torch.get_num_threads())
        job.training()
        for epoch in trainer.epochs():
            job.record(epoch, trainer.samples)
            LOG.info("%s", epoch.summary())
        job.describe(stoppedEarly=trainer.stopped_early)
    return trainer


def take_part(settings: Settings, local: int) -> None:
    """Train as a further process of a worker, which leaves the talking to the main process."""
    place = Place(settings.worker, settings.workers, local, settings.processes_per_worker)
    stop = threading.Event()
    try:
        with _together(settings, place, stop, lambda failure: os._exit(failure.reason.exit_code)):
            for _ in _trainer(settings, Recipe.from_settings(settings), place, stop).epochs():
                pass
    except Failure as failure:
        sys.exit(failure.reason.exit_code)


@contextlib.contextmanager
def _further_processes(settings: Settings) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start the worker's other processes; at the end wait for them, but not for ever."""
    command = [sys.executable, "-m", "coxswain.worker"]
    children = [
        subprocess.Popen(command, env={**os.environ, **settings.environment(), LOCAL_PROCESS: str(local)})
        for local in range(1, settings.processes_per_worker)
    ]
    try:
        yield children
        for child in children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_LEAVE_SECONDS)
    finally:
        for child in children:
            child.kill()
            child.wait()


@contextlib.contextmanager
def _together(
    settings: Settings,
    place: Place,
    stop: threading.Event,
    abort: Callable[[Failure], None],
    *,
    listener: socket.socket | None = None,
    children: Sequence[subprocess.Popen[bytes]] = (),
) -> Iterator[None]:
    """Meet the other processes and watch over them; what happens to one of them is known to all."""
    _use_cores(settings)
    if place.size == 1:
        yield
        return
    store = rendezvous.open_store(settings, listener)
    monitor = Monitor(store.clone(), place, stop=stop, silence=settings.peer_timeout, abort=abort, children=children)
    try:
        rendezvous.meet(store, settings, place)
        yield
        dist.barrier()
        monitor.leave()
        dist.destroy_process_group()
    except Exception as error:
        cause = monitor.cause() if failures.broken_connection(error) else None
        failure = cause or failures.explain(error)
        monitor.tell(failure)
        raise failure from error


def _trainer(settings: Settings, recipe: Recipe, place: Place, stop: threading.Event) -> Trainer:
    """Everything that training needs, put together, at the point where an earlier attempt ended."""
    dataset = data.load(recipe.dataset, recipe.samples, recipe.data_path, recipe.data_options)
    world = World(place, federated=recipe.strategy is Strategy.FEDERATED_AVERAGING)
    checkpoints = None
    if settings.output_path is not None and place.rank == 0:
        settings.output_path.mkdir(parents=True, exist_ok=True)
        checkpoints = Checkpoints(settings.output_path, settings.job_uid, recipe.fingerprint())
    trainer = Trainer(recipe, dataset, world, stop_wanted=stop.is_set, checkpoints=checkpoints)
    trainer.resume()
    return trainer


def _use_cores(settings: Settings) -> None:
    """As many threads as this process has whole cores: more would only wait for each other."""
    cores = settings.cores_per_worker or len(os.sched_getaffinity(0))
    torch.set_num_threads(max(1, math.floor(cores / settings.processes_per_worker)))
