"""The kernel for every convolution: one invocation per element, or word, of the result."""

from __future__ import annotations

import math

from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.expression import emit
from dml.compiler.loops import ranges, rounds
from dml.compiler.operators.convolution.geometry import Convolution, Geometry
from dml.compiler.operators.gemm.matmul import sum_type
from dml.compiler.scalar import Constant, Expression, Leaf
from dml.compiler.selection.convolution import general_rounds


def general(builder: ProgramBuilder, convolution: Convolution, finish: Expression) -> None:
    """Compute ``result = finish(convolution)``, in several dispatches if the loops are too long for one.

    Each dispatch adds its sums to the previous ones, which it reads in place of the bias.
    """
    x, weights, result, geometry = convolution.x, convolution.weights, convolution.result, convolution.geometry
    kind, words = sum_type(result)
    most = general_rounds(builder.target, DATA_TYPES[result.data_type].per_word)
    each = (*(_each(geometry, d) for d in range(3)), 1)
    sizes = (*weights.sizes[2:], convolution.inputs)
    parts = list(ranges([-(-size // step) for size, step in zip(sizes, each, strict=True)], most))
    sums = [builder.temporary(words, result.sizes) for _ in parts[1:3]]
    added = convolution.bias
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        to = result if is_last else sums[number % 2]
        emitted = emit(finish if is_last else Leaf(0), [kind], "finish")
        builder.for_each(
            "convolution/general.comp",
            to,
            {"x": x, "filter": weights} | ({} if added is None else {"bias": added.broadcast(result.sizes)}),
            constants=_constants(convolution)
            | {f"FROM_{d}": begin * each[d] for d, (begin, _) in enumerate(part)}
            | {f"TO_{d}": min(end * each[d], sizes[d]) for d, (_, end) in enumerate(part)}
            | emitted.constants,
            defines={
                "SUM": kind,
                "BACKWARD": int(geometry.backward),
                "FLIPPED": int(geometry.flipped),
                "HAS_BIAS": int(added is not None),
            },
            code=emitted.code,
            steps=rounds([end - begin for begin, end in part]),
        )
        added = to


def _each(geometry: Geometry, d: int) -> int:
    """Return the number of adjacent taps along an axis of which each result uses at most one."""
    step = geometry.strides[d] // math.gcd(geometry.strides[d], geometry.dilations[d])
    return step if geometry.backward and step < 1 << 16 else 1  # its square fits 32 bits


def _constants(convolution: Convolution) -> dict[str, Constant]:
    geometry = convolution.geometry
    constants: dict[str, Constant] = {"GROUP_INPUTS": convolution.inputs, "GROUP_OUTPUTS": convolution.outputs}
    for d in range(3):
        beyond = 0 if geometry.backward else geometry.output_padding[d]
        constants[f"TAPS_{d}"] = convolution.weights.sizes[2 + d]
        constants[f"MOVE_{d}"] = geometry.strides[d]
        constants[f"DILATION_{d}"] = geometry.dilations[d]
        constants[f"PADDING_{d}"] = geometry.padding[d] % 2**32  # a part may skip the beginning of x
        constants[f"LIMIT_{d}"] = convolution.result.sizes[2 + d] - beyond
        constants[f"EACH_{d}"] = each = _each(geometry, d)
        if geometry.backward:
            constants[f"COMMON_{d}"] = common = math.gcd(geometry.strides[d], geometry.dilations[d])
            constants[f"INVERSE_{d}"] = pow(geometry.dilations[d] // common, -1, each)
    return constants
