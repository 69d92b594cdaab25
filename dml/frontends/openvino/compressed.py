"""Constants of 4 and 8 bits that models decompress: Convert, Subtract a zero point, Multiply by a scale, Reshape.

They stay as they lie in the file. Products, gathers and convolutions read them there; for any other layer the device
dequantizes them in each run.
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
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.frontends.meaning.blocks import dequantized, narrow, reshaped_blocks
from dml.graph.builder import Builder, Tensor
from dml.shapes import broadcast_sizes, with_rank
from dml.tensors import data_type_of

from .ir import ELEMENT_TYPES, IrLayer, Network, decompressed

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
_FLOATS = ("f16", "bf16", "f32", "f64")
#: Arrays of at most so many elements are computed on the host.
SMALL = 1024


@dataclass(eq=False)
class Compressed:
    """Numbers as they lie in the file, with a zero point and a scale per block.

    kind: the numbers' element type, of ``_INTEGERS``. element_type: that of the value. zero, scale: in the numbers'
    rank; their sizes divide the numbers'.
    """

    data: _Array
    kind: str
    sizes: tuple[int, ...]
    element_type: str
    zero: _Array | None = None
    scale: _Array | None = None
    _value: Tensor | _Array | None = field(default=None, repr=False)

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

    def _tensor(self, graph: Builder) -> Tensor:
        is_float = self.element_type in _FLOATS
        wanted = _data_type(self.element_type)
        floats = enums.DML_TENSOR_DATA_TYPE_FLOAT16
        if not is_float or wanted != floats:
            floats = enums.DML_TENSOR_DATA_TYPE_FLOAT32
        kind = _INTEGERS[self.kind][0]
        numbers = narrow(graph.constant(self.data), self.sizes, kind)
        ones = (1,) * len(self.sizes)
        scale = np.ones(ones, np.float32) if self.scale is None else self.scale
        sizes = scale.shape if self.zero is None else broadcast_sizes(scale.shape, self.zero.shape)
        scales = graph.constant(scale, data_type_of(scale.dtype) if scale.dtype == np.float16 else floats)
        scales = scales if scales.data_type == floats else op.cast(scales, floats)
        points = None if self.zero is None else graph.constant(self.zero, kind)
        result = dequantized(numbers, scales.broadcast(sizes), points)
        return result if result.data_type == wanted else op.cast(result, wanted)


def _data_type(element_type: str) -> DML_TENSOR_DATA_TYPE:
    """Return the device's data type; it holds double and bfloat16 as FLOAT32."""
    if element_type in ("f64", "bf16"):
        return enums.DML_TENSOR_DATA_TYPE_FLOAT32
    return data_type_of(ELEMENT_TYPES[element_type])


def _spread(parameter: _Array, sizes: tuple[int, ...]) -> _Array:
    """Repeat each block's parameter for its numbers."""
    for axis, (own, size) in enumerate(zip(parameter.shape, sizes, strict=True)):
        parameter = parameter if own == size else np.repeat(parameter, size // own, axis)
    return parameter


def constant(network: Network, layer: IrLayer) -> Compressed | _Array:
    """Return the value of a Const layer; numbers of 4 bits stay packed."""
    kind = layer.text("element_type")
    if kind not in ("u4", "i4") or 0 in layer.integers("shape"):
        return network.constant(layer)
    data, sizes = network.constant_bytes(layer)
    return Compressed(np.frombuffer(data, np.uint8), kind, sizes, layer.outputs[0].element_type)


def compressed(c: IrContext) -> Compressed | None:
    """Return the layer's output if it stays compressed, else None."""
    function = _LAYERS.get(c.layer.type)
    return None if function is None else function(c)


def _converted(c: IrContext) -> Compressed | None:
    value, wanted = c.given[0], c.layer.outputs[0].element_type
    if wanted not in _FLOATS:
        return None
    if isinstance(value, Compressed):
        return replace(value, element_type=wanted, _value=None)
    kind = {"uint8": "u8", "int8": "i8"}.get(value.dtype.name) if isinstance(value, np.ndarray) else None
    if kind is None or not value.size:
        return None
    return Compressed(np.ascontiguousarray(value).view(np.uint8).reshape(-1), kind, value.shape, wanted)


def _shifted(c: IrContext) -> Compressed | None:
    numbers, zero = c.given[:2]
    if not _takes_parameters(numbers) or numbers.zero is not None or numbers.scale is not None:
        return None
    own = _parameter(numbers, zero)
    if own is None:
        return None
    _, least, most = _INTEGERS[numbers.kind]
    if not np.all((own >= least) & (own <= most) & (own == np.floor(own))):
        return None
    return replace(numbers, zero=own.astype(np.int16), _value=None)


def _scaled(c: IrContext) -> Compressed | None:
    for numbers, scale in (c.given[:2], c.given[1::-1]):
        if _takes_parameters(numbers) and numbers.scale is None:
            own = _parameter(numbers, scale)
            if own is not None:
                return replace(numbers, scale=own, _value=None)
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
    value, sizes = c.given[0], c.layer.outputs[0].sizes
    if not isinstance(value, Compressed) or prod(sizes) != prod(value.sizes):
        return None

    def parameter(own: _Array | None) -> _Array | None:
        counts = None if own is None else reshaped_blocks(value.sizes, own.shape, sizes)
        return None if own is None or counts is None else own.reshape(counts)

    zero, scale = parameter(value.zero), parameter(value.scale)
    if (zero is None) != (value.zero is None) or (scale is None) != (value.scale is None):
        return None
    return replace(value, sizes=sizes, zero=zero, scale=scale, _value=None)


_LAYERS: dict[str, Callable[[IrContext], Compressed | None]] = {
    "Convert": _converted, "ConvertLike": _converted, "Subtract": _shifted, "Multiply": _scaled,
    "Reshape": _reshaped, "Squeeze": _reshaped, "Unsqueeze": _reshaped,
}  # fmt: skip
