"""Kernels that move elements, singly or by whole vectors if adjacent elements stay adjacent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.prelude import read, update, write
from dml.compiler.parts import in_parts
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant


def move_each(
    builder: ProgramBuilder,
    kernel: str,
    result: Operand,
    moved: Mapping[str, Operand],
    still: Mapping[str, Operand],
    *,
    pitches: Mapping[str, int] | None = None,
    constants: Mapping[str, Constant] | None = None,
    keep: Sequence[int] = (),
    code: str = "",
    split_axes: Iterable[int] = (),
    reads_result: bool = False,
) -> None:
    """Run a kernel that defines ``ELEMENT value(uint c[RANK])``, like ``for_each`` but by whole uvec4 if possible.

    The kernel includes "movement/move.glsl", which reads elements of ``moved`` tensors with name_ELEMENT(i). It moves
    vectors if the last dimension allows it: ``moved`` tensors are contiguous and aligned along it, tensors in ``still``
    (read element by element) do not vary along it, and it is not in ``keep``. pitches: constants that count elements of
    moved tensors. split_axes, reads_result: as in ``for_each``.
    """
    strides = pitches or {}
    for part, *others in in_parts((result, *moved.values(), *still.values()), builder.target.max_region, split_axes):
        named = dict(zip((*moved, *still), others, strict=True))
        unit = _elements_together(part, [named[name] for name in moved], [named[name] for name in still])
        # An epilogue needs values; a moved vector holds bits, which are values only for FLOAT32.
        values = part.epilogue is not None and any(
            DATA_TYPES[item.data_type].bits < 32 for item in (part, *(named[name] for name in moved))
        )
        if part.rank - 1 in keep or values or any(pitch % unit for pitch in strides.values()):
            unit = 1
        counted = {**(constants or {}), **{name: pitch // unit for name, pitch in strides.items()}}
        access = "load" if unit == 1 else "vector"
        readable = [*moved, "result"] if reads_result else moved
        text = "\n".join([*(f"#define {name}_ELEMENT {name}_{access}" for name in readable), code])
        if unit == 1:
            builder.for_each(
                kernel, part, named, constants=counted, defines={"VECTORS": 0}, code=text, reads_result=reads_result
            )
            continue
        whole = _in_vectors(builder.crop(part), unit)
        bound = {"result": (update if reads_result else write)(whole, vector=True)}
        for name in moved:
            bound[name] = read(_in_vectors(builder.crop(named[name]), unit), vector=True)
        for name in still:
            bound[name] = read(named[name].view(whole.sizes, named[name].strides))
        defines = {"VECTORS": 1, "WHOLE_WORDS": 0}
        builder.walk(kernel, bound, whole.count, space=whole.sizes, constants=counted, defines=defines, code=text)


def _elements_together(result: Operand, moved: Sequence[Operand], still: Sequence[Operand]) -> int:
    """Return the elements per vector if the last dimension can move by vectors, else 1."""
    unit = DATA_TYPES[result.data_type].per_vector
    same = all(operand.strides[-1] == 0 for operand in still)
    return unit if same and all(_holds_vectors(operand, unit) for operand in (result, *moved)) else 1


def _holds_vectors(operand: Operand, unit: int) -> bool:
    """Whether the last dimension is whole aligned vectors. Reversed dimensions do not count."""
    *outer, inner = operand.strides
    aligned = all(stride % unit == 0 and stride < 2**31 for stride in outer)
    return inner == 1 and aligned and operand.sizes[-1] % unit == 0 and operand.base % unit == 0


def _in_vectors(operand: Operand, unit: int) -> Operand:
    """View the operand in vectors of ``unit`` elements."""
    sizes = (*operand.sizes[:-1], operand.sizes[-1] // unit)
    strides = (*(stride // unit for stride in operand.strides[:-1]), 1)
    return replace(operand, sizes=sizes, strides=strides, base=operand.base // unit)
