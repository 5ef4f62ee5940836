"""tf.train.Example, TensorFlow's record of named features, in the wire format of protocol buffers.

    message Example   { Features features = 1; }
    message Features  { map<string, Feature> feature = 1; }
    message Feature   { BytesList bytes_list = 1; | FloatList float_list = 2; | Int64List int64_list = 3; }

A list's values are its field 1, whole numbers packed into one (others may also send them one by one). A map is a list
of messages with the key as field 1 and the value as field 2. Unknown fields are passed over, as the format demands; so
are floating-point numbers, which say nothing of an image.
"""

from collections.abc import Iterator, Mapping, Sequence

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_BYTES, _INTEGERS = 1, 3


def encode(features: Mapping[str, bytes]) -> bytes:
    """An Example with these features, one value each."""
    entries = (
        _field(1, name.encode()) + _field(2, _field(_BYTES, _field(1, value))) for name, value in features.items()
    )
    return _field(1, b"".join(_field(1, entry) for entry in entries))


def decode(content: bytes) -> dict[str, Sequence[bytes | int]]:
    """The features of an Example; a ValueError if it is none."""
    found: dict[str, Sequence[bytes | int]] = {}
    for features in _messages(content, 1):
        for entry in _messages(features, 1):
            parts = dict(_fields(entry))
            name, feature = parts.get(1, b""), parts.get(2, b"")
            if isinstance(name, bytes) and isinstance(feature, bytes):
                found[name.decode()] = _values(feature)
    return found


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says whether more follow."""
    low = bytearray()
    while number > 127:
        low.append(number & 127 | 128)
        number >>= 7
    low.append(number)
    return bytes(low)


def _values(feature: bytes) -> list[bytes | int]:
    values: list[bytes | int] = []
    for kind, content in _fields(feature):
        if kind == _BYTES and isinstance(content, bytes):
            values += _messages(content, 1)
        elif kind == _INTEGERS and isinstance(content, bytes):
            numbers = (number for field, item in _fields(content) if field == 1 for number in _integers(item))
            values += (number - 2**64 if number >= 2**63 else number for number in numbers)
    return values


def _integers(item: bytes | int) -> Iterator[int]:
    if isinstance(item, int):
        yield item
        return
    position = 0
    while position < len(item):
        number, position = _read_varint(item, position)
        yield number


def _messages(content: bytes, wanted: int) -> list[bytes]:
    """The fields of this number that have a length: messages, texts and packed lists."""
    return [value for number, value in _fields(content) if number == wanted and isinstance(value, bytes)]


def _fields(content: bytes) -> list[tuple[int, bytes | int]]:
    """The fields of a message by number: bytes where there is a length, else a whole number."""
    fields: list[tuple[int, bytes | int]] = []
    position, end = 0, len(content)
    while position < end:
        key, position = _read_varint(content, position)
        number, kind = key >> 3, key & 7
        if kind == _LENGTH:
            length, position = _read_varint(content, position)
            fields.append((number, content[position : position + length]))
            position += length
        elif kind == _VARINT:
            value, position = _read_varint(content, position)
            fields.append((number, value))
        elif kind in (_FIXED32, _FIXED64):
            length = 4 if kind == _FIXED32 else 8
            fields.append((number, int.from_bytes(content[position : position + length], "little")))
            position += length
        else:
            raise ValueError(f"there is no wire type {kind}")
    if position > end:
        raise ValueError("a field is cut short")
    return fields


def _read_varint(content: bytes, position: int) -> tuple[int, int]:
    if position < len(content) and content[position] < 128:  # most are that short
        return content[position], position + 1
    number = shift = 0
    while True:
        if position >= len(content) or shift > 63:
            raise ValueError("a number is cut short")
        byte = content[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, position
        shift += 7
