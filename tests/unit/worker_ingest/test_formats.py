"""What is written in each form and read again, from a folder or behind a URL, is what it was."""

from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tfrecord as independent

from coxswain.worker.ingest import formats, pictures, places
from coxswain.worker.ingest.formats import SUFFIXES, Format
from coxswain.worker.ingest.pictures import Encoding, Picture
from coxswain.worker.ingest.sources import Synthetic
from coxswain.worker.report import Failure, Reason


def originals(channels: int = 3) -> list[tuple[pictures.Pixels, str]]:
    source = Synthetic(30, 24, channels)
    return [source.image(number) for number in range(source.available)]


def written(kind: Format, folder: Path, channels: int = 3) -> list[str]:
    encoded = [Picture(pictures.encode(pixels, Encoding.PNG), label) for pixels, label in originals(channels)]
    result = formats.write(kind, folder, 3, Encoding.PNG, encoded)
    assert result.bytes == sum(Path(name).stat().st_size for name in result.files)
    return list(result.files)


def in_memory(files: list[str]) -> Iterator[str]:
    """The same files in fsspec's file system in memory, which has nothing of this machine's."""
    for name in files:
        with fsspec.open(f"memory://set{name}", "wb") as copy:
            copy.write(Path(name).read_bytes())
        yield f"memory://set{name}"


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", Format)
@pytest.mark.parametrize("place", ["path", "file", "memory"])
def test_decoded_images_equal_the_originals(kind: Format, place: str, channels: int, tmp_path: Path) -> None:
    names = {"path": list, "file": lambda all_: [f"file://{name}" for name in all_], "memory": in_memory}[place](
        written(kind, tmp_path, channels)
    )
    found = [picture for name in names for picture in formats.read(kind, name)]
    decoded = [(pictures.decode(picture.content, 0, "it"), picture.label) for picture in found]
    assert len(decoded) == 30
    for (pixels, label), (original, its_label) in zip(decoded, originals(channels), strict=True):
        assert label == its_label
        np.testing.assert_array_equal(pixels, original)


@pytest.mark.parametrize("kind", Format)
@pytest.mark.parametrize("url", ["{}", "file://{}", "memory://set{}"])
def test_the_files_below_a_place_are_found_and_can_be_opened(kind: Format, url: str, tmp_path: Path) -> None:
    files = written(kind, tmp_path)
    if url.startswith("memory"):
        list(in_memory(files))
    (tmp_path / "README").write_text("not one of them")
    found = places.find(url.format(tmp_path), SUFFIXES[kind])
    assert [name.removeprefix("memory:///set") for name in found] == sorted(files)
    assert sum(1 for name in found for _ in formats.read(kind, name)) == 30


def test_jpeg_is_smaller_and_close() -> None:
    pixels, _ = Synthetic(1, 64, 3).image(0)
    jpeg, png = (pictures.encode(pixels, encoding) for encoding in (Encoding.JPEG, Encoding.PNG))
    assert len(jpeg) < len(png) / 2
    assert np.abs(pictures.decode(jpeg, 0, "it").astype(int) - pixels).mean() < 8


def test_an_image_is_resized_when_asked_and_not_otherwise() -> None:
    content = pictures.encode(np.zeros((10, 20, 3), np.uint8), Encoding.PNG)
    assert pictures.decode(content, 0, "it").shape == (10, 20, 3)
    assert pictures.decode(content, 16, "it").shape == (16, 16, 3)


def test_records_of_others_are_read_by_their_usual_names(tmp_path: Path) -> None:
    writer = independent.TFRecordWriter(str(tmp_path / "flowers.tfrec"))
    writer.write({"image": (b"content", "byte"), "class": (4, "int"), "one_hot": ([0.0, 1.0], "float")})
    writer.close()
    assert list(formats.read(Format.TFRECORD, str(tmp_path / "flowers.tfrec"))) == [Picture(b"content", "4")]


def test_bad_files_are_named_with_what_is_wrong(tmp_path: Path) -> None:
    writer = independent.TFRecordWriter(str(tmp_path / "a.tfrecord"))
    writer.write({"picture": (b"content", "byte")})
    writer.close()
    pq.write_table(pa.table({"pixels": [1]}), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"no parquet at all")
    for kind, name, sentence in (
        (Format.TFRECORD, "a.tfrecord", "holds a record without an image: no image/encoded or image among its picture"),
        (Format.PARQUET, "a.parquet", "is no Parquet file with the columns image and label"),
        (Format.PARQUET, "b.parquet", "is no Parquet file with the columns image and label"),
    ):
        with pytest.raises(Failure) as caught:
            list(formats.read(kind, str(tmp_path / name)))
        assert caught.value.reason is Reason.BAD_DATA
        assert f"{tmp_path / name} {sentence}" in caught.value.sentence
    with pytest.raises(Failure, match=r"x\.png cannot be read as an image"):
        pictures.decode(b"no image", 0, "x.png")
