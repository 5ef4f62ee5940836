"""CRC-32C (Castagnoli), the checksum of TFRecord, fast enough in numpy not to be what a speed test measures.

A byte's share of the checksum depends on nothing but its value and how many bytes come after it. So one table for
every byte at every distance gives a whole block by one lookup and one exclusive-or over all its bytes.
"""

import functools

import numpy as np
import numpy.typing as npt

_POLYNOMIAL = 0x82F63B78  # with its bits reversed
_BLOCK = 2048
_SHORT = 32
_ONES = 0xFFFFFFFF
_MASK = 0xA282EAD8


def crc32c(content: bytes) -> int:
    """The checksum of some bytes."""
    if len(content) <= _SHORT:
        return _one_by_one(content)
    shares, offsets = _shares()
    remainder = _ONES
    for begin in range(0, len(content), _BLOCK):
        block = np.frombuffer(content, np.uint8, min(_BLOCK, len(content) - begin), begin)
        places = offsets[_BLOCK - len(block) :] + block
        # What the blocks before have left is carried into the first four bytes of this one.
        carried = min(4, len(block))
        for place in range(carried):
            places[place] ^= remainder >> 8 * place & 255
        remainder = int(np.bitwise_xor.reduce(shares.take(places))) ^ (remainder >> 8 * carried)
    return remainder ^ _ONES


def masked(content: bytes) -> int:
    """The checksum as TFRecord stores it: turned and shifted, so that a checksum of checksums stays one."""
    checksum = crc32c(content)
    return ((checksum >> 15 | checksum << 17) + _MASK) & _ONES


def _one_by_one(content: bytes) -> int:
    """The checksum by the book, sooner done for a few bytes."""
    table, remainder = _bytes(), _ONES
    for byte in content:
        remainder = remainder >> 8 ^ table[(remainder ^ byte) & 255]
    return remainder ^ _ONES


@functools.cache
def _bytes() -> list[int]:
    """What a byte adds with nothing after it."""
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ _POLYNOMIAL if value & 1 else value >> 1 for value in table]
    return table


@functools.cache
def _shares() -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.intp]]:
    """What a byte adds with so many bytes after it, 256 entries a distance, and where those of each place begin."""
    last = np.array(_bytes(), np.uint32)
    shares = np.empty((_BLOCK, 256), np.uint32)
    shares[0] = last
    for distance in range(1, _BLOCK):
        before = shares[distance - 1]
        shares[distance] = before >> 8 ^ last[before & 255]
    return shares.ravel(), np.arange(_BLOCK - 1, -1, -1, dtype=np.intp) * 256
