"""Fourier transforms: for each axis a product with the transform's matrix."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

import dml.graph.operations as op
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.frontends.openvino.sizes import size_rule
from dml.graph.builder import Tensor
from dml.shapes import with_size


@layer("DFT", "IDFT")
def fourier(c: IrContext) -> IrValue:
    """Transform complex numbers, pairs in the last dimension."""
    x = c.tensor(0)
    axes, sizes = _axes(c, x.rank - 1, x.sizes)
    for axis, size in zip(axes, sizes, strict=True):
        x = _complex(x, axis, size, inverse=c.layer.type == "IDFT")
    return x


@layer("RDFT")
def real_fourier(c: IrContext) -> IrValue:
    """Transform real numbers. The last axis keeps half of its frequencies; the others are their conjugates."""
    x = c.tensor(0)
    axes, sizes = _axes(c, x.rank, x.sizes)
    last, size = axes[-1], sizes[-1]
    used = min(size, x.sizes[last])
    x = _first(x, last, used)
    waves = _waves(size, inverse=False)[:used, : size // 2 + 1]
    matrix = np.stack([waves.real, waves.imag], -1).reshape(waves.shape[0], -1)
    result = _product(x.reshape(*x.sizes, 1), last, matrix, 2)
    for axis, size in zip(axes[:-1], sizes[:-1], strict=True):
        result = _complex(result, axis, size, inverse=False)
    return result


@layer("IRDFT")
def inverse_real_fourier(c: IrContext) -> IrValue:
    """Transform half of the frequencies along the last axis to real numbers."""
    x = c.tensor(0)
    own = x.sizes[:-1]
    axes, sizes = _axes(c, x.rank - 1, own)
    last = axes[-1]
    size = c.integers(2)[-1] if len(c.values) > 2 else -1
    size = 2 * (own[last] - 1) if size == -1 else size
    for axis, count in zip(axes[:-1], sizes[:-1], strict=True):
        x = _complex(x, axis, count, inverse=True)
    half = min(size // 2 + 1, own[last])
    waves = _waves(size, inverse=True)[:half]
    # A frequency with a conjugate counts twice; 0 and half the size have none
    twice = np.where((np.arange(half) == 0) | (2 * np.arange(half) == size), 1.0, 2.0)[:, None]
    matrix = np.stack([waves.real * twice, -waves.imag * twice], 1).reshape(2 * half, size)
    result = _product(_first(x, last, half), last, matrix, 1)
    return result.reshape(*result.sizes[:-1])


@size_rule("DFT", "IDFT", "RDFT", "IRDFT")
def _spectrum_sizes(c: IrContext, inputs: list[tuple[int, ...]]) -> tuple[int, ...]:
    result, kind = inputs[0], c.layer.type
    axes, sizes = _axes(c, len(result) - (kind != "RDFT"), result)
    if kind == "IRDFT" and (len(c.values) < 3 or c.integers(2)[-1] == -1):
        sizes[-1] = 2 * (result[axes[-1]] - 1)
    if kind == "RDFT":
        sizes[-1] = sizes[-1] // 2 + 1
    for axis, size in zip(axes, sizes, strict=True):
        result = with_size(result, axis, size)
    return {"RDFT": (*result, 2), "IRDFT": result[:-1]}.get(kind, result)


def _axes(c: IrContext, rank: int, own: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Return the axes and the signal sizes along them; -1 means the input's size."""
    axes = [c.axis(axis, rank) for axis in c.integers(1)]
    given = c.integers(2) if len(c.values) > 2 else [-1] * len(axes)
    c.check(len(given) == len(axes) and bool(axes), f"signal sizes {given} do not fit axes {axes}")
    return axes, [own[axis] if size == -1 else size for axis, size in zip(axes, given, strict=True)]


def _waves(size: int, *, inverse: bool) -> npt.NDArray[np.complex128]:
    """Return the transform's matrix {signal, frequency}, or its inverse {frequency, signal}, which divides by the
    size."""
    turns = np.outer(np.arange(size), np.arange(size)) % size / size
    waves: npt.NDArray[np.complex128] = np.exp((2j if inverse else -2j) * np.pi * turns)
    return waves / size if inverse else waves


def _complex(x: Tensor, axis: int, size: int, *, inverse: bool) -> Tensor:
    """Transform pairs along an axis; the signal is truncated or padded with zeros to ``size``."""
    used = min(size, x.sizes[axis])
    waves = _waves(size, inverse=inverse)[:used]
    # (a + b i)(c + d i): a gives (c, d), b gives (-d, c)
    matrix = np.stack([np.stack([waves.real, waves.imag], -1), np.stack([-waves.imag, waves.real], -1)], 1)
    return _product(_first(x, axis, used), axis, matrix.reshape(2 * used, 2 * size), 2)


def _first(x: Tensor, axis: int, count: int) -> Tensor:
    """Return the first ``count`` elements along an axis."""
    return x if count == x.sizes[axis] else op.slice_(x, [0] * x.rank, with_size(x.sizes, axis, count))


def _product(x: Tensor, axis: int, matrix: npt.NDArray[np.float64], parts: int) -> Tensor:
    """Merge an axis with the last dimension, multiply by a matrix, and divide the result's columns into the new axis
    and a last dimension of ``parts``."""
    order = [dimension for dimension in range(x.rank - 1) if dimension != axis]
    turned = x.transpose(*order, axis, x.rank - 1)
    rows = prod(x.sizes[dimension] for dimension in order)
    flat = turned.reshape(1, 1, rows, matrix.shape[0])
    product = op.gemm(flat, x.builder.constant(matrix[None, None], x.data_type))
    product = product.reshape(*(x.sizes[dimension] for dimension in order), matrix.shape[1] // parts, parts)
    back = [*order, axis, x.rank - 1]
    return product.transpose(*(back.index(dimension) for dimension in range(x.rank)))
