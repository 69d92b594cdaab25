"""Convolutions of 8-bit integers without conversion: products of the filter with windows of a copy of x."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.prelude import read, write
from dml.compiler.operators.convolution.implicit import stores_fours
from dml.compiler.operators.convolution.windows import WindowedSum
from dml.compiler.operators.gemm.bytes import Bytes, dispatch_bytes, dispatch_terms, multiplies_signed, row_terms
from dml.compiler.operators.gemm.matmul import matrix_code
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression
from dml.compiler.selection.bytes import VECTOR, byte_runs, convolution_kernel
from dml.enums import DML_TENSOR_DATA_TYPE_UINT8
from dml.tensors import packed_strides


@dataclass(frozen=True)
class _Runs:
    """The order of a window's elements in k (see convolution/byte_windows.glsl).

    channels: bytes of an element. taps: runs along each axis. run_taps: elements of a run.
    """

    channels: int
    taps: tuple[int, int, int]
    run_taps: int

    @property
    def used(self) -> int:
        """Bytes of a run that come from x."""
        return self.channels * self.run_taps

    @property
    def length(self) -> int:
        """Bytes of a run in k, with padding."""
        return -(-self.used // VECTOR) * VECTOR

    @property
    def count(self) -> int:
        return math.prod(self.taps)

    @property
    def constants(self) -> dict[str, Constant]:
        return {"TAPS_1": self.taps[1], "TAPS_2": self.taps[2], "RUN": self.length, "RUN_WORDS": self.used // 4}


def convolve_bytes(
    builder: ProgramBuilder,
    sums: WindowedSum,
    x_point: Operand | None,
    weights_point: Operand | None,
    finish: Expression,
    extra_operands: Sequence[Operand],
) -> bool:
    """Compute ``result = finish(sums)`` after subtracting the zero points; return False if the device has no kernel for
    it.

    x_point: the zero point of x, one element. weights_point: {group, output channel}. finish: an expression of the sum
    modulo 2^32, an int (leaf 0), and of the elements of ``extra_operands`` {group, output channel, 1} (leaves 1, 2,
    ...).
    """
    sizes, windows, target = sums.sizes, sums.windows, builder.target
    channels, merges = byte_runs(sizes)
    deep, high, across = windows.taps
    runs = _Runs(channels, (deep, high, 1 if merges else across), across if merges else 1)
    k, places = runs.count * runs.length, sizes.batch * math.prod(sizes.places)
    kernel = convolution_kernel(target, sizes, k)
    largest = max(sums.x.region.size, sums.result.region.size, _copied(sums, runs))
    if kernel is None or largest > target.max_region:
        return False
    x, weights = Bytes(sums.x, x_point), Bytes(sums.weights, weights_point)
    signed = multiplies_signed(kernel, x, weights)
    b = _channels_last(builder, sums, runs, x_point)
    a = _filter(builder, sums, runs, 128 if weights.is_flipped(signed=signed) else 0)
    image, *steps, _ = b.strides
    constants: dict[str, Constant] = {**runs.constants, "GROUP_STEP": channels, "IMAGE_STEP": image}
    for d in range(3):
        constants |= {f"PLACES_{d}": sizes.places[d], f"MOVE_{d}": windows.strides[d] * steps[d]}
        constants |= {f"STEP_{d}": windows.dilations[d] * steps[d]}
    operands = {"a": a}
    in_words = channels % VECTOR != 0
    if x.has_point(signed=signed) or weights.has_point(signed=signed):
        operands["a_terms"] = row_terms(builder, weights, a, signed=signed, adds=x.has_point(signed=signed), less=0)
        adds = weights.has_point(signed=signed)
        operands["b_terms"] = _window_terms(builder, sums, runs, b, x, constants, signed=signed, adds=adds)
    operands |= {f"extra{index}": operand for index, operand in enumerate(extra_operands)}
    tensors = {name: read(operand, vector=name == "a") for name, operand in operands.items()}
    fours = stores_fours(sums.result)
    dispatch_bytes(
        builder,
        kernel,
        {**tensors, "b": read(b, vector=not in_words), "result": write(sums.result)},
        (sizes.groups,),
        (sizes.outputs, places, k),
        code=matrix_code(operands),
        finish=finish,
        flips=(weights.is_flipped(signed=signed), x.is_flipped(signed=signed)),
        defines={
            "WINDOWS": 1,
            "IS_SUM": 0,
            "B_WORDS": int(in_words),
            "STORES": DATA_TYPES[sums.result.data_type].per_word if fours else 0,
            "HAS_TERMS": int("a_terms" in operands),
            "DOT_SIGNED": int(signed),
        },
        constants=constants,
    )
    return True


def _window_terms(
    builder: ProgramBuilder,
    sums: WindowedSum,
    runs: _Runs,
    b: Operand,
    x: Bytes,
    constants: dict[str, Constant],
    *,
    signed: bool,
    adds: bool,
) -> Operand:
    """Return, per window, the terms by which zero points change the sums. adds: include the terms that depend on the
    sum of the window's elements."""
    groups, places = sums.sizes.groups, sums.sizes.batch * math.prod(sums.sizes.places)
    rows = (groups, places) if adds else (1, 1)
    words = runs.count * runs.used // 4 if adds else 0
    terms = dispatch_terms(
        builder,
        {"b": read(b)},
        x.point and x.point.view(rows, (0, 0)),
        rows,
        signed=signed,
        unsigned_bytes=not x.is_signed,
        constants={**constants, "WORDS": words, "LESS": runs.count * runs.used if adds else 0},
        defines={"WINDOWS": 1, "IS_SUM": 1},
        steps=words,
    )
    return terms.broadcast((groups, places, 2))


def _reach(sums: WindowedSum) -> list[int]:
    """Return the extent of x, in elements along each axis, that the windows cover."""
    windows = sums.windows
    each = zip(sums.sizes.places, windows.strides, windows.taps, windows.dilations, strict=True)
    return [(count - 1) * move + (taps - 1) * dilation + 1 for count, move, taps, dilation in each]


def _copied(sums: WindowedSum, runs: _Runs) -> int:
    """Return the bytes of a copy of x, padded so that vector reads of the last run stay inside."""
    count = sums.sizes.batch * math.prod(_reach(sums)) * sums.sizes.groups * runs.channels
    return -(-count // VECTOR) * VECTOR + VECTOR


def _channels_last(builder: ProgramBuilder, sums: WindowedSum, runs: _Runs, point: Operand | None) -> Operand:
    """Return x, or a padded copy that holds all windows, as {image, depth, height, width, channels of all groups}."""
    sizes, windows = sums.sizes, sums.windows
    x = sums.x.as_type(DML_TENSOR_DATA_TYPE_UINT8)
    reach = _reach(sums)
    seen = x.permuted((0, 2, 3, 4, 1))
    steps = [step for step, size in zip(seen.strides, seen.sizes, strict=True) if size > 1]
    fits = windows.padding == (0, 0, 0) and all(map(int.__ge__, x.sizes[2:], reach))
    in_vectors = sizes.inputs % VECTOR == 0 and seen.strides[-1] == 1
    if fits and in_vectors and not any(step % VECTOR for step in (seen.base, *steps) if step != 1):
        return seen
    whole = (sizes.batch, *reach, sizes.groups * runs.channels)
    stage = builder.prepare(*filter(None, (x, point)))
    region = stage.scratch(_copied(sums, runs))
    copy = Operand(region, DML_TENSOR_DATA_TYPE_UINT8, whole, packed_strides(whole))
    zero = {} if point is None else {"zero": point.as_type(DML_TENSOR_DATA_TYPE_UINT8)}
    stage.for_each(
        "convolution/byte_channels.comp",
        copy,
        {"x": x, **zero},
        constants={"CHANNELS": runs.channels, "GROUP_INPUTS": sizes.inputs}
        | {f"PADDING_{d}": np.int32(windows.padding[d]) for d in range(3)},
        defines={"HAS_ZERO": int(point is not None)},
    )
    return copy


def _filter(builder: ProgramBuilder, sums: WindowedSum, runs: _Runs, padding: int) -> Operand:
    """Return the filter as {group, output channel, k}; prepared once if the weights are static."""
    groups, outputs = sums.weights.sizes[:2]
    stage = builder.prepare(sums.weights)
    matrix = stage.temporary(DML_TENSOR_DATA_TYPE_UINT8, (groups, outputs, runs.count * runs.length))
    stage.for_each(
        "convolution/byte_filter.comp",
        matrix,
        {"filter": sums.weights.as_type(DML_TENSOR_DATA_TYPE_UINT8)},
        constants={**runs.constants, "CHANNELS": runs.channels, "RUN_TAPS": runs.run_taps, "PAD": padding}
        | sums.windows.taps_in_filter(),
    )
    return matrix
