"""What a speed test is to do, checked before a cluster is started for it."""

from dataclasses import dataclass

from coxswain.core.errors import InputError
from coxswain.worker.ingest import places
from coxswain.worker.ingest.formats import SUFFIXES, Format
from coxswain.worker.ingest.pictures import Encoding
from coxswain.worker.ingest.sources import Digits, Folder, Source, Synthetic
from coxswain.worker.report import Failure, Reason, Settings
from coxswain.worker.torch import options

PREPARED = "prepared"
"""The data set that is read where it is: files of the format, written by an earlier job or by something else."""
_DATASETS = ("digits", "synthetic", "folder", PREPARED)
_SIDE = 64
_SYNTHETIC_SAMPLES = 1000


@dataclass(frozen=True)
class Options:
    """What a job may set beside its parameters."""

    encoding: str = options.choice("jpeg", "png")
    image_size: int = options.whole(0, 0)
    """Pixels of a side; 0 leaves images of a size of their own as they are."""
    channels: int = options.whole(3)


@dataclass(frozen=True)
class Plan:
    """A speed test."""

    dataset: str
    format: Format
    encoding: Encoding
    side: int
    source: Source | None
    """What to prepare; None reads what is there."""
    samples: int
    files: tuple[tuple[str, ...], ...]
    """By partition, what there is to read already."""
    partitions: int
    batch_size: int
    batches: int
    repetitions: int
    cache: bool

    @classmethod
    def from_settings(cls, settings: Settings) -> "Plan":
        """The speed test a job asks for."""
        kind = _format(settings.ingest_format)
        dataset = settings.dataset or "digits"
        if dataset not in _DATASETS:
            raise InputError(f"dataset {dataset} is not known to Ingest; use one of {', '.join(_DATASETS)}.")
        (chosen,) = options.read([Options], settings.extra)
        place = places.data_place(settings)
        source = files = None
        if dataset == PREPARED:
            files = _prepared(kind, place, settings)
        else:
            source = _source(dataset, place, chosen, settings.samples)
        partitions = len(files) if files else settings.ingest_partitions
        return cls(
            dataset=dataset,
            format=kind,
            encoding=Encoding(chosen.encoding),
            side=chosen.image_size,
            source=source,
            samples=_samples(settings, dataset, source),
            files=files or (),
            partitions=partitions,
            batch_size=settings.batch_size,
            batches=settings.ingest_batches,
            repetitions=settings.ingest_repetitions,
            cache=settings.ingest_cache,
        )

    @property
    def images(self) -> int:
        """How many images a repetition reads."""
        return self.batches * self.batch_size

    def numbers(self, partition: int) -> list[int]:
        """Which images of the source a partition holds; a part of the source is taken evenly from all over it."""
        if self.source is None:
            return []
        chosen = range(partition, self.samples, self.partitions)
        return [number * self.source.available // self.samples for number in chosen]

    def batches_of(self, partition: int) -> int:
        """How many batches a partition gives: they are dealt in turn."""
        return len(range(partition, self.batches, self.partitions))


def _format(name: str) -> Format:
    try:
        return Format(name)
    except ValueError:
        raise InputError(f"format {name} is not known; use one of {', '.join(Format)}.") from None


def _source(dataset: str, place: str, chosen: Options, samples: int | None) -> Source:
    if dataset == "synthetic":
        return Synthetic(samples or _SYNTHETIC_SAMPLES, chosen.image_size or _SIDE, chosen.channels)
    if dataset == "folder":
        return Folder.find(place, chosen.image_size or _SIDE)
    return Digits.load()


def _samples(settings: Settings, dataset: str, source: Source | None) -> int:
    if source is None:
        return 0
    samples = settings.samples or source.available
    if samples > source.available:
        raise Failure(
            Reason.BAD_DATA, f"samples is {samples}, but dataset {dataset} has only {source.available} images."
        )
    if settings.ingest_partitions > samples:
        raise InputError(
            f"partitions is {settings.ingest_partitions}, but there are only {samples} samples; use at most {samples}."
        )
    return samples


def _prepared(kind: Format, place: str, settings: Settings) -> tuple[tuple[str, ...], ...]:
    """The files that are there, dealt to as many partitions as were asked for, or as there are files."""
    if settings.samples is not None:
        raise InputError("samples cannot be chosen of a data set that is prepared already; leave it out.")
    files = places.find(place, SUFFIXES[kind]) if place else []
    if not files:
        where = f"{place} has none" if place else "it is missing"
        ends = ", ".join(SUFFIXES[kind])
        raise Failure(
            Reason.BAD_DATA, f"dataset prepared needs a data path with {kind} files ({ends}) below it, but {where}."
        )
    partitions = min(settings.ingest_partitions, len(files))
    return tuple(tuple(files[first::partitions]) for first in range(partitions))
