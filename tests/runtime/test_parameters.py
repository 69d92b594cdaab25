"""Parameter blocks: each dispatch reads its own from a uniform buffer, in which equal blocks are stored once."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
from dml.glslang import Source
from dml.runtime.context import Context
from dml.runtime.parameters import Parameters
from dml.runtime.recording import Place, Recording, spirv

#: y[i] = parameter i, over 64 words.
COPY = Source(
    "tests/parameters.comp",
    """#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint to; uint add; } push_;
layout(set = 0, binding = 0) writeonly buffer Y { uint y[]; };
layout(set = 0, binding = 1) uniform Parameters { uvec4 parameters[16]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    y[push_.to + i] = parameters[i >> 2][i & 3u] + push_.add;
}
""",
)
WORDS = 64


def copy(number: int, parameters: tuple[int, ...], add: int = 0) -> Dispatch:
    region = Region(Space.OUTPUT, 0, number * 4 * WORDS, 4 * WORDS)
    return Dispatch("copy", COPY, (StorageBinding(region, Access.WRITE),), (1, 1, 1), (add,), parameters)


def block(seed: int) -> tuple[int, ...]:
    return tuple(np.random.default_rng(seed).integers(0, 2**32, WORDS).tolist())


def test_each_dispatch_reads_its_own_block(each_kind):
    """Blocks have bit patterns up to 2^32 - 1, in the order of the dispatches, in a second run too."""
    context = each_kind.context
    dispatches = [copy(k, block(seed)) for k, seed in enumerate((1, 2, 1, 3))]
    buffer = context.buffer(4 * 4 * WORDS)
    recording = Recording(context, dispatches, spirv(dispatches), lambda region: Place(buffer))
    for _ in range(2):
        recording.run()
        assert buffer.read(np.uint32).tolist() == [*block(1), *block(2), *block(1), *block(3)]
        buffer.write(np.zeros(4 * WORDS, np.uint32))


def test_blocks_live_as_long_as_their_recording(each_kind):
    """A recording's parameter memory returns to its pool when the recording is freed, not before."""
    context = each_kind.context
    buffers = [context.buffer(4 * WORDS) for _ in range(8)]
    recordings = [
        Recording(context, [copy(0, block(k))], spirv([copy(0, block(k))]), lambda region, b=buffer: Place(b))
        for k, buffer in enumerate(buffers)
    ]
    for recording in recordings:
        recording.run()
    assert [buffer.read(np.uint32).tolist() for buffer in buffers] == [list(block(k)) for k in range(8)]


@pytest.mark.parametrize("alignment", [1, 4, 64, 256])
def test_blocks_are_stored_once_and_aligned(device, alignment):
    """Blocks are whole vectors of four words, at multiples of the device's alignment; without parameters there is
    none."""
    target = dataclasses.replace(device.vulkan.target, uniform_buffer_alignment=alignment)
    context = Context(dataclasses.replace(device.vulkan, target=target))
    dispatches = [copy(k, parameters) for k, parameters in enumerate([(1, 2, 3), (), (4,) * 17, (1, 2, 3)])]
    parameters = Parameters(context, dispatches)
    ranges = [parameters.range(dispatch) for dispatch in dispatches]
    assert ranges[1] == []
    assert ranges[0] == ranges[3]
    (_, first, size), (_, second, larger) = ranges[0][0], ranges[2][0]
    assert (size, larger) == (16, 80)
    assert second == first + max(16, alignment)
    assert not first % alignment
    assert parameters.buffer is not None
    words = parameters.buffer.read(np.uint32, offset=first - parameters.buffer.piece.offset)
    assert words[:4].tolist() == [1, 2, 3, 0]
    assert Parameters(context, [copy(0, ())]).buffer is None


def test_blocks_of_any_content_share_a_pipeline(device):
    context = Context(device.vulkan)
    buffer = context.buffer(4 * 4 * WORDS)
    dispatches = [copy(k, block(k), add=k) for k in range(4)]
    Recording(context, dispatches, spirv(dispatches), lambda region: Place(buffer))
    assert len(context.pipelines) == 1
