"""The worker as it runs in pods: whole processes, alone and together, and everything that can happen to them."""

import json
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import torch

from coxswain.worker.report import ExitCode, Settings, usage
from coxswain.worker.torch import data
from coxswain.worker.torch.recipe import Recipe
from coxswain.worker.torch.trainer import Trainer
from coxswain.worker.torch.world import Place, World
from tests.unit.worker.conftest import Start, Worker

StartTwo = Callable[..., tuple[Worker, Worker]]


def curve(worker: Worker, name: str = "trainingLoss") -> list[float]:
    return [float(value) for value in worker.words["curve"][name]]


def test_one_worker_trains_and_says_what_it_ran_with(start: Start) -> None:
    worker = start(COXSWAIN_EPOCHS=2, COXSWAIN_BATCH_SIZE=32, COXSWAIN_EXTRA='{"dropout": "0.1"}', COXSWAIN_ATTEMPT=3)
    many = start(COXSWAIN_CORES_PER_WORKER="3900m")
    assert many.wait() == ExitCode.SUCCESS
    assert worker.wait() == ExitCode.SUCCESS, worker.output()
    words = worker.words
    assert (words["jobUid"], words["attempt"], words["state"], words["epochs"]) == ("uid-1", 3, "succeeded", 2)
    assert words["parameters"] == {
        "network": "shallow-cnn",
        "dataset": "digits",
        "samples": 200,
        "strategy": "DataParallel",
        "epochs": 2,
        "batchSize": 32,
        "learningRate": 0.01,
        "optimizer": "Adam",
        "schedule": "Constant",
        "seed": 0,
        "workers": 1,
        "processesPerWorker": 1,
        "coresPerWorker": 1.0,
        "extra": {"dropout": "0.1"},
    }
    assert words["trainingSamples"] == 200
    assert (words["threads"], many.words["threads"]) == (1, 3), "as many threads as whole cores"
    assert words["versions"]["torch"] == torch.__version__
    told_in_milliseconds = words["seconds"]["training"]
    assert sum(curve(worker, "seconds")) == pytest.approx(told_in_milliseconds, abs=0.001)


def test_two_workers_with_half_the_batch_each_learn_what_one_learns_alone(start: Start, start_two: StartTwo) -> None:
    # 201 samples in batches of 50: the last batch has a single sample, and one worker none of it.
    settings = {"COXSWAIN_EPOCHS": 3, "COXSWAIN_BATCH_SIZE": 50, "COXSWAIN_SAMPLES": 201}
    alone = start(**settings)
    first, second = start_two(**settings)
    for worker in (alone, first, second):
        assert worker.wait() == ExitCode.SUCCESS, worker.output()
    for name in ("trainingLoss", "loss", "trainingAccuracy", "accuracy"):
        assert curve(first, name) == pytest.approx(curve(alone, name), abs=1e-4)
        assert curve(second, name) == curve(first, name)
    assert (alone.words["distribution"], first.words["distribution"]) == ("OneDevice", "MultiWorker")


def test_federated_workers_agree_on_one_network(start_two: StartTwo, tmp_path: Path) -> None:
    first, second = start_two(
        COXSWAIN_STRATEGY="FederatedAveraging",
        COXSWAIN_EPOCHS=3,
        COXSWAIN_OUTPUT_PATH=tmp_path / "out",
        COXSWAIN_EXTRA='{"localEpochs": "2", "dirichletAlpha": "0.5"}',
    )
    assert (first.wait(), second.wait()) == (ExitCode.SUCCESS, ExitCode.SUCCESS), first.output()
    assert curve(first, "trainingLoss") == curve(second, "trainingLoss")
    # The first epoch is inside a round: there is no common network to validate yet. The last one always ends a round.
    assert first.words["curve"]["accuracy"][0] is None
    assert first.words["curve"]["accuracy"][1:] == second.words["curve"]["accuracy"][1:]
    assert (tmp_path / "out/model.pt").exists()


class Apart(World):
    """A worker of several that talks to nobody: what it learns from its own shard alone."""

    def total(self, values: Sequence[float]) -> list[float]:
        return list(values)

    def average(self, tensors: Iterable[torch.Tensor], weight: float = 1.0) -> None:
        pass


def test_federated_averaging_is_the_mean_of_what_each_learned_weighted_by_samples(
    start_two: StartTwo, tmp_path: Path
) -> None:
    extra = {"dirichletAlpha": "0.5"}
    first, _ = start_two(
        COXSWAIN_STRATEGY="FederatedAveraging",
        COXSWAIN_OUTPUT_PATH=tmp_path / "out",
        COXSWAIN_EXTRA=json.dumps(extra),
    )
    settings = Settings(network="shallow-cnn", samples=200, strategy="FederatedAveraging", workers=2, extra=extra)
    recipe = Recipe.from_settings(settings)
    dataset = data.load("digits", 200, None, data.Options())
    mean: dict[str, torch.Tensor] = {}
    for worker in range(2):
        apart = Trainer(recipe, dataset, Apart(Place(worker, 2, 0, 1), federated=True), stop_wanted=lambda: False)
        apart._train(1, apart._schedule.pace(1))
        for name, weight in apart.network.state_dict().items():
            mean[name] = mean.get(name, torch.zeros_like(weight)) + weight * len(apart._feed) / 200
    assert first.wait() == ExitCode.SUCCESS, first.output()
    learned = torch.load(tmp_path / "out/model.pt")["weights"]
    assert learned.keys() == mean.keys()
    for name, weight in learned.items():
        torch.testing.assert_close(weight, mean[name], atol=1e-5, rtol=1e-4)


def test_the_metrics_tell_the_job_and_its_progress(start: Start, free_port: int) -> None:
    worker = start(COXSWAIN_EPOCHS=100000, COXSWAIN_METRICS_PORT=free_port, COXSWAIN_METRICS_HOST="127.0.0.1")
    worker.wait_for("'epoch': 2")
    with urlopen(f"http://127.0.0.1:{free_port}/metrics") as answer:
        text = answer.read().decode()
    for sample in (
        'job_uid="uid-1"',
        'coxswain_worker_state{state="training"} 1.0',
        "coxswain_worker_planned_epochs 1",
    ):
        assert sample in text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(values["coxswain_worker_epochs"]) >= 2
    for name in (
        "coxswain_worker_epoch_duration_seconds",
        "coxswain_worker_samples_per_second",
        "coxswain_worker_startup_seconds",
        "coxswain_worker_cpu_seconds_total",
        "coxswain_worker_resident_memory_bytes",
        'coxswain_worker_loss{phase="validation"}',
        'coxswain_worker_accuracy_ratio{phase="training"}',
        'coxswain_worker_network_receive_packets_total{device="lo"}',
    ):
        assert float(values[name]) > 0
    worker.signal(signal.SIGTERM)
    assert worker.wait() == ExitCode.SUCCESS


def test_sigterm_to_one_worker_stops_both_with_the_best_checkpoint_as_result(
    start_two: StartTwo, tmp_path: Path
) -> None:
    first, second = start_two(COXSWAIN_EPOCHS=100000, COXSWAIN_OUTPUT_PATH=tmp_path / "out")
    first.wait_for("'epoch': 3")
    second.signal(signal.SIGTERM)
    assert (first.wait(), second.wait()) == (ExitCode.SUCCESS, ExitCode.SUCCESS), first.output()
    assert (first.words["state"], second.words["state"]) == ("stopped", "stopped")
    assert first.words["epochs"] == second.words["epochs"] >= 3
    assert first.words["result"] == first.words["best"]
    best, model = torch.load(tmp_path / "out/best.pt"), torch.load(tmp_path / "out/model.pt")
    assert all(torch.equal(model["weights"][name], weight) for name, weight in best.items())


def test_a_killed_worker_goes_on_from_its_checkpoint_as_if_nothing_had_happened(start: Start, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"COXSWAIN_EPOCHS": 8, "COXSWAIN_EXTRA": '{"dropout": "0.3"}'}
    undisturbed = start(**settings)
    killed = start(**{**settings, "COXSWAIN_EPOCHS": 100000}, COXSWAIN_OUTPUT_PATH=tmp_path / "out")
    killed.wait_for("'epoch': 3")
    killed.signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    assert undisturbed.wait() == ExitCode.SUCCESS
    trained = len(torch.load(tmp_path / "out/checkpoint.pt")["history"])
    resumed = start(**{**settings, "COXSWAIN_EPOCHS": trained + 2}, COXSWAIN_OUTPUT_PATH=tmp_path / "out")
    assert resumed.wait() == ExitCode.SUCCESS, resumed.output()
    assert resumed.words["resumedAfterEpoch"] == trained
    assert resumed.words["epochs"] == trained + 2
    shared = min(8, trained + 2)
    assert curve(resumed)[:shared] == curve(undisturbed)[:shared]


def test_a_checkpoint_of_another_job_is_refused(start: Start, tmp_path: Path) -> None:
    first = start(COXSWAIN_OUTPUT_PATH=tmp_path / "out")
    assert first.wait() == ExitCode.SUCCESS
    other = start(COXSWAIN_OUTPUT_PATH=tmp_path / "out", COXSWAIN_JOB_UID="uid-2")
    changed = start(COXSWAIN_OUTPUT_PATH=tmp_path / "out", COXSWAIN_LEARNING_RATE="0.5")
    assert (other.wait(), changed.wait()) == (ExitCode.USER_ERROR, ExitCode.USER_ERROR)
    assert other.words["reason"] == changed.words["reason"] == "CheckpointRefused"
    assert "jobUid is 'uid-1' there and 'uid-2' here" in other.words["message"]
    assert "learningRate is 0.01 there and 0.5 here" in changed.words["message"]


@pytest.mark.parametrize(
    ("variables", "reason", "sentence"),
    [
        ({"COXSWAIN_NETWORK": "resnet"}, "BadParameter", "network resnet is not known; use one of fashion-cnn"),
        ({"COXSWAIN_BATCH_SIZE": 201}, "BadParameter", "batchSize 201 is larger than the 200 training samples"),
        ({"COXSWAIN_SAMPLES": 2000}, "BadData", "samples is 2000, but dataset digits has only 1438 training images"),
        ({"COXSWAIN_DATA_PATH": "/not/there"}, "BadData", "data path /not/there is not there"),
        ({"COXSWAIN_EXTRA": '{"dropuot": "1"}'}, "BadParameter", "extra parameter dropuot is not known here"),
        ({"COXSWAIN_EXTRA": '{"dropout": "2"}'}, "BadParameter", "it must be a number between 0 and 0.95"),
        ({"COXSWAIN_OPTIMIZER": "LBFGS"}, "BadParameter", "optimizer LBFGS is not known; use one of SGD, Adam"),
        ({"COXSWAIN_ENGINE": "Flink"}, "BadParameter", "there is no worker for Flink Train"),
        (
            {"COXSWAIN_LEARNING_RATE": 1e30, "COXSWAIN_OPTIMIZER": "SGD", "COXSWAIN_EPOCHS": 5},
            "Diverged",
            "the loss is no longer a finite number; lower learningRate",
        ),
    ],
)
def test_what_the_user_must_change_is_said_in_one_sentence(
    start: Start, variables: dict[str, Any], reason: str, sentence: str
) -> None:
    worker = start(**variables)
    assert worker.wait() == ExitCode.USER_ERROR, worker.output()
    assert (worker.words["state"], worker.words["reason"]) == ("failed", reason)
    assert sentence in worker.words["message"]


@pytest.mark.parametrize("victim", [0, 1])
def test_when_a_peer_is_killed_the_other_ends_with_a_clear_reason(start_two: StartTwo, victim: int) -> None:
    workers = start_two(COXSWAIN_EPOCHS=100000)
    workers[0].wait_for("'epoch': 1")
    workers[victim].signal(signal.SIGKILL)
    survivor = workers[1 - victim]
    assert survivor.wait(60) == ExitCode.INFRASTRUCTURE, survivor.output()
    assert survivor.words["reason"] == "PeerLost"


@pytest.mark.parametrize("silent", [0, 1])
def test_a_peer_that_falls_silent_is_given_up(start_two: StartTwo, silent: int) -> None:
    workers = start_two(COXSWAIN_EPOCHS=100000, COXSWAIN_PEER_TIMEOUT_SECONDS=3)
    workers[0].wait_for("'epoch': 1")
    workers[silent].signal(signal.SIGSTOP)
    other = workers[1 - silent]
    assert other.wait(60) == ExitCode.INFRASTRUCTURE, other.output()
    assert other.words["message"] == f"worker {silent} has been silent for 3 s."


def test_two_processes_of_one_worker_learn_the_same_and_the_death_of_one_is_told(start: Start, free_port: int) -> None:
    alone = start(COXSWAIN_EPOCHS=2)
    with socket.create_server(("127.0.0.1", free_port)):  # which must not matter to one worker
        mirrored = start(COXSWAIN_EPOCHS=100000, COXSWAIN_PROCESSES_PER_WORKER=2, COXSWAIN_RENDEZVOUS_PORT=free_port)
        mirrored.wait_for("'epoch': 2")
    (child,) = [child for child in usage.tree(mirrored.process.pid) if child != mirrored.process.pid]
    os.kill(child, signal.SIGKILL)
    assert (mirrored.wait(60), alone.wait()) == (ExitCode.INFRASTRUCTURE, ExitCode.SUCCESS), mirrored.output()
    assert mirrored.words["message"] == "process 1 of this worker was killed by signal 9."
    assert mirrored.words["distribution"] == "Mirrored"
    assert curve(mirrored)[:1] == pytest.approx(curve(alone)[:1], abs=1e-4)


def test_a_port_that_is_taken_is_told(start_two: StartTwo, free_port: int) -> None:
    with socket.create_server(("127.0.0.1", free_port)):
        first, _ = start_two()
        assert first.wait() == ExitCode.INFRASTRUCTURE
    assert first.words["message"] == f"the first worker cannot listen on port {free_port}; it is taken."


def test_a_peer_that_never_comes_is_named(start: Start, free_port: int) -> None:
    worker = start(COXSWAIN_WORKERS=2, COXSWAIN_RENDEZVOUS_PORT=free_port, COXSWAIN_RENDEZVOUS_TIMEOUT_SECONDS=1)
    assert worker.wait() == ExitCode.INFRASTRUCTURE
    assert (worker.words["reason"], worker.words["message"]) == (
        "RendezvousTimeout",
        "worker 1 did not come within 1 s.",
    )


def _no_large_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


def test_a_full_disk_is_told_by_the_worker_that_met_it_and_by_its_peer(
    start: Start, free_port: int, tmp_path: Path
) -> None:
    settings = {"COXSWAIN_WORKERS": 2, "COXSWAIN_RENDEZVOUS_PORT": free_port, "COXSWAIN_OUTPUT_PATH": tmp_path / "out"}
    first = start(_no_large_files, **settings, JOB_COMPLETION_INDEX=0)
    second = start(**settings, JOB_COMPLETION_INDEX=1)
    assert (first.wait(), second.wait()) == (ExitCode.USER_ERROR, ExitCode.USER_ERROR)
    assert (first.words["reason"], second.words["reason"]) == ("DiskFull", "DiskFull")
    assert str(tmp_path / "out/best.pt") in first.words["message"]
    assert second.words["message"].startswith("worker 0: the disk is full")
    assert list((tmp_path / "out").iterdir()) == []


def _little_memory() -> None:
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 400 * 2**20, size + 400 * 2**20))


def test_running_out_of_memory_is_told(start: Start) -> None:
    worker = start(
        _little_memory,
        COXSWAIN_DATASET="synthetic",
        COXSWAIN_SAMPLES=200,
        COXSWAIN_BATCH_SIZE=200,
        COXSWAIN_EXTRA='{"imageSize": "256"}',
    )
    assert worker.wait() == ExitCode.USER_ERROR, worker.output()
    assert worker.words["reason"] == "OutOfMemory"
