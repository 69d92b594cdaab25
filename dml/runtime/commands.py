"""The barriers of recordings: device-independent values, each made once."""

from __future__ import annotations

from functools import cache
from typing import Any

from dml.runtime.native import kompute


@cache
def between() -> Any:
    """Make later dispatches see the writes of earlier ones, and wait for their reads before overwriting."""
    kp = kompute()
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    return kp.OpBarrier(
        access.shader_write, access.shader_read | access.shader_write, stage.compute_shader, stage.compute_shader
    )


@cache
def before_all() -> Any:
    """Like ``between``, but against all earlier submissions, their copies included, and for uniform buffers.

    Without it a submission may run while the previous one still writes: a queue orders when work begins, not when it
    ends.
    """
    kp = kompute()
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    stages = stage.compute_shader | stage.transfer
    return kp.OpBarrier(
        access.shader_write | access.transfer_write,
        access.uniform_read | access.shader_read | access.shader_write | access.transfer_read | access.transfer_write,
        stages,
        stages,
    )


@cache
def to_host() -> Any:
    """Make earlier writes visible to the host once it has waited for the submission."""
    kp = kompute()
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    return kp.OpBarrier(
        access.shader_write | access.transfer_write, access.host_read, stage.compute_shader | stage.transfer, stage.host
    )
