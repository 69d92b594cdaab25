"""The workloads of tuning: operators of the heavy families, by increasing work.

Compiling an operator reveals the choices of selection that it meets, so a variant that selection enumerates is measured
without being named here, if some operator of its family meets it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dml import descriptors
from dml.descriptors.base import OperatorDesc
from dml.enums import (
    DML_CONVOLUTION_DIRECTION_FORWARD,
    DML_CONVOLUTION_MODE_CROSS_CORRELATION,
    DML_MATRIX_TRANSFORM_NONE,
    DML_MATRIX_TRANSFORM_TRANSPOSE,
    DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
    DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    DML_TENSOR_DATA_TYPE,
    DML_TENSOR_DATA_TYPE_FLOAT16,
    DML_TENSOR_DATA_TYPE_FLOAT32,
    DML_TENSOR_DATA_TYPE_INT8,
    DML_TENSOR_DATA_TYPE_INT32,
)
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: As in C programs, these omit counts and activations' tensors.
d: Any = descriptors

_FLOATS = (DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16)


@dataclass(frozen=True)
class TuningWork:
    """An operator, its work in multiplications or so, and its constant tensors.

    quick: run it even when time is short. scale: of the constants.
    """

    family: str
    name: str
    desc: OperatorDesc
    operations: float
    weights: tuple[str, ...] = ()
    quick: bool = False
    scale: float = 1.0


def _tensor(kind: DML_TENSOR_DATA_TYPE, *sizes: int) -> DML_BUFFER_TENSOR_DESC:
    return DML_BUFFER_TENSOR_DESC(kind, sizes)


def _short(kind: DML_TENSOR_DATA_TYPE) -> str:
    return kind.name.removeprefix("DML_TENSOR_DATA_TYPE_")


def _gemm(
    family: str, kind: DML_TENSOR_DATA_TYPE, m: int, k: int, n: int, *, along: bool = False, known: bool, quick: bool
) -> TuningWork:
    b = (1, 1, n, k) if along else (1, 1, k, n)
    desc = d.DML_GEMM_OPERATOR_DESC(
        ATensor=_tensor(kind, 1, 1, m, k), BTensor=_tensor(kind, *b), OutputTensor=_tensor(kind, 1, 1, m, n),
        TransA=DML_MATRIX_TRANSFORM_NONE,
        TransB=DML_MATRIX_TRANSFORM_TRANSPOSE if along else DML_MATRIX_TRANSFORM_NONE, Alpha=1.0, Beta=0.0,
    )  # fmt: skip
    name = f"{_short(kind)} {m} x {k} by {n}{' transposed' if along else ''}{', weights' if known else ''}"
    return TuningWork(family, name, desc, float(m * n * k), ("BTensor",) if known else (), quick)


def _products() -> Iterator[TuningWork]:
    for kind in _FLOATS:
        for size in (128, 512, 1024, 2048, 4096):
            is_quick = size == 512 or (size == 2048 and kind == DML_TENSOR_DATA_TYPE_FLOAT32)
            yield _gemm("product", kind, size, size, size, known=False, quick=is_quick)
            if size in (512, 1024) and kind == DML_TENSOR_DATA_TYPE_FLOAT32:
                yield _gemm("product", kind, 64, size, size, known=True, quick=size == 512)
        yield _gemm("product", kind, 1024, 64, 1024, known=False, quick=False)
    for size in (512, 2048):
        eight, words = (_tensor(t, 1, 1, size, size) for t in (DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_INT32))
        desc = d.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(ATensor=eight, BTensor=eight, OutputTensor=words)
        yield TuningWork("product", f"INT8 {size} x {size} by {size}", desc, float(size**3), quick=size == 512)


def _few_rows() -> Iterator[TuningWork]:
    for kind in _FLOATS:
        for rows in (1, 4, 8):
            for size in (1024, 4096):
                for along in (False, True):
                    is_quick = rows == 1 and size == 1024
                    yield _gemm("few rows", kind, rows, size, size, along=along, known=True, quick=is_quick)


def _convolution(
    kind: DML_TENSOR_DATA_TYPE, batch: int, inputs: int, outputs: int, side: int, window: int, *, quick: bool = False,
    groups: int = 1, stride: int = 1,
) -> TuningWork:  # fmt: skip
    own, pad, places = inputs // groups, window // 2, batch * (side // stride) ** 2
    desc = d.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=_tensor(kind, batch, inputs, side, side),
        FilterTensor=_tensor(kind, outputs, own, window, window),
        BiasTensor=_tensor(kind, 1, outputs, 1, 1),
        OutputTensor=_tensor(kind, batch, outputs, side // stride, side // stride),
        Mode=DML_CONVOLUTION_MODE_CROSS_CORRELATION, Direction=DML_CONVOLUTION_DIRECTION_FORWARD,
        Strides=(stride, stride), Dilations=(1, 1), StartPadding=(pad, pad),
        EndPadding=(pad - (stride > 1 and window > 1),) * 2, OutputPadding=(0, 0), GroupCount=groups,
    )  # fmt: skip
    name = f"{_short(kind)} {batch} x {inputs} to {outputs} of {side} x {side}, {window} x {window} by {stride}"
    operations = float(places * outputs * own * window**2)
    return TuningWork("convolution", name, desc, operations, ("FilterTensor", "BiasTensor"), quick)


def _convolutions() -> Iterator[TuningWork]:
    for kind in _FLOATS:
        is_single = kind == DML_TENSOR_DATA_TYPE_FLOAT32
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
            x = _tensor(kind, 1, rows, heads * columns)
            desc = d.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(
                QueryTensor=x, KeyTensor=x, ValueTensor=x, OutputTensor=x, Scale=columns**-0.5, MaskFilterValue=-1e4,
                HeadCount=heads, MaskType=DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
            )  # fmt: skip
            name = f"{_short(kind)} {heads} heads of {rows} x {columns}"
            operations = 2.0 * heads * rows * rows * columns
            yield TuningWork("attention", name, desc, operations, quick=(rows, columns) == (256, 64))


def recurrent_layer(gates: int, steps: int, batch: int, hidden: int) -> OperatorDesc:
    """Describe a GRU (3 gates) or an LSTM (4) in FLOAT32, forward, with hidden size equal to its input's."""

    def words(*sizes: int) -> DML_BUFFER_TENSOR_DESC:
        return _tensor(DML_TENSOR_DATA_TYPE_FLOAT32, *sizes)

    sigmoid, tanh = d.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), d.DML_ACTIVATION_TANH_OPERATOR_DESC()
    common: dict[str, Any] = {
        "InputTensor": words(1, steps, batch, hidden),
        "WeightTensor": words(1, 1, gates * hidden, hidden),
        "RecurrenceTensor": words(1, 1, gates * hidden, hidden),
        "BiasTensor": words(1, 1, 1, 2 * gates * hidden),
        "OutputSequenceTensor": words(steps, 1, batch, hidden),
        "Direction": DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    }
    desc: OperatorDesc
    if gates == 3:
        desc = d.DML_GRU_OPERATOR_DESC(**common, ActivationDescs=(sigmoid, tanh), LinearBeforeReset=True)
    else:
        desc = d.DML_LSTM_OPERATOR_DESC(
            **common, ActivationDescs=(sigmoid, tanh, tanh), ClipThreshold=0.0, UseClipThreshold=False,
            CoupleInputForget=False,
        )  # fmt: skip
    return desc


def _recurrent(gates: int, steps: int, batch: int, hidden: int) -> TuningWork:
    desc = recurrent_layer(gates, steps, batch, hidden)
    name = f"{'GRU' if gates == 3 else 'LSTM'} of {hidden}, {batch} sequences of {steps}"
    weights = ("WeightTensor", "RecurrenceTensor", "BiasTensor")
    # Weights small enough that a rounding difference fades from step to step.
    scale = 1.0 / math.sqrt(hidden)
    is_quick = (gates, batch, hidden) in {(3, 16, 64), (4, 1, 256)}
    return TuningWork("recurrent", name, desc, float(steps * batch * gates * hidden**2), weights, is_quick, scale)


def _recurrences() -> Iterator[TuningWork]:
    for hidden in (64, 256, 1024):
        for batch in (1, 16):
            for gates in (3, 4):
                yield _recurrent(gates, 32, batch, hidden)


def _rows() -> Iterator[TuningWork]:
    for kind in _FLOATS:
        for length in (64, 256, 1024, 4096, 16384):
            x = _tensor(kind, 1, 1, (1 << 24) // length, length)
            desc = d.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(InputTensor=x, OutputTensor=x)
            name = f"{_short(kind)} softmax of {length}"
            yield TuningWork("rows", name, desc, float(1 << 24), quick=length in (1024, 4096))


_WORKS = {
    "product": _products,
    "few rows": _few_rows,
    "convolution": _convolutions,
    "attention": _attention,
    "recurrent": _recurrences,
    "rows": _rows,
}
#: The families, by selection's names.
FAMILIES = tuple(_WORKS)


def works(family: str, *, quick: bool = False) -> list[TuningWork]:
    """Return the operators of a family, by increasing work."""
    found = [work for work in _WORKS[family]() if work.quick or not quick]
    return sorted(found, key=lambda work: work.operations)
