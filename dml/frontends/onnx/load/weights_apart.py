"""Separates large weights from a serialized model, because protobuf would copy them twice.

Only the path to them in the wire format is parsed: ModelProto.graph (7), GraphProto.initializer (5) and
TensorProto.raw_data (9). Anything unusual or broken is left to protobuf, which then decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dml.stored import Stored

_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
#: Weights of at least this many bytes are separated.
_LARGE = 1 << 12
#: Wire types: a number, 8 bytes, bytes with their length, 4 bytes.
_NUMBER, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


class _UnusualError(Exception):
    """Raised for content that must be left to protobuf."""


def without_weights(data: memoryview) -> tuple[bytes, dict[int, Stored]] | None:
    """Return a serialized model whose large initializers have empty ``raw_data``, and the removed data.

    The removed data are slices of ``data``, by initializer index. None if the bytes differ from the expected form of an
    ONNX model.
    """
    try:
        reader = _MessageReader(data)
        return reader.model(len(data)), reader.weights
    except _UnusualError:
        return None


class _MessageReader:
    def __init__(self, data: memoryview) -> None:
        self.weights: dict[int, Stored] = {}
        self._data = data
        self._at = 0
        self._initializers = 0

    def model(self, size: int) -> bytes:
        return self._message(size, {_GRAPH: self._graph})

    def _graph(self, size: int) -> bytes:
        return self._message(size, {_INITIALIZER: self._initializer})

    def _initializer(self, size: int) -> bytes:
        place = self._initializers
        self._initializers += 1
        if size < _LARGE:
            return self._bytes(size)

        def raw_data(size: int) -> bytes:
            if size < _LARGE or place in self.weights:
                raise _UnusualError
            self.weights[place] = self._part(size)
            return b""

        return self._message(size, {_RAW_DATA: raw_data})

    def _message(self, size: int, inner: dict[int, Callable[[int], bytes]]) -> bytes:
        """Copy a message; ``inner`` maps a field's number to the function that copies the field, given its length."""
        return b"".join(self._fields(self._at + size, inner))

    def _fields(self, end: int, inner: dict[int, Callable[[int], bytes]]) -> Iterator[bytes]:
        while self._at < end:
            tag, head = self._varint()
            kind = tag & 7
            if kind == _BYTES:
                length, coded = self._varint()
                if length > end - self._at:
                    raise _UnusualError
                known = inner.get(tag >> 3)
                content = self._bytes(length) if known is None else known(length)
                yield head + (coded if known is None else _varint(len(content))) + content
            elif kind == _NUMBER:
                yield head + self._varint()[1]
            elif kind in (_EIGHT, _FOUR):
                yield head + self._bytes(8 if kind == _EIGHT else 4)
            else:
                raise _UnusualError
        if self._at != end:
            raise _UnusualError

    def _varint(self) -> tuple[int, bytes]:
        """Return a number, and the bytes that encode it."""
        coded = self._bytes(1)
        value = coded[0] & 127
        if coded[0] < 128:
            return value, coded
        while len(coded) < 10:
            byte = self._bytes(1)
            value |= (byte[0] & 127) << (7 * len(coded))
            coded += byte
            if byte[0] < 128:
                return value, coded
        raise _UnusualError

    def _bytes(self, size: int) -> bytes:
        return bytes(self._part(size))

    def _part(self, size: int) -> memoryview:
        part = self._data[self._at : self._at + size]
        if len(part) != size:
            raise _UnusualError
        self._at += size
        return part


def _varint(value: int) -> bytes:
    coded = bytearray()
    while value > 127:
        coded.append(value & 127 | 128)
        value >>= 7
    return bytes([*coded, value])
