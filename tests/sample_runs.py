"""Runs sample descriptors over all bytes of their tensors, including the gaps of their layouts."""

from __future__ import annotations

from typing import Any

import numpy as np

import dml
from dml.compiler.program import Program
from harness import Array, Tensor, run_on

#: Value of every byte of an output before a run.
UNTOUCHED = 0xA5


def tensors(fields: Any) -> list[Tensor]:
    """Return the present tensors of a description's fields; arrays of tensors are flattened."""
    return [t for _, field in fields for t in (field if isinstance(field, tuple) else (field,)) if t is not None]


def bits(rng: np.random.Generator, desc: Tensor) -> Array:
    """Return random values that fill a tensor's bytes, gaps included. Integers wider than a byte are 1 or 2, since
    they may be masks or lengths."""
    kind = dml.numpy_dtype(desc.DataType)
    count = int(desc.TotalTensorSizeInBytes or 0) // kind.itemsize
    if kind.kind == "f":
        return rng.uniform(0.5, 2, count).astype(kind)
    return rng.integers(1, 255 if kind.itemsize == 1 else 3, count).astype(kind)


def elements(desc: Tensor) -> Array:
    """Return whether each byte of a tensor belongs to an element."""
    width = dml.numpy_dtype(desc.DataType).itemsize
    found = np.zeros(int(desc.TotalTensorSizeInBytes or 0), bool)
    places = sum(
        np.arange(n).reshape(-1, *(1,) * (desc.rank - 1 - d)) * s
        for d, (n, s) in enumerate(zip(desc.Sizes, desc.strides, strict=True))
    )
    for byte in range(width):
        found[np.ravel(places) * width + byte] = True
    return found


def run_sample(device: dml.Device, desc: dml.OperatorDesc) -> tuple[Program, list[Array]]:
    """Return the Program and the bytes of its outputs. The inputs are the same in every call."""
    rng = np.random.default_rng(3)
    inputs = [device.create_buffer(bits(rng, t)) for t in tensors(desc.inputs())]
    sizes = [int(t.TotalTensorSizeInBytes or 0) for t in tensors(desc.outputs())]
    outputs = [device.create_buffer(np.full(size, UNTOUCHED, np.uint8)) for size in sizes]
    program = run_on(device, desc, inputs, outputs)
    return program, [buffer.read(np.uint8, size) for buffer, size in zip(outputs, sizes, strict=True)]
