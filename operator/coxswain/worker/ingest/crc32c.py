"""CRC-32C (Castagnoli), the checksum of TFRecord, fast enough in numpy not to be what a speed test measures.

A byte's share of the checksum depends on nothing but its value and how many bytes come after it. So one table for
every byte at every distance gives a whole block by one lookup and one exclusive-or over all its bytes.
"""

import functools

import numpy as np
import numpy.typing as npt

_POLYNOMIAL = 0x82F63B78  # with its bits reversed
_BLOCK = 2048
_ONES = 0xFFFFFFFF
_MASK = 0xA282EAD8


def crc32c(content: bytes) -> int:
    """The checksum of some bytes."""
    shares = _shares()
    remainder = _ONES
    for begin in range(0, len(content), _BLOCK):
        # What the blocks before have left is carried into the first four bytes of this one.
        block = np.frombuffer(content, np.uint8, min(_BLOCK, len(content) - begin), begin).copy()
        carried = min(4, len(block))
        block[:carried] ^= np.frombuffer(remainder.to_bytes(4, "little"), np.uint8, carried)
        distances = np.arange(len(block) - 1, -1, -1)
        remainder = int(np.bitwise_xor.reduce(shares[distances, block])) ^ (remainder >> 8 * carried)
    return remainder ^ _ONES


def masked(content: bytes) -> int:
    """The checksum as TFRecord stores it: turned and shifted, so that a checksum of checksums stays one."""
    checksum = crc32c(content)
    return ((checksum >> 15 | checksum << 17) + _MASK) & _ONES


@functools.cache
def _shares() -> npt.NDArray[np.uint32]:
    """What a byte (second index) adds with so many bytes after it (first index)."""
    shares = np.empty((_BLOCK, 256), np.uint32)
    byte = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        byte = np.where(byte & 1, (byte >> 1) ^ np.uint32(_POLYNOMIAL), byte >> 1)
    shares[0] = byte
    for distance in range(1, _BLOCK):
        before = shares[distance - 1]
        shares[distance] = (before >> 8) ^ byte[before & 255]
    return shares
