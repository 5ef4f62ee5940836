"""TensorFlow's file of records: length, its checksum, content, its checksum, and the next record.

    uint64 length | uint32 masked CRC-32C of the length | content | uint32 masked CRC-32C of the content

All numbers are little-endian.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from coxswain.worker.ingest.crc32c import masked
from coxswain.worker.report import Failure, Reason

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")


def write(file: BinaryIO, records: Iterable[bytes]) -> None:
    """Append records to a file."""
    for content in records:
        length = _LENGTH.pack(len(content))
        file.write(length + _CHECKSUM.pack(masked(length)) + content + _CHECKSUM.pack(masked(content)))


def read(file: BinaryIO, name: str) -> Iterator[bytes]:
    """The records of a file, each checked; the name is for what is said of a damaged one."""
    position = 0
    while header := file.read(_LENGTH.size):
        length = _checked(header, file.read(_CHECKSUM.size), name, position)
        (size,) = _LENGTH.unpack(length)
        content = file.read(size)
        if len(content) < size:
            raise _damaged(name, position)
        yield _checked(content, file.read(_CHECKSUM.size), name, position)
        position += _LENGTH.size + size + 2 * _CHECKSUM.size


def _checked(content: bytes, checksum: bytes, name: str, position: int) -> bytes:
    if checksum != _CHECKSUM.pack(masked(content)):
        raise _damaged(name, position)
    return content


def _damaged(name: str, position: int) -> Failure:
    return Failure(
        Reason.BAD_DATA, f"{name} is no TFRecord file or is damaged: the record at byte {position} is not whole."
    )
