"""Pooling: a sliding window over the spatial dimensions, and the gradients that gather what a window spread.

Every kernel sees {N, C, depth, height, width}; a tensor of four dimensions has depth 1.

Where the reference is silent: a window of nothing but padding has average 0, the type's lowest value as its maximum
and index -1, which MAX_UNPOOLING ignores like any index beyond its output; of equal indices the last element wins;
a maximum lets NaN through; Lp pooling takes magnitudes, as in ONNX.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dml.compiler.builder import ProgramBuilder, owns_whole_words
from dml.compiler.kernels.expression import Expression, Leaf, apply, node
from dml.compiler.kernels.prelude import VALUE_TYPES, Bound, Constant, read, update, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.views import volume
from dml.compiler.operators.reduction.reduction import FLOAT_SUM, MATH, Monoid, kind_of, largest_of, reduce
from dml.compiler.parts import in_parts
from dml.compiler.program import Operand
from dml.compiler.selection import max_steps
from dml.descriptors.pooling import (
    DML_AVERAGE_POOLING1_OPERATOR_DESC,
    DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC,
    DML_AVERAGE_POOLING_OPERATOR_DESC,
    DML_LP_POOLING1_OPERATOR_DESC,
    DML_LP_POOLING_OPERATOR_DESC,
    DML_MAX_POOLING1_OPERATOR_DESC,
    DML_MAX_POOLING2_OPERATOR_DESC,
    DML_MAX_POOLING_GRAD_OPERATOR_DESC,
    DML_MAX_POOLING_OPERATOR_DESC,
    DML_MAX_UNPOOLING_OPERATOR_DESC,
    DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC,
)
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32
from dml.errors import HRESULT, DMLError

#: Boxes of more places than this are walked by a workgroup together.
WIDE_ABOVE = 512
#: Invocations that share one.
TOGETHER = 128
#: Batch and channel: windows stay in one plane.
PLANES = (0, 1)


def window(desc: Any) -> dict[str, Constant]:
    """The window as constants by spatial axis: WINDOW_0 (depth) to WINDOW_2, STEP_d, DILATION_d and START_d."""
    dilations = getattr(desc, "Dilations", (1,) * len(desc.WindowSize))
    fields = {"WINDOW": desc.WindowSize, "STEP": desc.Strides, "DILATION": dilations, "START": desc.StartPadding}
    constants: dict[str, Constant] = {}
    for name, values in fields.items():
        if len(values) == 2:
            values = (0 if name == "START" else 1, *values)
        constants.update({f"{name}_{axis}": value for axis, value in enumerate(values)})
    return constants


def each_result(
    builder: ProgramBuilder,
    kernel: str,
    tensors: dict[str, Bound],
    box: int,
    constants: Mapping[str, Constant],
    defines: Mapping[str, object] | None = None,
    *,
    wide_above: int = WIDE_ABOVE,
    cost: int = 1,
    alike: Iterable[int] = (),
) -> None:
    """Run a kernel that ends in "pooling/store.glsl" for each element of tensors["result"].

    box: places that it visits for one element, at most. Small boxes take one invocation, those of more than
    ``wide_above`` places a workgroup. cost: loop iterations that a place takes. alike: as for ``for_each``.
    Raises DMLError where a box is too large for the loops of a workgroup.
    """
    for part in in_parts([bound.operand for bound in tensors.values()], builder.target.max_region, alike):
        bound = {name: replace(tensors[name], operand=operand) for name, operand in zip(tensors, part, strict=True)}
        _each_result(builder, kernel, bound, box, constants, defines or {}, wide_above, cost)


def _each_result(
    builder: ProgramBuilder,
    kernel: str,
    tensors: Mapping[str, Bound],
    box: int,
    constants: Mapping[str, Constant],
    defines: Mapping[str, object],
    wide_above: int,
    cost: int,
) -> None:
    result = tensors["result"].operand
    target = builder.target
    per_word = VALUE_TYPES[result.data_type].per_word
    # The elements of a word share an invocation, and so what its loops may go round.
    whole = per_word > 1 and owns_whole_words(result) and box * cost * per_word <= max_steps(target)
    wide = box > min(wide_above, max_steps(target) // cost)
    workgroup = TOGETHER if wide else target.workgroup
    most = workgroup * max_steps(target) // cost
    if target.is_cpu and wide and box * cost <= 8 * max_steps(target):
        workgroup = 8  # one vector of the CPU driver: larger workgroups with barriers are slow there
    if box > most:
        raise DMLError(f"{kernel}: a window of {box} elements, above this device's limit {most}", HRESULT.E_OUTOFMEMORY)
    if wide:
        steps = -(-box // workgroup) * cost
    else:
        steps = box * cost * (per_word if whole else 1)
    builder.dispatch(
        kernel,
        tensors,
        space=result.sizes,
        groups=result.count if wide else None,
        count=-(-result.count // per_word) if whole else result.count,
        workgroup=workgroup,
        constants=constants,
        defines={**defines, "WHOLE_WORDS": int(whole and not wide), "WIDE": int(wide)},
        steps=steps,
    )


def _reduced(desc: Any, builder: ProgramBuilder, monoid: Monoid, finish: Expression) -> bool:
    """Pool windows that are too large for a workgroup as reductions, which share them further.

    Answers False where a workgroup does, or where windows hold padding.
    """
    source, result = volume(builder["InputTensor"]), volume(builder["OutputTensor"])
    if math.prod(desc.WindowSize) <= TOGETHER * max_steps(builder.target):
        return False
    at = {name: int(value) for name, value in window(desc).items()}
    sizes = tuple(at[f"WINDOW_{axis}"] for axis in range(3))
    reach = [
        (result.sizes[2 + axis] - 1) * at[f"STEP_{axis}"] + (sizes[axis] - 1) * at[f"DILATION_{axis}"]
        for axis in range(3)
    ]
    if any(at[f"START_{axis}"] or reach[axis] >= source.sizes[2 + axis] for axis in range(3)):
        return False
    steps = [source.strides[2 + axis] * at[f"STEP_{axis}"] for axis in range(3)]
    inner = [source.strides[2 + axis] * at[f"DILATION_{axis}"] for axis in range(3)]
    windows = source.view((*result.sizes, *sizes), (*source.strides[:2], *steps, *inner))
    found = result.view((*result.sizes, 1, 1, 1), (*result.strides, 0, 0, 0))
    reduce(builder, monoid, [windows], (5, 6, 7), [(found, finish)])
    return True


@lowering(DML_AVERAGE_POOLING_OPERATOR_DESC, DML_AVERAGE_POOLING1_OPERATOR_DESC)
def average(
    desc: DML_AVERAGE_POOLING_OPERATOR_DESC | DML_AVERAGE_POOLING1_OPERATOR_DESC,
    builder: ProgramBuilder,
) -> None:
    mean = node("divide($x0, $Count)", Leaf(0), includes=[MATH], Count=float(math.prod(desc.WindowSize)))
    if _reduced(desc, builder, FLOAT_SUM, mean):
        return
    each_result(
        builder,
        "pooling/average.comp",
        {"result": write(volume(builder["OutputTensor"])), "source": read(volume(builder["InputTensor"]))},
        math.prod(desc.WindowSize),
        {**window(desc), "INCLUDE_PADDING": desc.IncludePadding},
        alike=PLANES,
    )


@lowering(DML_LP_POOLING_OPERATOR_DESC, DML_LP_POOLING1_OPERATOR_DESC)
def lp(desc: DML_LP_POOLING_OPERATOR_DESC | DML_LP_POOLING1_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    each_result(
        builder,
        "pooling/lp.comp",
        {"result": write(volume(builder["OutputTensor"])), "source": read(volume(builder["InputTensor"]))},
        math.prod(desc.WindowSize),
        {**window(desc), "P": desc.P},
        cost=1 if desc.P == 1 else 2 + desc.P.bit_length(),  # two rounds, and the bits of P for each power
        alike=PLANES,
    )


@lowering(DML_MAX_POOLING_OPERATOR_DESC, DML_MAX_POOLING1_OPERATOR_DESC, DML_MAX_POOLING2_OPERATOR_DESC)
def maximum(desc: Any, builder: ProgramBuilder) -> None:
    tensors = {"result": write(volume(builder["OutputTensor"])), "source": read(volume(builder["InputTensor"]))}
    indices = builder.get("OutputIndicesTensor")
    if indices is None and _reduced(desc, builder, largest_of(kind_of(builder["InputTensor"])), Leaf(0)):
        return
    if indices is not None:
        tensors["indices"] = write(volume(indices))
    defines = {"INDICES_ALONE": 0}
    # Indices count through the whole tensor.
    alike = PLANES if indices is None else ()
    each_result(builder, "pooling/max.comp", tensors, math.prod(desc.WindowSize), window(desc), defines, alike=alike)


@lowering(DML_MAX_UNPOOLING_OPERATOR_DESC)
def max_unpooling(desc: DML_MAX_UNPOOLING_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Elements claim their places first, so that equal indices have one winner, the last element, on every device."""
    source, indices, result = builder["InputTensor"], builder["IndicesTensor"], builder["OutputTensor"]
    winner = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, result.sizes)
    apply(builder, node("0u", glsl="uint"), winner, [])
    tensors = {"winner": update(winner.view((winner.count,), (1,))), "indices": read(indices)}
    builder.dispatch("pooling/claim.comp", tensors, space=source.sizes)
    builder.for_each("pooling/unpool.comp", result, {"source": source, "winner": winner})


@lowering(DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC)
def average_grad(desc: DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    _gather(builder, desc, {"INCLUDE_PADDING": desc.IncludePadding}, None)


@lowering(DML_MAX_POOLING_GRAD_OPERATOR_DESC)
def max_grad(desc: DML_MAX_POOLING_GRAD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """The winner of each window first, then each element gathers the gradients of the windows it won."""
    winner = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, volume(builder["InputGradientTensor"]).sizes)
    tensors = {"result": write(winner), "source": read(volume(builder["InputTensor"]))}
    defines = {"INDICES_ALONE": 1}
    each_result(builder, "pooling/max.comp", tensors, math.prod(desc.WindowSize), window(desc), defines)
    _gather(builder, desc, {}, winner)


def _gather(builder: ProgramBuilder, desc: Any, constants: Mapping[str, Constant], winner: Operand | None) -> None:
    """Each element's box: per axis as many windows as may hold it."""
    gradient = volume(builder["InputGradientTensor"])
    tensors = {"result": write(volume(builder["OutputGradientTensor"])), "gradient": read(gradient)}
    if winner is not None:
        tensors["winner"] = read(winner)
    dilations = getattr(desc, "Dilations", (1,) * len(desc.WindowSize))
    windows = [
        min((size - 1) * dilation // step + 1, count)
        for size, dilation, step, count in zip(
            desc.WindowSize, dilations, desc.Strides, gradient.sizes[-len(dilations) :], strict=True
        )
    ]
    box = {f"BOX_{axis}": size for axis, size in enumerate([1] * (3 - len(windows)) + windows)}
    defines = {"MAXIMUM": int(winner is not None)}
    each_result(
        builder,
        "pooling/grad.comp",
        tensors,
        math.prod(windows),
        {**window(desc), **box, **constants},
        defines,
        alike=PLANES if winner is None else (),
    )


@lowering(DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC)
def quantized_average(desc: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    result = volume(builder["OutputTensor"])

    def parameter(name: str) -> dict[str, Operand]:
        """A scale or zero point, one for the tensor or one per channel, at every element of the result."""
        operand = builder.get(f"{name}Tensor")
        if operand is None:
            return {}
        if operand.count == 1:
            operand = operand.view((1,), (0,))
        else:
            operand = volume(operand)
        snake = {"Scale": "scale", "ZeroPoint": "zero_point"}
        key = "input_" if name.startswith("Input") else "output_"
        key += snake[name.removeprefix("Input").removeprefix("Output")]
        return {key: operand.broadcast(result.sizes)}

    parameters: dict[str, Operand] = {}
    for name in ("InputScale", "InputZeroPoint", "OutputScale", "OutputZeroPoint"):
        parameters.update(parameter(name))
    tensors = {"result": write(result), "source": read(volume(builder["InputTensor"]))}
    tensors.update({name: read(operand) for name, operand in parameters.items()})
    each_result(
        builder,
        "pooling/quantized.comp",
        tensors,
        math.prod(desc.WindowSize),
        {**window(desc), "INCLUDE_PADDING": desc.IncludePadding},
        alike=PLANES,
    )
