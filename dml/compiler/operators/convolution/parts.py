"""Splitting of convolutions with tensors larger than one binding: along batch, groups, output and input channels; if
the parts are still too large, along the spatial axes of the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dml.compiler.operators.convolution.geometry import Convolution, three
from dml.compiler.parts import Box, boxes, crop, cut, narrow, window_reach, words
from dml.compiler.program import Operand, fast_replace
from dml.compiler.selection.convolution import LARGEST_TILE, Three
from dml.tensors import packed_strides


def parts(whole: Convolution, most: int, *, copied: bool = False) -> Iterator[list[Convolution]]:
    """Yield the parts of the result. Each part is a list of convolutions over ranges of input channels, whose sums add
    up to it; every convolution has the bias.

    most: bytes of a binding. copied: also split if the tensors fit, but not a padded copy of x.
    """
    tensors = _tensors(whole)
    space = (whole.x.sizes[0], whole.geometry.groups, whole.outputs, whole.inputs)
    # Kernels hold sums, and a padded copy of x, in 32 bits.
    sizes_of = {"x": (*whole.x.sizes[:2], *_padded(whole)), "result": whole.result.sizes}
    copies = {name: words(sizes, packed_strides(sizes)) for name, sizes in sizes_of.items()}
    needed = [*tensors.values(), *(copies.values() if copied else ())]
    if all(operand.region.size <= most for operand in needed):
        yield [whole]
        return
    views = [_by_channel(whole, operand, name) for name, operand in tensors.items()]
    spare = [_by_channel(whole, operand, name) for name, operand in copies.items()]
    extents = cut([*views, *spare], most, range(4))
    if extents is None:
        extents = cut(views, most, range(4))
        # Padding adds some elements along each axis: halving helps only while the axis has many more elements.
        halves = _halves(whole, most, 1 if extents is None else LARGEST_TILE) if copied or extents is None else []
        if halves:
            for half in halves:
                yield from parts(half, most, copied=copied)
            return
        extents = extents or space
    if extents[2:] != space[2:]:
        extents = (extents[0], 1, *extents[2:])  # channels of several groups would not be evenly spaced
    along_inputs = list(boxes(space[3:], extents[3:]))
    for box in boxes(space[:3], extents[:3]):
        yield [_part(whole, (*box, *channels)) for channels in along_inputs]


def _halves(whole: Convolution, most: int, least: int) -> list[Convolution]:
    """Cut the result in two along a spatial axis; return nothing if no spatial axis has more than ``least``
    elements."""
    sizes, steps = whole.result.sizes, whole.result.steps
    axis = max(range(2, 5), key=lambda axis: (sizes[axis] > least, (sizes[axis] - 1) * abs(steps[axis])))
    if sizes[axis] <= least or not _one_fits(whole, most):
        return []
    half = -(-sizes[axis] // 2)
    return [_along(whole, most, axis, first, count) for first, count in ((0, half), (half, sizes[axis] - half))]


def _one_fits(whole: Convolution, most: int) -> bool:
    """Whether the tensors of a single result fit, if cut along their channels."""
    for axis in range(2, 5):
        whole = _along(whole, most, axis, whole.result.sizes[axis] // 2, 1)
    views = [_by_channel(whole, operand, name) for name, operand in _tensors(whole).items()]
    return cut(views, most, range(4)) is not None


def _along(whole: Convolution, most: int, axis: int, first: int, count: int) -> Convolution:
    """Return the convolution of some results along a spatial axis, with the elements of x that they read."""
    d, geometry, size = axis - 2, whole.geometry, whole.x.sizes[axis]
    step, padding = geometry.strides[d], geometry.padding[d]
    window = (whole.weights.sizes[axis] - 1) * geometry.dilations[d] + 1
    if geometry.backward:
        start = min(max((first + padding - window + 1) // step, 0), size - 1)
        end = max(min((first + count - 1 + padding) // step + 1, size), start + 1)
        before = padding + first - start * step
    else:
        start, length = window_reach(first, count, step, window, padding, size)
        end, before = start + length, padding - first * step + start
    beyond = max(0, first + count - (whole.result.sizes[axis] - geometry.output_padding[d]))

    def own(values: Three, value: int) -> Three:
        return three(value if k == d else other for k, other in enumerate(values))

    return fast_replace(
        whole,
        x=crop(narrow(whole.x, (axis,), ((start, end - start),)), most),
        result=crop(narrow(whole.result, (axis,), ((first, count),)), most),
        geometry=replace(
            geometry,
            padding=own(geometry.padding, before),
            output_padding=own(geometry.output_padding, min(beyond, count)),
        ),
    )


def _tensors(whole: Convolution) -> dict[str, Operand]:
    given = {"x": whole.x, "weights": whole.weights, "bias": whole.bias, "result": whole.result}
    return {name: operand for name, operand in given.items() if operand is not None}


def _padded(whole: Convolution) -> tuple[int, ...]:
    """Return spatial sizes that hold every kernel's padded copy of x."""
    return tuple(
        size + 2 * before + (taps - 1) * dilation + tile
        for size, before, taps, dilation, tile in zip(
            whole.x.sizes[2:],
            whole.geometry.padding,
            whole.weights.sizes[2:],
            whole.geometry.dilations,
            (0, LARGEST_TILE, LARGEST_TILE),
            strict=True,
        )
    )


def _by_channel(whole: Convolution, operand: Operand, name: str) -> Operand:
    """View an operand over (batch, group, output channel, input channel, ...), with stride 0 where it does not vary."""
    space = (whole.x.sizes[0], whole.geometry.groups, whole.outputs, whole.inputs)
    first, second, *rest = operand.strides
    steps = {
        "x": (first, whole.inputs * second, 0, second),
        "weights": (0, *whole.weights_by_group.strides[:3]),
        "bias": (0, whole.outputs * second, second, 0),
        "result": (first, whole.outputs * second, second, 0),
    }[name]
    return operand.view((*space, *operand.sizes[2:]), (*steps, *rest))


def _part(whole: Convolution, box: Box) -> Convolution:
    batch, groups, outputs, inputs = (size for _, size in box)
    sizes = {
        "x": (batch, groups * inputs),
        "weights": (groups * inputs, outputs) if whole.geometry.backward else (groups * outputs, inputs),
        "bias": (1, groups * outputs),
        "result": (batch, groups * outputs),
    }

    def part(operand: Operand, name: str) -> Operand:
        own = narrow(_by_channel(whole, operand, name), range(4), box)
        return replace(operand, sizes=(*sizes[name], *operand.sizes[2:]), base=own.base, followed=own.followed)

    return Convolution(
        part(whole.x, "x"),
        part(whole.weights, "weights"),
        None if whole.bias is None else part(whole.bias, "bias"),
        part(whole.result, "result"),
        replace(whole.geometry, groups=groups),
    )
