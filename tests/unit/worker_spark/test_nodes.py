"""Real clusters on this machine: one node and two, training and speed tests, and everything that can happen to them.

A cluster takes many seconds to start, so each test asks of its own as much as belongs together.
"""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from coxswain.worker import report
from coxswain.worker.ingest import app as ingest
from coxswain.worker.ingest.formats import Format
from coxswain.worker.ingest.plan import Plan
from coxswain.worker.ingest.sources import Digits
from coxswain.worker.report import ExitCode, Failure, Reason, Settings, State, usage
from coxswain.worker.spark import cluster, failures, training
from coxswain.worker.spark.cluster import Cluster
from coxswain.worker.spark.placing import placed
from tests.unit.worker_spark.conftest import ENOUGH, Node, Start

StartTwo = Callable[..., tuple[Node, Node]]

TRAINING = {"COXSWAIN_NETWORK": "shallow-cnn", "COXSWAIN_SAMPLES": 201, "COXSWAIN_BATCH_SIZE": 50}
CURVES = ("trainingLoss", "loss", "trainingAccuracy", "accuracy")


@pytest.fixture(scope="module")
def alone() -> dict[str, list[float]]:
    """What a single process without Spark learns in three epochs."""
    from coxswain.worker.report.message import _curve  # noqa: PLC0415
    from coxswain.worker.torch import data  # noqa: PLC0415 - torch takes seconds to import
    from coxswain.worker.torch.recipe import Recipe  # noqa: PLC0415
    from coxswain.worker.torch.trainer import Trainer  # noqa: PLC0415
    from coxswain.worker.torch.world import Place, World  # noqa: PLC0415

    recipe = Recipe.from_settings(Settings(network="shallow-cnn", samples=201, batch_size=50, epochs=3))
    dataset = data.load(recipe.dataset, recipe.samples, None, recipe.data_options)
    trainer = Trainer(recipe, dataset, World(Place(0, 1, 0, 1)), stop_wanted=lambda: False)
    curve: dict[str, Any] = _curve(list(trainer.epochs()))
    return curve


@pytest.mark.long
def test_two_executors_of_a_node_train_together_until_told_to_stop_and_go_on_later(
    start: Start, alone: dict[str, list[float]], tmp_path: Path
) -> None:
    settings = {
        **TRAINING,
        "COXSWAIN_EXECUTORS_PER_NODE": 2,
        "COXSWAIN_CORES_PER_EXECUTOR": "500m",
        "COXSWAIN_OUTPUT_PATH": tmp_path / "out",
        "COXSWAIN_SPARK_SECRET": "",  # a single node makes its own
    }
    node = start(**settings, COXSWAIN_EPOCHS=100000)
    node.wait_for("'epoch': 3,")
    shown = node.metrics()
    assert shown["coxswain_worker_epochs"] >= 3
    assert shown['coxswain_worker_state{state="training"}'] == 1
    for name in ("epoch_duration_seconds", "samples_per_second", "startup_seconds", "cpu_seconds_total"):
        assert shown[f"coxswain_worker_{name}"] > 0
    node.send(signal.SIGTERM)
    assert node.wait() == ExitCode.SUCCESS, node.output()
    words = node.words
    assert (words["state"], words["distribution"]) == ("stopped", "Mirrored")
    assert words["result"] == words["best"]
    assert {"spark", "torch"} <= words["versions"].keys()
    assert (words["parameters"]["executorsPerNode"], words["parameters"]["coresPerExecutor"]) == (2, 0.5)
    assert (tmp_path / "out/model.pt").exists()
    for name in CURVES:
        assert words["curve"][name][:1] == pytest.approx(alone[name][:1], abs=1e-4)

    trained = words["epochs"]
    later = start(**settings, COXSWAIN_EPOCHS=trained + 1)
    assert later.wait() == ExitCode.SUCCESS, later.output()
    assert (later.words["resumedAfterEpoch"], later.words["epochs"]) == (trained, trained + 1)


@pytest.mark.long
def test_two_nodes_learn_what_a_process_alone_learns(start_two: StartTwo, alone: dict[str, list[float]]) -> None:
    first, second = start_two(**TRAINING, COXSWAIN_EPOCHS=3)
    assert (first.wait(), second.wait()) == (ExitCode.SUCCESS, ExitCode.SUCCESS), first.output() + second.output()
    assert (first.words["state"], first.words["epochs"], first.words["distribution"]) == ("succeeded", 3, "MultiWorker")
    for name in CURVES:
        assert first.words["curve"][name] == pytest.approx(alone[name], abs=1e-4)
    assert (second.words["state"], second.words["worker"]) == ("succeeded", 1)


@pytest.mark.long
def test_when_a_node_is_killed_node_0_says_which(start_two: StartTwo) -> None:
    first, second = start_two(**TRAINING, COXSWAIN_EPOCHS=100000)
    first.wait_for("'epoch': 1,")
    second.send(signal.SIGKILL)
    assert first.wait(60) == ExitCode.INFRASTRUCTURE, first.output()
    assert first.words["reason"] == "PeerLost"
    assert first.words["message"] == "node 1 is gone: its connection broke."
    assert first.words["epochs"] >= 1


@pytest.mark.long
def test_when_node_0_is_killed_the_other_ends_with_the_reason(start_two: StartTwo) -> None:
    first, second = start_two(**TRAINING)
    second.wait_for("a Worker of spark://127.0.0.1:")
    first.send(signal.SIGKILL)
    assert second.wait(60) == ExitCode.INFRASTRUCTURE, second.output()
    assert (second.words["reason"], second.words["message"]) == (
        "PeerLost",
        "node 0 is gone: its connection broke.",
    )


@pytest.mark.long
def test_a_speed_test_on_one_node_goes_on_until_told_to_stop(start: Start) -> None:
    node = start(
        COXSWAIN_WORKLOAD="Ingest",
        COXSWAIN_DATASET="synthetic",
        COXSWAIN_SAMPLES=40,
        COXSWAIN_BATCH_SIZE=10,
        COXSWAIN_INGEST_BATCHES=3,
        COXSWAIN_INGEST_REPETITIONS=1000,
        COXSWAIN_INGEST_PARTITIONS=2,
    )
    node.wait_for("repetition 3:")
    shown = node.metrics()
    assert (shown["coxswain_worker_planned_epochs"], shown["coxswain_worker_epochs"] >= 3) == (1000, True)
    assert shown["coxswain_worker_samples_per_second"] > 0
    node.send(signal.SIGTERM)
    assert node.wait() == ExitCode.SUCCESS, node.output()
    words = node.words
    assert words["state"] == "stopped"
    assert words["imagesPerRepetition"] == 30
    assert words["samplesPerSecond"] > 0
    assert len(words["imagesPerSecond"]) == min(50, words["epochs"])
    assert (words["imagesWritten"], words["filesWritten"]) == (40, 2)


def word_of(job: report.Job) -> dict[str, Any]:
    return job._last_word(State.SUCCEEDED, None)


class Everything:
    """All that two nodes are asked to do, one after the other on the same cluster."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.done: list[str] = []

    def job(self, **changes: Any) -> report.Job:
        return report.Job(replace(self.settings, **changes))

    def __call__(self, running: Cluster) -> None:
        self.tasks_run_where_they_should(running)
        for kind in Format:
            self.each_form_gives_back_what_was_written(running, kind)
            self.prepared_files_are_read_behind_a_url(running, kind)
        self.images_of_different_sizes_are_refused(running)
        self.what_is_wrong_inside_a_training_is_told(running)
        self.a_lost_executor_is_noticed(running)
        self.a_damaged_file_ends_the_job(running)

    def tasks_run_where_they_should(self, running: Cluster) -> None:
        assert running.hosts == ["127.0.0.1", "127.0.0.2"]
        numbers = placed(running.context, 6, running.hosts)
        found = numbers.map(lambda number: (number, os.environ["JOB_COMPLETION_INDEX"])).collect()
        assert found == [(number, str(number % 2)) for number in range(6)]
        self.done.append("places")

    def each_form_gives_back_what_was_written(self, running: Cluster, kind: Format) -> None:
        job = self.job(ingest_format=kind, ingest_cache=True, output_path=self.folder / kind)
        ingest._SpeedTest(job)(running)
        word = word_of(job)
        assert (word["imagesWritten"], word["imagesPerRepetition"], word["cachedPartitions"]) == (48, 48, 4)
        assert word["filesWritten"] == (48 if kind is Format.IMAGES else 4)
        assert len(word["imagesPerSecond"]) == word["epochs"] == 2
        assert word["samplesPerSecond"] > 0
        # The batches hold every image once: 4 partitions of 2 batches of 6.
        plan = Plan.from_settings(job.settings)
        written = sorted((self.folder / kind).rglob("part-*"))
        files = [tuple(map(str, sorted(part.rglob("*.png")))) or (str(part),) for part in written]
        batches = placed(running.context, 4, running.hosts).flatMap(partial(ingest._read, plan, tuple(files))).collect()
        read = {image.tobytes() for batch in batches for image in batch}
        digits = Digits.load()
        chosen = {digits.image(number)[0].tobytes() for part in range(4) for number in plan.numbers(part)}
        assert [batch.shape for batch in batches] == [(6, 8, 8, 1)] * 8
        assert read == chosen
        self.done.append(kind)

    def prepared_files_are_read_behind_a_url(self, running: Cluster, kind: Format) -> None:
        job = self.job(
            dataset="prepared", samples=None, ingest_format=kind, data_url=f"file://{self.folder / kind}", extra={}
        )
        ingest._SpeedTest(job)(running)
        word = word_of(job)
        assert "writeSeconds" not in word
        assert (word["partitions"], word["epochs"]) == (4, 2)
        self.done.append(f"prepared {kind}")

    def images_of_different_sizes_are_refused(self, running: Cluster) -> None:
        sizes = self.folder / "sizes"
        sizes.mkdir()
        for side in (5, 6):
            Image.fromarray(np.zeros((side, side), np.uint8)).save(sizes / f"{side}.png")
        job = self.job(
            dataset="prepared", samples=None, extra={}, data_path=sizes, ingest_format="Images", ingest_partitions=1
        )
        with pytest.raises(Exception, match="coxswain failure") as caught:
            ingest._SpeedTest(job)(running)
        failure = failures.explain(caught.value, lambda: None)
        assert failure.sentence == "images of different sizes make no batch; set the extra parameter imageSize."
        self.done.append("sizes")

    def what_is_wrong_inside_a_training_is_told(self, running: Cluster) -> None:
        with pytest.raises(Failure) as caught:
            training._Training(self.job(workload="Train"))(running)
        assert caught.value.reason is Reason.BAD_PARAMETER
        assert "network perceptron is not known; use one of" in caught.value.sentence
        self.done.append("bad training")

    def a_lost_executor_is_noticed(self, running: Cluster) -> None:
        running.check()
        own = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in usage.tree(os.getpid(), usage.PROC)}
        os.kill(next(pid for pid, command in own.items() if b"CoarseGrainedExecutorBackend" in command), signal.SIGKILL)
        with pytest.raises(Failure, match=r"an executor was lost\."):
            self.check_until(running, time.monotonic() + ENOUGH)
        self.done.append("lost executor")

    def check_until(self, running: Cluster, deadline: float) -> None:
        while time.monotonic() < deadline:
            running.check()
            time.sleep(0.1)

    def a_damaged_file_ends_the_job(self, running: Cluster) -> None:
        damaged = next((self.folder / Format.TFRECORD).rglob("part-00002.tfrecord"))
        damaged.write_bytes(damaged.read_bytes()[:-1])
        job = self.job(dataset="prepared", samples=None, extra={}, data_path=damaged.parent, ingest_batches=100)
        ingest._SpeedTest(job)(running)
        self.done.append("never")


@pytest.mark.long  # pods write and read in tests of the cluster
def test_two_nodes_write_and_read_every_form(
    start: Start, free_port: Callable[[], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(
        engine="Spark",
        workload="Ingest",
        network="perceptron",
        dataset="digits",
        samples=48,
        batch_size=6,
        ingest_batches=8,
        ingest_repetitions=2,
        ingest_partitions=4,
        extra={"encoding": "png"},
        nodes=2,
        spark_secret="of this attempt",  # noqa: S106
        rendezvous_port=free_port(),
        pod_ip="127.0.0.1",
    )
    told = {name: value for name, value in settings.environment().items() if name != "JOB_COMPLETION_INDEX"}
    told.pop("COXSWAIN_POD_IP")
    second = start(1, **told)
    # This process is node 0, in an environment that is thrown away afterwards.
    monkeypatch.setattr("os.environ", {**os.environ, **settings.environment()})
    everything = Everything(settings, tmp_path)
    with pytest.raises(Failure) as caught:
        cluster.run(report.Job(settings), lambda _: everything)
    forms = [name for kind in Format for name in (kind, f"prepared {kind}")]
    assert everything.done == ["places", *forms, "sizes", "bad training", "lost executor"]
    assert caught.value.reason is Reason.BAD_DATA
    assert "part-00002.tfrecord is no TFRecord file or is damaged: the record at byte " in caught.value.sentence
    assert second.wait() == ExitCode.USER_ERROR, second.output()
    assert (second.words["reason"], second.words["message"]) == ("BadData", caught.value.sentence)


@pytest.mark.parametrize(
    ("variables", "reason", "sentence"),
    [
        ({"COXSWAIN_DATA_PATH": "/not/there"}, "BadData", "data path /not/there is not there; correct it or leave it"),
        ({"COXSWAIN_INGEST_FORMAT": "CSV"}, "BadParameter", "format CSV is not known; use one of Images, TFRecord"),
        ({"COXSWAIN_SAMPLES": 2000}, "BadData", "samples is 2000, but dataset digits has only 1797 images."),
        ({"COXSWAIN_MEMORY_PER_EXECUTOR": "512Mi"}, "BadParameter", "memoryPerExecutor is 512Mi, but a Spark executor"),
        ({"COXSWAIN_SPARK_SECRET": "", "COXSWAIN_NODES": 2}, "BadParameter", "COXSWAIN_SPARK_SECRET is missing; by it"),
        ({"PATH": "/nowhere", "JAVA_HOME": ""}, "Error", "there is no Java here, which Spark needs; install a Java 17"),
    ],
)
def test_what_the_user_must_change_is_said_in_one_sentence(
    start: Start, variables: dict[str, Any], reason: str, sentence: str
) -> None:
    node = start(COXSWAIN_WORKLOAD="Ingest", **variables)
    assert node.wait() == ExitCode.USER_ERROR, node.output()
    assert (node.words["state"], node.words["reason"]) == ("failed", reason)
    assert node.words["message"].startswith(sentence)
