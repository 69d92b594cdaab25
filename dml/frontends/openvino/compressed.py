"""Constants of 4 and 8 bits that models decompress: Convert, Subtract a zero point, Multiply by a scale, Reshape.

They stay in the file's form. Products, gathers and convolutions read integers in that form; for any other layer the
device dequantizes them in each run. No operator reads codes of floats: each run looks them up, for products and gathers
only some rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt

import dml.graph.operations as op
from dml import enums
from dml.compiler.selection.stored_weights import rows_in_part
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.frontends.meaning.blocks import dequantized, narrow, reshaped_blocks
from dml.frontends.meaning.casts import as_type
from dml.graph.builder import Builder, Tensor
from dml.shapes import broadcast_sizes, with_rank

from .ir import ELEMENT_TYPES, IrLayer, Network, decompressed, device_type

if TYPE_CHECKING:
    from .convert import IrContext

_Array = npt.NDArray[Any]
#: Element types that the device reads, and the smallest and the largest of their numbers.
_INTEGERS = {
    "u4": (enums.DML_TENSOR_DATA_TYPE_UINT4, 0, 15),
    "i4": (enums.DML_TENSOR_DATA_TYPE_INT4, -8, 7),
    "u8": (enums.DML_TENSOR_DATA_TYPE_UINT8, 0, 255),
    "i8": (enums.DML_TENSOR_DATA_TYPE_INT8, -128, 127),
}
#: Element types whose numbers are looked up -> bits of a code.
_CODES = {"nf4": 4, "f8e4m3": 8, "f8e5m2": 8}
_FLOATS = ("f16", "bf16", "f32", "f64")
#: Maximum elements of arrays that the host computes.
SMALL = 1024


@dataclass(eq=False)
class Compressed:
    """Numbers in the file's form, with a zero point and a scale per block.

    kind: the numbers' element type, of ``_INTEGERS`` or ``_CODES``. element_type: that of the value. zero, scale: in
    the numbers' rank; their sizes divide the numbers'.
    """

    data: _Array
    kind: str
    sizes: tuple[int, ...]
    element_type: str
    zero: _Array | None = None
    scale: _Array | None = None
    #: The node of the bytes, for all values made from this one by ``replace``.
    _bytes: list[Tensor] = field(default_factory=list, repr=False)
    #: Results of ``value`` and of the scales' upload. ``replace`` does not copy them.
    _value: Tensor | _Array | None = field(default=None, init=False, repr=False)
    _scales: Tensor | None = field(default=None, init=False, repr=False)

    @property
    def data_type(self) -> DML_TENSOR_DATA_TYPE:
        """The value's data type on the device."""
        return device_type(np.dtype(ELEMENT_TYPES[self.element_type]))

    def value(self, graph: Builder) -> Tensor | _Array:
        """Return the value for any layer: an array if it is small, else a tensor that the device dequantizes."""
        if self._value is None:
            self._value = self.array() if prod(self.sizes) <= SMALL else self._tensor(graph)
        return self._value

    def array(self) -> _Array:
        """Return the value, computed on the host."""
        numbers: _Array = decompressed(self.data, self.kind, prod(self.sizes)).reshape(self.sizes)
        kind = ELEMENT_TYPES[self.element_type]
        if self.element_type not in _FLOATS:
            return numbers.astype(kind)
        numbers = numbers.astype(np.float32)
        for parameter, function in ((self.zero, np.subtract), (self.scale, np.multiply)):
            if parameter is not None:
                numbers = function(numbers, _spread(parameter.astype(np.float32), self.sizes))
        return numbers.astype(kind)

    def parts(self, graph: Builder, bytes_of_number: int) -> list[Tensor]:
        """Split the rows of a large tensor whose numbers are codes of floats; empty for any other value.

        bytes_of_number: working memory for a number.
        """
        count, inner = self.sizes[0], prod(self.sizes[1:])
        row = inner * _CODES.get(self.kind, 0)
        step = rows_in_part(bytes_of_number * inner)
        per_scale = 1 if self.scale is None else count // self.scale.shape[0]
        if per_scale < count:  # parts have whole blocks
            step = max(1, step // per_scale) * per_scale
        if self.kind not in _CODES or row % 8 or step >= count:
            return []
        data, scale = self._constants(graph)
        parts = []
        for start in range(0, count, step):
            sizes = min(step, count - start), *self.sizes[1:]
            codes = _rows_of(data, start * row // 8, sizes[0] * row // 8)
            own = scale
            if own is not None and per_scale < count:
                own = _rows_of(own, start // per_scale, sizes[0] // per_scale)
            parts.append(self._numbers(codes, sizes, own))
        return parts

    def _constants(self, graph: Builder) -> tuple[Tensor, Tensor | None]:
        """Return the tensors of the bytes and of the scales. All readers share these two constant nodes, so that the
        file's bytes are read once."""
        if not self._bytes:
            self._bytes.append(graph.constant(self.data))
        if self._scales is None and self.scale is not None:
            self._scales = graph.constant(self.scale)
        return self._bytes[0], self._scales

    def _numbers(self, codes: Tensor, sizes: tuple[int, ...], scale: Tensor | None) -> Tensor:
        """Return the values of codes in the value's data type."""
        numbers = _looked_up(codes, self.kind, sizes)
        if scale is not None:
            numbers = _scaled_blocks(numbers, scale)
        return as_type(numbers, self.data_type)

    def rows(self, graph: Builder, indices: Tensor) -> Tensor | None:
        """Return the rows of codes of floats at the indices; None if rows are not whole bytes, or share scales."""
        row = prod(self.sizes[1:]) * _CODES.get(self.kind, 0)
        if not row or row % 8 or (self.scale is not None and self.scale.shape[0] != self.sizes[0]):
            return None
        data, scale = self._constants(graph)
        codes = op.gather(data.reshape(self.sizes[0], row // 8), indices, 0)
        sizes = (*indices.sizes, *self.sizes[1:])
        own = None
        if scale is not None:
            own = op.gather(scale.reshape(scale.sizes[0], scale.desc.element_count // scale.sizes[0]), indices, 0)
            own = own.reshape(*indices.sizes, *scale.sizes[1:])
        return self._numbers(codes.reshape(codes.desc.element_count), sizes, own)

    def _tensor(self, graph: Builder) -> Tensor:
        data, scales = self._constants(graph)
        if self.kind in _CODES:
            return self._numbers(data, self.sizes, scales)
        floats = enums.DML_TENSOR_DATA_TYPE_FLOAT16
        if self.data_type != floats:
            floats = enums.DML_TENSOR_DATA_TYPE_FLOAT32
        kind = _INTEGERS[self.kind][0]
        numbers = narrow(data, self.sizes, kind)
        if scales is None:
            scales = graph.constant(np.ones((1,) * len(self.sizes), np.float32))
        scales = as_type(scales, floats)
        if self.zero is not None:
            scales = scales.broadcast(broadcast_sizes(scales.sizes, self.zero.shape))
        points = None if self.zero is None else graph.constant(self.zero, kind)
        return as_type(dequantized(numbers, scales, points), self.data_type)


def _looked_up(data: Tensor, kind: str, sizes: tuple[int, ...]) -> Tensor:
    """Return the numbers for the codes in bytes, as FLOAT32."""
    each = 8 // _CODES[kind]
    table = decompressed(np.arange(256, dtype=np.uint8), kind, 256 * each).astype(np.float32).reshape(256, each)
    codes = op.cast(data, enums.DML_TENSOR_DATA_TYPE_UINT32)
    found = op.gather(data.builder.constant(table), codes, 0)
    count = prod(sizes)
    flat = found.reshape(found.desc.element_count)
    return (_rows_of(flat, 0, count) if count < flat.sizes[0] else flat).reshape(*sizes)


def _rows_of(x: Tensor, start: int, count: int) -> Tensor:
    """Gather rows along the first dimension."""
    rest = x.sizes[1:]
    return op.slice_(x, [start, *(0 for _ in rest)], [count, *rest])


def _scaled_blocks(numbers: Tensor, scale: Tensor) -> Tensor:
    """Multiply FLOAT32 numbers by their blocks' scales, whose sizes divide the numbers'."""
    split: list[int] = []
    counts: list[int] = []
    for count, size in zip(scale.sizes, numbers.sizes, strict=True):
        split += [size] if count in (1, size) else [count, size // count]
        counts += [count] if count in (1, size) else [count, 1]
    wide = as_type(scale, enums.DML_TENSOR_DATA_TYPE_FLOAT32)
    return (numbers.reshape(*split) * wide.reshape(*counts)).reshape(*numbers.sizes)


def _spread(parameter: _Array, sizes: tuple[int, ...]) -> _Array:
    """Repeat each block's parameter for its numbers."""
    for axis, (own, size) in enumerate(zip(parameter.shape, sizes, strict=True)):
        parameter = parameter if own == size else np.repeat(parameter, size // own, axis)
    return parameter


def constant(network: Network, layer: IrLayer) -> Compressed | _Array:
    """Return the value of a Const layer; numbers of 4 bits and codes of floats stay packed."""
    kind = layer.text("element_type")
    if kind not in ("u4", "i4", *_CODES) or 0 in layer.integers("shape"):
        return network.constant(layer)
    data, sizes = network.constant_bytes(layer)
    return Compressed(np.frombuffer(data, np.uint8), kind, sizes, layer.outputs[0].element_type)


def compressed(c: IrContext) -> Compressed | None:
    """Return the layer's output if it stays compressed, else None."""
    function = _LAYERS.get(c.layer.type)
    return None if function is None else function(c)


def _converted(c: IrContext) -> Compressed | None:
    value, wanted = c.stored(0), c.layer.outputs[0].element_type
    if wanted not in _FLOATS:
        return None
    if isinstance(value, Compressed):
        return replace(value, element_type=wanted)
    kind = {"uint8": "u8", "int8": "i8"}.get(value.dtype.name) if isinstance(value, np.ndarray) else None
    if kind is None or not value.size:
        return None
    return Compressed(np.ascontiguousarray(value).view(np.uint8).reshape(-1), kind, value.shape, wanted)


def _shifted(c: IrContext) -> Compressed | None:
    numbers, zero = c.stored(0), c.stored(1)
    if (
        not _takes_parameters(numbers)
        or numbers.kind in _CODES
        or numbers.zero is not None
        or numbers.scale is not None
    ):
        return None
    own = _parameter(numbers, zero)
    if own is None:
        return None
    _, least, most = _INTEGERS[numbers.kind]
    if not np.all((own >= least) & (own <= most) & (own == np.floor(own))):
        return None
    return replace(numbers, zero=own.astype(np.int16))


def _scaled(c: IrContext) -> Compressed | None:
    a, b = c.stored(0), c.stored(1)
    for numbers, scale in ((a, b), (b, a)):
        if _takes_parameters(numbers) and numbers.scale is None:
            own = _parameter(numbers, scale)
            if own is not None:
                own = own if own.dtype == np.float16 else own.astype(np.float32)
                return replace(numbers, scale=own)
    return None


def _takes_parameters(value: Any) -> TypeGuard[Compressed]:
    return isinstance(value, Compressed) and value.element_type in _FLOATS


def _parameter(numbers: Compressed, value: Any) -> _Array | None:
    """Return a zero point or scale in the numbers' rank; None for a value that is not constant or does not fit."""
    if isinstance(value, Compressed) and prod(value.sizes) <= prod(numbers.sizes):
        value = value.array()
    if not isinstance(value, np.ndarray) or value.ndim > len(numbers.sizes) or not value.size:
        return None
    own = value.reshape(with_rank(value.shape, len(numbers.sizes)))
    return own if all(size in (1, whole) for size, whole in zip(own.shape, numbers.sizes, strict=True)) else None


def _reshaped(c: IrContext) -> Compressed | None:
    value, sizes = c.stored(0), c.layer.outputs[0].sizes
    if not isinstance(value, Compressed) or prod(sizes) != prod(value.sizes):
        return None

    def parameter(own: _Array | None) -> _Array | None:
        counts = None if own is None else reshaped_blocks(value.sizes, own.shape, sizes)
        return None if own is None or counts is None else own.reshape(counts)

    zero, scale = parameter(value.zero), parameter(value.scale)
    if (zero is None) != (value.zero is None) or (scale is None) != (value.scale is None):
        return None
    return replace(value, sizes=sizes, zero=zero, scale=scale)


_LAYERS: dict[str, Callable[[IrContext], Compressed | None]] = {
    "Convert": _converted, "ConvertLike": _converted, "Subtract": _shifted, "Multiply": _scaled,
    "Reshape": _reshaped, "Squeeze": _reshaped, "Unsqueeze": _reshaped,
}  # fmt: skip
