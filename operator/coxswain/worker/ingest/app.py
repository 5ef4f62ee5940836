"""The speed test itself: Spark's tasks prepare the images, then read them again and again while the clock runs.

What is timed is what the cluster as a whole takes, from asking for batches to having had them all, decoded, each in
the memory of the executor that read it. Processes are started and libraries imported before the clock is.
"""

import itertools
import logging
import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from coxswain.worker import report
from coxswain.worker.ingest import formats, pictures
from coxswain.worker.ingest.formats import Written
from coxswain.worker.ingest.pictures import Picture, Pixels
from coxswain.worker.ingest.plan import Plan
from coxswain.worker.report import Epoch, Failure, Reason, Stopped
from coxswain.worker.spark import cluster
from coxswain.worker.spark.cluster import Cluster
from coxswain.worker.spark.failures import told
from coxswain.worker.spark.placing import cached_partitions, placed

if TYPE_CHECKING:
    from pyspark import RDD

LOG = logging.getLogger(__name__)
_MOST_FIGURES = 50


def main(job: report.Job) -> None:
    """Measure as a node of a cluster."""
    cluster.run(job, _SpeedTest)


class _SpeedTest:
    """A speed test on a cluster; making one checks what it is to do."""

    def __init__(self, job: report.Job) -> None:
        self._job, self._plan = job, Plan.from_settings(job.settings)
        job.parameters |= {"dataset": self._plan.dataset}

    def __call__(self, running: Cluster) -> None:
        job, plan = self._job, self._plan
        partitions = placed(running.context, plan.partitions, running.hosts)
        partitions.map(_warm_up).count()
        output = job.settings.output_path
        folder = output or Path(tempfile.gettempdir(), f"coxswain-ingest-{job.settings.job_uid}-{time.time_ns()}")
        try:
            files = self._write(partitions, folder / plan.format.lower()) if plan.source else plan.files
            batches = partitions.flatMap(partial(_read, plan, files))
            self._repeat(running, batches.cache() if plan.cache else batches)
            if plan.cache:
                job.describe(cachedPartitions=cached_partitions(batches))
        finally:
            if output is None:
                shutil.rmtree(folder, ignore_errors=True)

    def _write(self, partitions: "RDD[int]", folder: Path) -> tuple[tuple[str, ...], ...]:
        """Prepare the data, and say which files a partition is in."""
        job, plan = self._job, self._plan
        self._may_stop()
        shutil.rmtree(folder, ignore_errors=True)  # what an earlier attempt has left
        began = time.perf_counter()
        written = partitions.map(partial(_write, plan, folder)).collect()
        seconds = time.perf_counter() - began
        size = sum(part.bytes for part in written)
        LOG.info("wrote %d images (%d bytes) in %.3f s", plan.samples, size, seconds)
        job.describe(
            writeSeconds=round(seconds, 4),
            imagesWritten=plan.samples,
            imagesWrittenPerSecond=round(plan.samples / seconds, 2),
            bytesWritten=size,
            filesWritten=sum(len(part.files) for part in written),
        )
        return tuple(part.files for part in written)

    def _repeat(self, running: Cluster, batches: "RDD[Pixels]") -> None:
        """Read all batches as often as asked, and say how long it took each time."""
        job, plan = self._job, self._plan
        figures: list[float] = []
        job.describe(imagesPerRepetition=plan.images, partitions=plan.partitions)
        job.training()
        for repetition in range(1, plan.repetitions + 1):
            self._may_stop()
            began = time.perf_counter()
            images = batches.map(len).sum()
            seconds = time.perf_counter() - began
            running.check()
            job.record(Epoch(repetition, seconds), images)
            figures.append(round(images / seconds, 2))
            LOG.info("repetition %d: %d images in %.3f s, %.1f a second", repetition, images, seconds, figures[-1])
            job.describe(imagesPerSecond=_spread(figures))

    def _may_stop(self) -> None:
        if self._job.stop_requested:
            raise Stopped


def _spread(figures: list[float]) -> list[float]:
    """As many figures as there is room for in the last word, from first to last."""
    count = min(len(figures), _MOST_FIGURES)
    return [figures[len(figures) * place // count] for place in range(count)]


def _warm_up(_partition: int) -> None:
    """What a process does for the first time takes longer; so it does it once before the clock runs."""
    pictures.decode(pictures.encode(np.zeros((8, 8, 3), np.uint8), pictures.Encoding.JPEG), 0, "the first image")


@told()
def _write(plan: Plan, folder: Path, partition: int) -> Written:
    if plan.source is None:
        raise ValueError("there is nothing to write")
    images = (plan.source.image(number) for number in plan.numbers(partition))
    encoded = [Picture(pictures.encode(pixels, plan.encoding), label) for pixels, label in images]
    return formats.write(plan.format, folder, partition, plan.encoding, encoded)


def _read(plan: Plan, files: tuple[tuple[str, ...], ...], partition: int) -> Iterator[Pixels]:
    """The batches of a partition, one array each; a partition that has no more images begins again."""
    with told():
        images = _images(plan, files[partition])
        for _ in range(plan.batches_of(partition)):
            yield _batch(list(itertools.islice(images, plan.batch_size)))


def _images(plan: Plan, files: tuple[str, ...]) -> Iterator[Pixels]:
    """The images of some files, over and over."""
    while True:
        empty = True
        for name in files:
            for picture in formats.read(plan.format, name):
                yield pictures.decode(picture.content, plan.side, name)
                empty = False
        if empty:
            raise Failure(Reason.BAD_DATA, f"{files[0]} holds no image; replace or remove it.")


def _batch(images: list[Pixels]) -> Pixels:
    if len({image.shape for image in images}) > 1:
        raise Failure(Reason.BAD_DATA, "images of different sizes make no batch; set the extra parameter imageSize.")
    return np.stack(images)
