"""Tables of a FlatBuffers file, read by slot: 0 is the table's first field in the schema. Absent
fields are read as 0, None or empty."""

from __future__ import annotations

import struct
from typing import Any

from dml.frontends.extras import missing


class Table:
    """A table at a position. Damaged files raise struct.error, ValueError, IndexError or TypeError."""

    def __init__(self, data: bytes, position: int) -> None:
        try:
            from flatbuffers.table import Table as Reader
        except ModuleNotFoundError as error:
            raise missing("serialized graphs need", "serialized", error) from error
        self._reader: Any = Reader(data, position)

    @classmethod
    def root(cls, data: bytes) -> Table:
        return cls(data, struct.unpack_from("<I", data)[0])

    def _field(self, slot: int) -> int:
        """Return the field's offset in the table; 0 if it is absent."""
        offset: int = self._reader.Offset(4 + 2 * slot)
        return offset

    def number(self, slot: int, format: str) -> int:
        """Return a number, by default 0. format: as in the module struct."""
        field = self._field(slot)
        found: int = struct.unpack_from(format, self._reader.Bytes, self._reader.Pos + field)[0] if field else 0
        return found

    def text(self, slot: int) -> str:
        field = self._field(slot)
        return self._reader.String(self._reader.Pos + field).decode() if field else ""

    def table(self, slot: int) -> Table | None:
        """Return a table, or a union's table; None if absent."""
        field = self._field(slot)
        return Table(self._reader.Bytes, self._reader.Indirect(self._reader.Pos + field)) if field else None

    def structure(self, slot: int, format: str) -> tuple[Any, ...]:
        """Return the members of a union's structure, which must be present."""
        position = self._reader.Indirect(self._reader.Pos + self._field(slot))
        return struct.unpack_from(format, self._reader.Bytes, position)

    def numbers(self, slot: int, format: str) -> tuple[Any, ...]:
        """Return a vector of numbers. format: of one number."""
        field = self._field(slot)
        if not field:
            return ()
        count, start = self._reader.VectorLen(field), self._reader.Vector(field)
        return struct.unpack_from(f"<{count}{format}", self._reader.Bytes, start)

    def data(self, slot: int) -> bytes:
        """Return a vector of bytes."""
        return self.numbers(slot, "s")[0] if self._field(slot) else b""

    def tables(self, slot: int) -> list[Table]:
        return [Table(self._reader.Bytes, self._reader.Indirect(place)) for place in self._places(slot)]

    def texts(self, slot: int) -> tuple[str, ...]:
        return tuple(self._reader.String(place).decode() for place in self._places(slot))

    def _places(self, slot: int) -> range:
        """Return the positions of a vector's references."""
        field = self._field(slot)
        if not field:
            return range(0)
        count, start = self._reader.VectorLen(field), self._reader.Vector(field)
        if start + 4 * count > len(self._reader.Bytes):
            raise ValueError(f"a vector of {count} references ends beyond the file")
        return range(start, start + 4 * count, 4)
