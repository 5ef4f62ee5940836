"""TFRecord by hand against implementations that others wrote: the checksum, the record and the file."""

import io
import random
import struct
from pathlib import Path

import crc32c as reference
import pytest
import tfrecord as independent
from hypothesis import given
from hypothesis import strategies as st
from tfrecord import example_pb2

from coxswain.worker.ingest import example, tfrecord
from coxswain.worker.ingest.crc32c import crc32c, masked
from coxswain.worker.report import Failure, Reason

FEATURES = st.dictionaries(st.text(max_size=20), st.binary(max_size=300), max_size=5)


@pytest.mark.parametrize(
    ("content", "checksum"),
    # The first is the check value of the catalogue of CRCs, the others are from RFC 3720 (iSCSI).
    [(b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (b"", 0)],
)
def test_the_checksum_is_the_published_one(content: bytes, checksum: int) -> None:
    assert crc32c(content) == checksum


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 32, 33, 2047, 2048, 2049, 2051, 2052, 4096, 100_003])
def test_the_checksum_is_that_of_another_program_at_every_seam(length: int) -> None:
    content = random.Random(length).randbytes(length)
    assert crc32c(content) == reference.crc32c(content)


@given(FEATURES)
def test_what_is_encoded_here_protobuf_reads(features: dict[str, bytes]) -> None:
    parsed = example_pb2.Example.FromString(example.encode(features))
    assert {name: list(one.bytes_list.value) for name, one in parsed.features.feature.items()} == {
        name: [value] for name, value in features.items()
    }


@given(
    st.dictionaries(st.text(max_size=20), st.lists(st.binary(max_size=50), max_size=3), max_size=3),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
    st.lists(st.floats(width=32), max_size=3),
)
def test_what_protobuf_encodes_is_read_here(
    texts: dict[str, list[bytes]], numbers: list[int], floats: list[float]
) -> None:
    made = example_pb2.Example()
    for name, values in texts.items():
        made.features.feature[name].bytes_list.value.extend(values)
    made.features.feature["numbers of it"].int64_list.value.extend(numbers)
    made.features.feature["floats of it"].float_list.value.extend(floats)
    assert example.decode(made.SerializeToString()) == {**texts, "numbers of it": numbers, "floats of it": []}


def test_numbers_sent_one_by_one_are_read_too() -> None:
    # Int64List with two fields 1 of wire type 0: what writers of an older syntax send.
    numbers = bytes([0x08, 5, 0x08, 0x96, 0x01])
    feature = bytes([0x1A, len(numbers)]) + numbers
    entry = b"\x0a\x01n\x12" + bytes([len(feature)]) + feature
    features = b"\x0a" + bytes([len(entry)]) + entry
    assert example.decode(b"\x0a" + bytes([len(features)]) + features) == {"n": [5, 150]}


@given(st.binary(max_size=200))
def test_any_bytes_are_an_example_or_a_value_error(content: bytes) -> None:
    try:
        example.decode(content)
    except ValueError:
        return


def test_files_written_here_are_read_by_an_independent_reader(tmp_path: Path) -> None:
    images = [random.Random(size).randbytes(size) for size in (0, 1, 100, 5000)]
    path = tmp_path / "ours.tfrecord"
    with path.open("wb") as file:
        tfrecord.write(file, (example.encode({"image": image, "label": b"cat"}) for image in images))
    found = list(independent.tfrecord_loader(str(path), None, {"image": "byte", "label": "byte"}))
    assert [bytes(row["image"]) for row in found] == images
    assert {bytes(row["label"]) for row in found} == {b"cat"}
    # That reader passes the checksums over; so they are compared with another program's.
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    checksum, record = independent.TFRecordWriter.masked_crc, content[12 : 12 + length]
    assert content[8:12] == checksum(content[:8])
    assert content[12 + length : 16 + length] == checksum(record)


def test_files_of_an_independent_writer_are_read_here(tmp_path: Path) -> None:
    path = tmp_path / "theirs.tfrecord"
    writer = independent.TFRecordWriter(str(path))
    for number in range(20):
        writer.write({"image": (bytes([number]) * 300, "byte"), "class": (number, "int"), "score": (0.5, "float")})
    writer.close()
    with path.open("rb") as file:
        found = [example.decode(record) for record in tfrecord.read(file, str(path))]
    assert [(row["image"], row["class"]) for row in found] == [
        ([bytes([number]) * 300], [number]) for number in range(20)
    ]


def test_the_stored_checksum_is_masked_as_tensorflow_does() -> None:
    assert struct.pack("<I", masked(b"some content")) == independent.TFRecordWriter.masked_crc(b"some content")


def whole_file() -> bytes:
    buffer = io.BytesIO()
    tfrecord.write(buffer, [b"first", b"second"])
    return buffer.getvalue()


def test_a_file_cut_anywhere_inside_a_record_is_refused() -> None:
    content = whole_file()
    ends = {0, 21, len(content)}  # between records
    for length in range(len(content) + 1):
        if length in ends:
            assert len(list(tfrecord.read(io.BytesIO(content[:length]), "x"))) == sorted(ends).index(length)
        else:
            with pytest.raises(Failure) as caught:
                list(tfrecord.read(io.BytesIO(content[:length]), "x.tfrecord"))
            assert caught.value.reason is Reason.BAD_DATA
            assert "x.tfrecord is no TFRecord file or is damaged: the record at byte" in caught.value.sentence


def test_a_changed_byte_is_noticed_wherever_it_is() -> None:
    content = whole_file()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        with pytest.raises(Failure):
            list(tfrecord.read(io.BytesIO(bytes(damaged)), "x.tfrecord"))
