"""Layouts of a case's tensors: by name, as bytes with gaps, and which bytes belong to elements."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.api.arrays import TensorMemory
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_TENSOR_FLAGS
from dml.tensors import DML_BUFFER_TENSOR_DESC

Array = npt.NDArray[Any]
Tensor = DML_BUFFER_TENSOR_DESC

#: packed: row-major. padded: a gap after each row and between slices. permuted: the first dimension is innermost.
#: broadcast: inputs repeat their first element along the first dimension longer than one. mixed: each tensor has its
#: own layout, with dimensions in any order, perhaps gaps, and perhaps repeated elements in inputs.
LAYOUTS = ("packed", "padded", "permuted", "broadcast", "mixed")

#: Layouts that the catalogue requests because selection depends on them. owned: packed, and DirectML owns all inputs
#: but the first, like weights. turned: inputs permuted, outputs packed.
MORE_LAYOUTS = ("owned", "turned")

#: Value of every byte outside elements, and of outputs before a run.
UNTOUCHED = 0xA5


def named_layout(label: str) -> str | None:
    """Return one of MORE_LAYOUTS by its label; None for any other label."""
    return label if label in MORE_LAYOUTS else None


def laid_out(desc: OperatorDesc, layout: str) -> OperatorDesc:
    """Return the description with all of its tensors in a layout."""
    if layout == "packed":
        return desc
    if layout == "owned":
        return _owned(desc)
    changes: dict[str, Any] = {}
    chance = random.Random(zlib.crc32(repr(desc).encode()))
    for info in desc.fields_info:
        value = getattr(desc, info.name)
        if value is None or not info.is_tensor:
            continue
        if layout == "mixed":
            many = isinstance(value, tuple)
            mixed = tuple(_mixed(t, chance, info.kind == "input") for t in (value if many else (value,)))
            changes[info.name] = mixed if many else mixed[0]
            continue
        label = layout if info.kind == "input" or layout not in ("broadcast", "turned") else "packed"
        changes[info.name] = tuple(_with(t, label) for t in value) if isinstance(value, tuple) else _with(value, label)
    return desc.replace(**changes)


def _owned(desc: OperatorDesc) -> OperatorDesc:
    later = [(name, tensor) for name, tensor in desc.inputs() if tensor is not None][1:]
    changes: dict[str, Any] = {name: owned(tensor) for name, tensor in later if isinstance(tensor, Tensor)}
    return desc.replace(**changes) if changes else desc


def owned(tensor: Tensor) -> Tensor:
    """Return the tensor as one that DirectML owns, as a trained model's parameters are."""
    flag = DML_TENSOR_FLAGS.DML_TENSOR_FLAG_OWNED_BY_DML
    return Tensor(tensor.DataType, tensor.Sizes, tensor.Strides, Flags=flag)


def _mixed(tensor: Tensor, chance: random.Random, is_input: bool) -> Tensor:
    """Return the tensor in a random layout. Dimensions that a description repeats by a stride of 0 stay repeated."""
    sizes, order, strides, step = tensor.Sizes, list(range(tensor.rank)), [0] * tensor.rank, 1
    if chance.random() < 0.5:
        chance.shuffle(order)
    gaps = (0, 1, 3) if chance.random() < 0.5 else (0,)
    repeats = 0.3 if is_input and chance.random() < 0.3 else 0.0
    for axis in reversed(order):
        if tensor.strides[axis] != 0 and chance.random() >= repeats:
            strides[axis] = step
            step = step * sizes[axis] + chance.choice(gaps)
    return Tensor(tensor.DataType, sizes, tuple(strides), Flags=tensor.Flags)


@lru_cache(maxsize=4096)
def _with(tensor: Tensor, layout: str) -> Tensor:
    return Tensor(tensor.DataType, tensor.Sizes, _strides(tensor, layout), Flags=tensor.Flags)


def _strides(tensor: Tensor, layout: str) -> tuple[int, ...] | None:
    """Return a tensor's strides in a layout. Dimensions that a description repeats by a stride of 0 stay repeated."""
    sizes = tensor.Sizes
    if layout == "packed":
        return tensor.Strides
    once = tuple(1 if stride == 0 else size for size, stride in zip(sizes, tensor.strides, strict=True))
    if once != sizes:
        laid = _strides(Tensor(tensor.DataType, once), layout)
        assert laid is not None
        return tuple(
            stride if distinct == size else 0 for stride, distinct, size in zip(laid, once, sizes, strict=True)
        )
    if layout == "broadcast":
        longer = next((axis for axis, size in enumerate(sizes) if size > 1), None)
        return tuple(0 if axis == longer else stride for axis, stride in enumerate(tensor.strides))
    gap = 1 if layout == "padded" else 0
    order = range(len(sizes)) if layout in ("permuted", "turned") else reversed(range(len(sizes)))
    strides, step = [0] * len(sizes), 2 if gap and len(sizes) == 1 else 1
    for axis in order:
        strides[axis] = step
        step = step * sizes[axis] + gap
    return tuple(strides)


def repeated(array: Array, tensor: Tensor) -> Array:
    """Repeat the first element along dimensions with a stride of 0, as the tensor stores the array."""
    once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in tensor.strides)
    return np.ascontiguousarray(np.broadcast_to(array[once], array.shape))


def to_bytes(array: Array, tensor: Tensor) -> npt.NDArray[np.uint8]:
    """Return all of the tensor's bytes; those in gaps are UNTOUCHED."""
    words = np.full(int(tensor.TotalTensorSizeInBytes) // 4, UNTOUCHED * 0x01010101, np.uint32)
    TensorMemory(words, tensor).store(array)
    return words.view(np.uint8)


def from_bytes(data: npt.NDArray[np.uint8], tensor: Tensor) -> Array:
    """Return the tensor's elements."""
    return TensorMemory(data.view(np.uint32), tensor).load()


def gaps_touched(data: npt.NDArray[np.uint8], tensor: Tensor) -> int | None:
    """Return the first byte outside elements that was written; None if there is none."""
    bits = tensor.element_bits
    places = np.zeros((), np.int64)
    for size, stride in zip(tensor.Sizes, tensor.strides, strict=True):
        places = places[..., None] + np.arange(size) * stride
    # Bytes after the last element pad a tensor to whole words, and may be written.
    if bits == 4:  # two elements per byte
        untouched = np.full(2 * len(data), True)
        untouched[places.ravel()] = False
        untouched[int(places.max()) + 1 :] = False
        found = np.stack([data & 15, data >> 4], axis=-1).reshape(-1)
        wrong = untouched & (found != np.tile([UNTOUCHED & 15, UNTOUCHED >> 4], len(data)))
        return int(np.argmax(wrong)) // 2 if wrong.any() else None
    width = bits // 8
    untouched = np.full(len(data), True)
    for byte in range(width):
        untouched[places.ravel() * width + byte] = False
    untouched[int(places.max()) * width + width :] = False
    wrong = untouched & (data != UNTOUCHED)
    return int(np.argmax(wrong)) if wrong.any() else None


def element_count(desc: OperatorDesc) -> int:
    """Count the elements of all tensors."""
    return sum(tensor.element_count for _, _, tensor in tensors(chain(desc.inputs(), desc.outputs())))


def tensors(fields: Iterator[tuple[str, Any]]) -> list[tuple[str, int | None, Tensor]]:
    """Return (field, index in its array or None, tensor) of the tensors present, in binding order."""
    found: list[tuple[str, int | None, Tensor]] = []
    for name, field in fields:
        if isinstance(field, tuple):
            found += [(name, index, tensor) for index, tensor in enumerate(field)]
        elif field is not None:
            found.append((name, None, field))
    return found
