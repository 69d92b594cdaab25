"""A program and its data as C tables for reproduce.c, and the files to which these refer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dml.compiler.kernels import sources
from dml.compiler.program import Dispatch, Region, Space
from dml.conformance.axes import seen_as
from dml.conformance.case import Case
from dml.conformance.compare import bounds
from dml.conformance.execution import GUARD, CaseData
from dml.conformance.graphs import program_of
from dml.conformance.layouts import Tensor, to_bytes
from dml.conformance.limits import Expected
from dml.conformance.places import DeviceAxis
from dml.errors import DMLError
from dml.glslang import compile as compile_glsl
from dml.glslang import flatten
from dml.runtime import features

TEMPLATE = Path(__file__).with_name("reproduce.c")
_PLACE = "/* THE CASE */"


@dataclass(frozen=True)
class _Slot:
    """An input or output of a program: its name, tensor and field, and its index if the field is an array."""

    name: str
    tensor: Tensor
    field: str
    index: int | None


class CaseFiles:
    """The files that reproduce a case: ``files``, by name.

    Raises DMLError for a case that has no program on the device.
    """

    def __init__(self, place: DeviceAxis, case: Case, seed: int) -> None:
        self._place, self._case = place, case
        self._data = CaseData.of(case, seed)
        target = seen_as(place.device, place.axis).target
        self._features = target.features
        self._program = program_of(self._data.desc, target)
        self._inputs, self._outputs = _slots(self._data.desc.inputs()), _slots(self._data.desc.outputs())
        self.files: dict[str, bytes] = {}
        self._kernels: dict[Any, str] = {}
        #: Why a kernel has no SPIR-V; empty if all have.
        self.uncompiled = ""
        dispatches = [self._dispatch(index, dispatch) for index, dispatch in enumerate(self._dispatches)]
        if self.uncompiled:
            return
        parts = [
            f"static const char CASE[] = {_text(f'{case.id}, seed {seed}, as {place.axis}')};",
            f"static const char DEVICE[] = {_text(place.device.name)};",
            f"enum {{ API_VERSION = {features.packed(features.INSTANCE_VERSION)} }};",
            *self._opening(),
            _table("Resource", "RESOURCE", self._resources()),
            "\n".join(text for text, _ in dispatches),
            _table("Dispatch", "DISPATCH", [row for _, row in dispatches]),
            _table("Output", "OUTPUT", self._output_rows()),
        ]
        template = TEMPLATE.read_text(encoding="utf-8")
        assert template.count(_PLACE) == 1
        self.files["reproduce.c"] = template.replace(_PLACE, "\n\n".join(parts)).encode()

    @property
    def _dispatches(self) -> list[Dispatch]:
        return [*self._program.adopt, *self._program.initialize, *self._program.dispatches]

    def _opening(self) -> list[str]:
        """Return C definitions of the extensions and features to open the device with."""
        extensions, structures = features.opening(self._features, self._place.device.api_version)
        rows = [
            f"{{{kind}u, {len(on)}, {{{', '.join(str(int(item)) for item in on)}}}}}" for kind, on in structures.items()
        ]
        names = [*map(_text, extensions), "NULL"]
        return [
            f"static const char *const EXTENSIONS[] = {{{', '.join(names)}}};",
            _table("Feature", "FEATURES", rows or ["{0, 0, {0}}"]),
        ]

    @cached_property
    def _numbers(self) -> dict[tuple[Space, int], int]:
        """Resource -> its number, in the order of first use; outputs all have one."""
        used = [(Space.OUTPUT, number) for number, _ in self._outputs]
        used += [_key(binding.region) for dispatch in self._dispatches for binding in dispatch.bindings]
        return {key: number for number, key in enumerate(dict.fromkeys(used))}

    def _resources(self) -> list[str]:
        inputs, outputs = dict(self._inputs), dict(self._outputs)
        rows = []
        for space, index in self._numbers:
            file, name, origin = "", space.value, 0
            if space is Space.INPUT:
                slot = inputs[index]
                given = self._data.inputs[slot.field]
                bytes_ = to_bytes(given if slot.index is None else given[slot.index], slot.tensor).tobytes()
                name, file, size = slot.name, self._add(f"input-{slot.name}.bin", bytes_), len(bytes_)
            elif space is Space.OUTPUT:
                name, size, origin = outputs[index].name, int(outputs[index].tensor.TotalTensorSizeInBytes), GUARD
            elif space is Space.CONSTANT:
                size = self._end(space, index)
                data = bytes(self._program.constants[index].Data)[:size].ljust(size, b"\0")
                name, file = f"constant {index}", self._add(f"constant-{index}.bin", data)
            else:
                size = self._end(space, index)
            rows.append(f"{{{_text(name)}, {origin}, {size}, {_name(file)}, {int(space is Space.OUTPUT)}}}")
        return rows

    def _end(self, space: Space, index: int) -> int:
        regions = (binding.region for dispatch in self._dispatches for binding in dispatch.bindings)
        return max(region.offset + region.size for region in regions if _key(region) == (space, index))

    def _dispatch(self, index: int, dispatch: Dispatch) -> tuple[str, str]:
        """Return the tables that a dispatch adds to the program, and its row of the table of dispatches."""
        name = self._kernel(dispatch)
        bindings = [
            f"{{{self._numbers[_key(region)]}, {region.offset}, {region.size}, {texel}}}"
            for region, _, texel in dispatch.bindings
        ]
        tables = "\n".join(
            (
                _table("Binding", f"BINDING_{index}", bindings),
                _words(f"PUSH_{index}", dispatch.push),
                _words(f"PARAMETER_{index}", dispatch.parameters),
            )
        )
        groups = ", ".join(map(str, dispatch.groups))
        row = (
            f"{{{_text(f'{name}.spv')}, {_text(dispatch.label)}, {len(bindings)}, BINDING_{index}, {{{groups}}}, "
            f"{len(dispatch.push)}, PUSH_{index}, {len(dispatch.parameters)}, PARAMETER_{index}}}"
        )
        return tables, row

    def _kernel(self, dispatch: Dispatch) -> str:
        """Add a kernel's files; return their name without a suffix."""
        if dispatch.source not in self._kernels:
            label = re.sub(r"[^\w]+", "-", dispatch.label.removesuffix(".comp"))
            name = f"kernel-{len(self._kernels)}-{label}"
            self._kernels[dispatch.source] = name
            folders = (sources.directory(),)
            self._add(f"{name}.comp", flatten(dispatch.source, include_dirs=folders).encode())
            try:
                self._add(f"{name}.spv", compile_glsl(dispatch.source, include_dirs=folders))
            except DMLError as error:
                self.uncompiled = str(error)
        return self._kernels[dispatch.source]

    def _output_rows(self) -> list[str]:
        rows = []
        for (index, slot), (expected, flushed) in zip(self._outputs, self._data.expectations, strict=True):
            tensor = slot.tensor
            kind = {"f": "f", "u": "u", "b": "u"}.get(tensor.dtype.kind, "i")
            kind = "u" if tensor.dtype.name == "uint4" else kind
            files = [
                *self._expected(slot, expected),
                *(self._expected(slot, flushed, "flushed-") if flushed else ("", "")),
            ]
            rows.append(
                f"{{{self._numbers[Space.OUTPUT, index]}, {_text(slot.name)}, '{kind}', {tensor.element_bits}, "
                f"{tensor.rank}, {_numbers(tensor.Sizes)}, {_numbers(tensor.strides)}, {int(expected.is_exact)}, "
                f"{int(expected.moved)}, {', '.join(map(_name, files))}}}"
            )
        return rows

    def _expected(self, slot: _Slot, expected: Expected, which: str = "") -> tuple[str, str]:
        """Add an output's expected values; return the names of its bytes and its bounds."""
        values, low, high = bounds(expected, slot.tensor.dtype)
        if self._data.part is not None:  # expectations cover only the part's elements
            sizes, index = slot.tensor.Sizes, self._data.part.outputs[slot.field]
            whole = np.zeros(sizes, values.dtype), np.full(sizes, -np.inf), np.full(sizes, np.inf)
            for array, part in zip(whole, (values, low, high), strict=True):
                array[index] = part
            values, low, high = whole
        pairs = np.stack([low, high], axis=-1).astype("<f8")
        return (
            self._add(f"output-{slot.name}.{which}expected.bin", to_bytes(values, slot.tensor).tobytes()),
            self._add(f"output-{slot.name}.{which}bounds.bin", pairs.tobytes()),
        )

    def _add(self, name: str, data: bytes) -> str:
        name = re.sub(r"[^\w.-]+", "-", name)
        self.files[name] = data
        return name


def _slots(fields: Iterable[tuple[str, Any]]) -> list[tuple[int, _Slot]]:
    """Return the present tensors, each with its index among the program's inputs or outputs."""
    found: list[tuple[int, _Slot]] = []
    count = 0
    for name, field in fields:
        for index, tensor in enumerate(field) if isinstance(field, tuple) else [(None, field)]:
            if tensor is not None:
                found.append((count, _Slot(name if index is None else f"{name}_{index}", tensor, name, index)))
            count += 1
    return found


def _key(region: Region) -> tuple[Space, int]:
    return region.space, region.index if region.space in (Space.INPUT, Space.OUTPUT, Space.CONSTANT) else 0


def _text(text: str) -> str:
    return json.dumps(text)


def _name(file: str) -> str:
    return _text(file) if file else "NULL"


def _numbers(values: Sequence[int]) -> str:
    return f"{{{', '.join(f'{value}u' for value in values)}}}"


def _table(kind: str, name: str, rows: Sequence[str]) -> str:
    lines = "".join(f"\n    {row}," for row in rows)
    return f"static const {kind} {name}[] = {{{lines}\n}};"


def _words(name: str, words: Sequence[int]) -> str:
    return f"static const uint32_t {name}[] = {{{', '.join(f'{word & 0xFFFFFFFF}u' for word in words) or '0'}}};"
