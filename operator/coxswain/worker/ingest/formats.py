"""The three forms a data set is prepared in, one or more files a partition, and how its images are got back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from coxswain.worker.ingest import example, tfrecord
from coxswain.worker.ingest.pictures import Encoding, Picture
from coxswain.worker.ingest.places import opened
from coxswain.worker.report import Failure, Reason

# The names TensorFlow's own scripts use, and those of the public Flowers files.
_IMAGE_FEATURES = ("image/encoded", "image")
_LABEL_FEATURES = ("image/class/text", "image/class/label", "class")
_COLUMNS = ("image", "label")
_ROWS = 256  # of a Parquet file, read together


class Format(StrEnum):
    """What the files are."""

    IMAGES = "Images"
    TFRECORD = "TFRecord"
    PARQUET = "Parquet"


SUFFIXES = {
    Format.IMAGES: (".jpg", ".jpeg", ".png"),
    Format.TFRECORD: (".tfrecord", ".tfrecords", ".tfrec"),
    Format.PARQUET: (".parquet",),
}
"""How the names of files end."""


@dataclass(frozen=True)
class Written:
    """What came of writing a partition."""

    files: tuple[str, ...]
    bytes: int


def write(kind: Format, folder: Path, partition: int, encoding: Encoding, pictures: Sequence[Picture]) -> Written:
    """Write a partition into a folder."""
    files = _WRITERS[kind](folder / f"part-{partition:05d}", encoding, pictures)
    return Written(tuple(str(file) for file in files), sum(file.stat().st_size for file in files))


def read(kind: Format, name: str) -> Iterator[Picture]:
    """The images of a file."""
    return _READERS[kind](name)


def _write_images(stem: Path, encoding: Encoding, pictures: Sequence[Picture]) -> list[Path]:
    """One file an image, in one folder a class."""
    files = []
    for number, picture in enumerate(pictures):
        file = stem / picture.label / f"{number:06d}.{encoding}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(picture.content)
        files.append(file)
    return files


def _read_images(name: str) -> Iterator[Picture]:
    with opened(name) as file:
        yield Picture(file.read(), name.split("/")[-2])


def _write_tfrecord(stem: Path, encoding: Encoding, pictures: Sequence[Picture]) -> list[Path]:
    path = stem.with_suffix(".tfrecord")
    path.parent.mkdir(parents=True, exist_ok=True)
    records = (
        example.encode(
            {
                "image/encoded": picture.content,
                "image/format": encoding.encode(),
                "image/class/text": picture.label.encode(),
            }
        )
        for picture in pictures
    )
    with path.open("wb") as file:
        tfrecord.write(file, records)
    return [path]


def _read_tfrecord(name: str) -> Iterator[Picture]:
    with opened(name) as file:
        for record in tfrecord.read(file, name):
            try:
                features = example.decode(record)
            except ValueError as error:
                raise Failure(Reason.BAD_DATA, f"{name} holds a record that is no Example: {error}.") from error
            yield _picture(features, name)


def _picture(features: Mapping[str, Sequence[bytes | int]], name: str) -> Picture:
    content = next((features[key][0] for key in _IMAGE_FEATURES if features.get(key)), None)
    if not isinstance(content, bytes):
        wanted, found = " or ".join(_IMAGE_FEATURES), ", ".join(sorted(features)) or "none"
        raise Failure(Reason.BAD_DATA, f"{name} holds a record without an image: no {wanted} among its {found}.")
    label = next((features[key][0] for key in _LABEL_FEATURES if features.get(key)), "")
    return Picture(content, label.decode() if isinstance(label, bytes) else str(label))


def _write_parquet(stem: Path, _encoding: Encoding, pictures: Sequence[Picture]) -> list[Path]:
    path = stem.with_suffix(".parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [[picture.content for picture in pictures], [picture.label for picture in pictures]]
    schema = pa.schema(zip(_COLUMNS, (pa.binary(), pa.string()), strict=True))
    # Images are compressed already.
    pq.write_table(pa.table(columns, schema=schema), path, compression="none", row_group_size=_ROWS)
    return [path]


def _read_parquet(name: str) -> Iterator[Picture]:
    with opened(name) as file:
        try:
            for batch in pq.ParquetFile(file).iter_batches(_ROWS, columns=list(_COLUMNS)):
                for content, label in zip(*(batch.column(column).to_pylist() for column in _COLUMNS), strict=True):
                    yield Picture(content, str(label))
        except (pa.ArrowInvalid, KeyError) as error:
            sentence = f"{name} is no Parquet file with the columns {' and '.join(_COLUMNS)} ({error})."
            raise Failure(Reason.BAD_DATA, sentence) from error


_WRITERS: dict[Format, Callable[[Path, Encoding, Sequence[Picture]], list[Path]]] = {
    Format.IMAGES: _write_images,
    Format.TFRECORD: _write_tfrecord,
    Format.PARQUET: _write_parquet,
}
_READERS: dict[Format, Callable[[str], Iterator[Picture]]] = {
    Format.IMAGES: _read_images,
    Format.TFRECORD: _read_tfrecord,
    Format.PARQUET: _read_parquet,
}
