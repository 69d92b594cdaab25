"""The workloads of tuning: operators of the heavy families, by increasing work.

Compiling an operator reports the choices that it takes from selection. A new variant is therefore measured without an
entry here, as long as an operator of its family reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dml.descriptors.base import OperatorDesc
from dml.tuning import workloads
from dml.tuning.workloads import Workload

_FLOATS = ("FLOAT32", "FLOAT16")


@dataclass(frozen=True)
class TuningWork:
    """An operator, its work (roughly, in multiplications), and its constant tensors.

    quick: run it even when time is short. scale: factor of the constants' values.
    """

    family: str
    name: str
    desc: OperatorDesc
    operations: float
    weights: tuple[str, ...] = ()
    quick: bool = False
    scale: float = 1.0


def _work(family: str, name: str, of: Workload, operations: float, *, quick: bool) -> TuningWork:
    return TuningWork(family, name, of.desc, operations, of.weights, quick, of.scale)


def _gemm(
    family: str, kind: str, m: int, k: int, n: int, *, along: bool = False, known: bool, quick: bool
) -> TuningWork:
    name = f"{kind} {m} x {k} by {n}{' transposed' if along else ''}{', weights' if known else ''}"
    product = workloads.gemm(m, k, n, along=along, right=known, kind=kind)
    return _work(family, name, product, float(m * n * k), quick=quick)


def _products() -> Iterator[TuningWork]:
    for kind in _FLOATS:
        for size in (128, 512, 1024, 2048, 4096):
            is_quick = size == 512 or (size == 2048 and kind == "FLOAT32")
            yield _gemm("product", kind, size, size, size, known=False, quick=is_quick)
            if size in (512, 1024) and kind == "FLOAT32":
                yield _gemm("product", kind, 64, size, size, known=True, quick=size == 512)
        yield _gemm("product", kind, 1024, 64, 1024, known=False, quick=False)
    for size in (512, 2048):
        product = workloads.integer_product(size, size, size)
        yield _work("product", f"INT8 {size} x {size} by {size}", product, float(size**3), quick=size == 512)


def _few_rows() -> Iterator[TuningWork]:
    for kind in _FLOATS:
        for rows in (1, 4, 8):
            for size in (1024, 4096):
                for along in (False, True):
                    is_quick = rows == 1 and size == 1024
                    yield _gemm("few rows", kind, rows, size, size, along=along, known=True, quick=is_quick)


def _convolution(
    kind: str, batch: int, inputs: int, outputs: int, side: int, window: int, *, quick: bool = False, groups: int = 1,
    stride: int = 1,
) -> TuningWork:  # fmt: skip
    described = workloads.convolution(
        inputs, outputs, side, window, batch=batch, stride=stride, groups=groups, kind=kind
    )
    name = f"{kind} {batch} x {inputs} to {outputs} of {side} x {side}, {window} x {window} by {stride}"
    operations = float(batch * (side // stride) ** 2 * outputs * inputs // groups * window**2)
    return _work("convolution", name, described, operations, quick=quick)


def _convolutions() -> Iterator[TuningWork]:
    for kind in _FLOATS:
        is_single = kind == "FLOAT32"
        for batch in (1, 32):
            yield _convolution(kind, batch, 64, 64, 56, 3, quick=batch == 1)
            yield _convolution(kind, batch, 256, 256, 14, 3, quick=batch == 1 and is_single)
            yield _convolution(kind, batch, 512, 512, 7, 3)
            yield _convolution(kind, batch, 64, 128, 56, 3, stride=2)
            yield _convolution(kind, batch, 3, 64, 224, 7, stride=2)
            yield _convolution(kind, batch, 256, 1024, 14, 1)
            for side in (56, 14):
                channels = 8064 // side
                yield _convolution(
                    kind, batch, channels, channels, side, 3, groups=channels, quick=batch == 1 and side == 56
                )


def _attention() -> Iterator[TuningWork]:
    for kind in _FLOATS:
        for rows, columns in ((256, 64), (2048, 64), (2048, 128)):
            heads = 8
            name = f"{kind} {heads} heads of {rows} x {columns}"
            operations = 2.0 * heads * rows * rows * columns
            layer = workloads.attention(heads, rows, columns, kind=kind)
            yield _work("attention", name, layer, operations, quick=(rows, columns) == (256, 64))


def _recurrent(gates: int, steps: int, batch: int, hidden: int) -> TuningWork:
    name = f"{'GRU' if gates == 3 else 'LSTM'} of {hidden}, {batch} sequences of {steps}"
    is_quick = (gates, batch, hidden) in {(3, 16, 64), (4, 1, 256)}
    layer = workloads.recurrent(gates, steps, batch, hidden)
    return _work("recurrent", name, layer, float(steps * batch * gates * hidden**2), quick=is_quick)


def _recurrences() -> Iterator[TuningWork]:
    for hidden in (64, 256, 1024):
        for batch in (1, 16):
            for gates in (3, 4):
                yield _recurrent(gates, 32, batch, hidden)


def _rows() -> Iterator[TuningWork]:
    for kind in _FLOATS:
        for length in (64, 256, 1024, 4096, 16384):
            layer = workloads.softmax((1 << 24) // length, length, kind=kind)
            yield _work("rows", f"{kind} softmax of {length}", layer, float(1 << 24), quick=length in (1024, 4096))


_WORKS = {
    "product": _products,
    "few rows": _few_rows,
    "convolution": _convolutions,
    "attention": _attention,
    "recurrent": _recurrences,
    "rows": _rows,
}
#: The families' names, as in selection.
FAMILIES = tuple(_WORKS)


def works(family: str, *, quick: bool = False) -> list[TuningWork]:
    """Return the operators of a family, by increasing work."""
    found = [work for work in _WORKS[family]() if work.quick or not quick]
    return sorted(found, key=lambda work: work.operations)
