"""A device's peak bandwidth and arithmetic rates, measured with kernels that do nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

import dml
from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
from dml.errors import DMLError
from dml.glslang import Source
from dml.runtime.buffer import Buffer
from dml.runtime.recording import Place, Recording, spirv

_HERE = Path(__file__).parent
#: Bytes to copy, and invocations that multiply; CPU drivers get fewer, because they would take seconds.
_COPIED, _COPIED_BY_CPUS = 1 << 30, 1 << 26
_BUSY, _BUSY_ON_CPUS = 1 << 19, 1 << 12
_ROUNDS = 2048
_TIMES = 7


def ceilings(device: dml.Device) -> dict[str, float]:
    """Measure the bytes per second that a copy reads and writes ("bytes"), and floating-point operations per second: in
    FLOAT32 and, if the device supports them, in FLOAT16 and on matrix units (FLOAT16 into FLOAT32)."""
    found = {"bytes": _copy(device), "float32": _multiply_add(device, half=False)}
    features = device.vulkan.target.features
    if features.float16:
        found["float16"] = _multiply_add(device, half=True)
    if features.half_matrices:
        try:
            found["matrix"] = max(_matrix(device, shape) for shape in features.half_matrices)
        except DMLError as error:  # this version of glslang lacks the extension
            print(f"matrix units are not measured: {str(error).splitlines()[0]}")
    return found


def _copy(device: dml.Device) -> float:
    size = min(_COPIED_BY_CPUS if device.vulkan.target.is_cpu else _COPIED, device.vulkan.max_binding // 4096 * 4096)
    a, b = (device.context.buffer(size) for _ in range(2))
    groups = size // (16 * 512)
    wide = min(groups, 32768)
    return 2 * size / _seconds(device, "copy.comp", {}, (wide, groups // wide, 1), (a, b))


def _multiply_add(device: dml.Device, *, half: bool) -> float:
    busy = _BUSY_ON_CPUS if device.vulkan.target.is_cpu else _BUSY
    seconds = _seconds(
        device, "multiply_add.comp", {"HALF": int(half)}, (busy // 128, 1, 1), (_given(device),), _ROUNDS
    )
    return 2 * 16 * (2 if half else 1) * _ROUNDS * busy / seconds


def _matrix(device: dml.Device, shape: tuple[int, int, int]) -> float:
    m, n, k = shape
    target = device.vulkan.target
    busy = (_BUSY_ON_CPUS if target.is_cpu else _BUSY) // 128
    defines = {"M": m, "N": n, "K": k, "SUBGROUP": target.subgroup_size}
    seconds = _seconds(device, "matrix.comp", defines, (busy, 1, 1), (_given(device),), _ROUNDS // 4)
    return 2 * m * n * k * 4 * (_ROUNDS // 4) * busy * 4 / seconds


def _given(device: dml.Device) -> Buffer:
    """Return a buffer whose elements are small numbers both as FLOAT32 and as FLOAT16."""
    return device.create_buffer(np.full(1024, 0x2E002E00, np.uint32))


def _seconds(
    device: dml.Device,
    kernel: str,
    defines: Mapping[str, int],
    groups: tuple[int, int, int],
    buffers: tuple[Buffer, ...],
    *push: int,
) -> float:
    """Return the shortest of several runs of one dispatch, by the device's clock."""
    written = tuple((name, str(value)) for name, value in defines.items())
    source = Source(kernel, (_HERE / kernel).read_text(encoding="utf-8"), written)
    regions = [Region(Space.INPUT, index, 0, buffer.size) for index, buffer in enumerate(buffers)]
    bindings = tuple(StorageBinding(region, Access.READ_WRITE) for region in regions)
    dispatches = [Dispatch(kernel, source, bindings, groups, push)]
    recording = Recording(
        device.context, dispatches, spirv(dispatches), lambda region: Place(buffers[region.index]), timed=True
    )
    return min(recording.profile()[0].nanoseconds for _ in range(_TIMES)) / 1e9
