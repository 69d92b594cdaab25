"""A compiled graph's kernels for its picture: the nodes each computes, its bytes and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dml.api.device import Device
from dml.api.operator import CompiledOperator
from dml.capability import short_name
from dml.compiler.program import Access, Dispatch, Space
from dml.descriptors.base import OperatorDesc
from dml.runtime.recording import KernelTime
from dml.validator import needed_level
from dml.words import bytes_text

from .model import PictureKernel


def kernels_of(compiled: CompiledOperator | None, owner: Mapping[int, int]) -> list[PictureKernel]:
    """Return the kernels that run once, then those that run each time. owner: node of the graph -> node of the
    picture."""
    if compiled is None:
        return []
    program = compiled.program
    return [
        *(_kernel(dispatch, owner, once=True) for dispatch in program.initialize),
        *(_kernel(dispatch, owner, once=False) for dispatch in program.dispatches),
    ]


def add_times(kernels: Sequence[PictureKernel], times: Sequence[KernelTime]) -> None:
    """Add the measured times of ``CompiledOperator.profile`` to the kernels that run each time, in order."""
    for kernel, time in zip((item for item in kernels if not item.once), times, strict=True):
        kernel.nanoseconds = time.nanoseconds


def facts_of(
    device: Device, operators: Sequence[OperatorDesc], compiled: Sequence[CompiledOperator], *, profile: bool
) -> list[tuple[str, str]]:
    """Return a picture's facts: device, lowest feature level, memory, measurements."""
    facts = [("device", f"{device.vulkan.name}, {device.vulkan.driver}")]
    if operators:
        facts.append(("feature level", short_name(max(map(needed_level, operators)))))
    programs = [item.program for item in compiled]
    if programs:
        constants = {id(constant.Data): len(constant.Data) for program in programs for constant in program.constants}
        persistent = sum(program.persistent_size for program in programs)
        facts.append(("temporary memory", bytes_text(max(program.temporary_size for program in programs))))
        facts.append(("weights", bytes_text(persistent + sum(constants.values()))))
    if profile:
        clock = "the device's timestamps" if device.has_timestamps else "the host's clock, a submission each"
        facts.append(("times by", clock))
    return facts


def _kernel(dispatch: Dispatch, owner: Mapping[int, int], *, once: bool) -> PictureKernel:
    nodes = list(dict.fromkeys(owner[number] for number in dispatch.nodes if number in owner))
    regions = {(binding.region, binding.access) for binding in dispatch.bindings}
    reads = {region for region, access in regions if access is not Access.WRITE}
    known = set() if once else {region for region in reads if region.space in (Space.PERSISTENT, Space.CONSTANT)}
    return PictureKernel(
        dispatch.label, nodes, once, dispatch.groups, dispatch.invocations,
        read=sum(region.size for region in reads - known),
        written=sum({region: region.size for region, access in regions if access.writes}.values()),
        weights=sum(region.size for region in known),
    )  # fmt: skip
