"""LOCAL_RESPONSE_NORMALIZATION: each element divided by a power of the sum of squares around it; and its gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.prelude import Bound, read, write
from dml.compiler.lowering import Epilogues, lowering
from dml.compiler.operators.pooling.boxes import BoxKernel, each_result, fits
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant
from dml.descriptors import normalization as d
from dml.enums import DML_TENSOR_DATA_TYPE, DML_TENSOR_DATA_TYPE_FLOAT32


class LocalRegion:
    """The region around each element, as a window of the pooling kernels.

    It has LocalSize elements per dimension (if even, one more after the element than before), clipped to the tensor.
    Its dimensions are height and width, or with CrossChannel the channel, treated as depth.
    """

    def __init__(self, desc: Any, sizes: Sequence[int]) -> None:
        self._across = desc.CrossChannel
        limits = sizes[1:2] if desc.CrossChannel else sizes[2:4]
        self._before = [min((desc.LocalSize - 1) // 2, size - 1) for size in limits]
        self._after = [min(desc.LocalSize // 2, size - 1) for size in limits]
        self._windows = [before + 1 + after for before, after in zip(self._before, self._after, strict=True)]
        self._factors = {"ALPHA": desc.Alpha / desc.LocalSize, "BETA": desc.Beta, "BIAS": desc.Bias}

    def view(self, operand: Operand) -> Operand:
        """View an operand as {N, C, depth, height, width} with the region's dimensions among the last three."""
        position = 1 if self._across else 2
        return operand.view(
            (*operand.sizes[:position], 1, *operand.sizes[position:]),
            (*operand.strides[:position], 0, *operand.strides[position:]),
        )

    def kernel(
        self, builder: ProgramBuilder, name: str, tensors: Mapping[str, Bound], *, mirrored: bool = False
    ) -> BoxKernel:
        """Return a kernel that visits each element's region or, mirrored, the elements whose regions contain the
        element."""
        starts, windows = self._after if mirrored else self._before, self._windows
        # Along other dimensions the window is the element itself.
        starts, windows = ([*starts, 0, 0], [*windows, 1, 1]) if self._across else ([0, *starts], [1, *windows])
        constants: dict[str, Constant] = {}
        for axis, (window, start) in enumerate(zip(windows, starts, strict=True)):
            constants.update({f"WINDOW_{axis}": window, f"START_{axis}": start})
            constants.update({f"STEP_{axis}": 1, f"DILATION_{axis}": 1})
        split_axes = (0, 1, 3, 4) if self._across else (0, 1)
        kernel = BoxKernel(
            name, tensors, windows, {**constants, **self._factors}, split_axes=split_axes, slides=not self._across
        )
        # If windows are bound in parts, the element itself is read through a separate binding.
        if kernel.slides and "x" not in tensors and not fits(builder, kernel):
            kernel = replace(kernel, tensors={**tensors, "x": tensors["source"]})
        return kernel


def _channels_last(builder: ProgramBuilder, data_type: DML_TENSOR_DATA_TYPE, sizes: Sequence[int]) -> Operand:
    images, channels, height, width = sizes
    return builder.temporary(data_type, (images, height, width, channels)).permuted((0, 3, 1, 2))


@lowering(d.DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC, epilogue=Epilogues.ANY)
def local_response(desc: d.DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source = builder["InputTensor"]
    region = LocalRegion(desc, source.sizes)
    tensors = {"result": write(region.view(builder["OutputTensor"])), "source": read(region.view(source))}
    each_result(builder, region.kernel(builder, "normalization/local_response.comp", tensors))


@lowering(d.DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC)
def local_response_grad(desc: d.DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """With s the base of the power at each position and a = Alpha / LocalSize, dx is

    dy * s^-Beta - 2 a Beta x * sum(dy * x * s^(-Beta - 1) over the regions that contain the element).
    """
    source = builder["InputTensor"]
    region = LocalRegion(desc, source.sizes)
    create = _channels_last if source.strides[1] == 1 else ProgramBuilder.temporary
    power, share = (region.view(create(builder, DML_TENSOR_DATA_TYPE_FLOAT32, source.sizes)) for _ in range(2))
    x, gradient = region.view(source), region.view(builder["InputGradientTensor"])
    tensors = {"result": write(share), "source": read(x), "gradient": read(gradient), "power": write(power)}
    each_result(builder, region.kernel(builder, "normalization/local_response.comp", tensors))
    tensors = {
        "result": write(region.view(builder["OutputGradientTensor"])),
        "source": read(share),
        "gradient": read(gradient),
        "x": read(x),
        "power": read(power),
    }
    each_result(builder, region.kernel(builder, "normalization/local_response_grad.comp", tensors, mirrored=True))
