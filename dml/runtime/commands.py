"""The barriers that recordings are made of: plain facts, of no device, each made once."""

from __future__ import annotations

from functools import cache
from typing import Any

from dml.runtime.native import kompute


@cache
def between() -> Any:
    """Dispatches after it see what dispatches before it wrote, and may overwrite what those read."""
    kp = kompute()
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    return kp.OpBarrier(
        access.shader_write, access.shader_read | access.shader_write, stage.compute_shader, stage.compute_shader
    )


@cache
def before_all() -> Any:
    """As ``between``, for everything submitted before it, copies included, and for what uniform buffers show.

    Without it the device may run a submission while the one before still writes: a queue keeps the order in which
    work begins, not that in which it ends.
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
    """The host sees what was written before it, once it has waited for the submission."""
    kp = kompute()
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    return kp.OpBarrier(
        access.shader_write | access.transfer_write,
        access.host_read,
        stage.compute_shader | stage.transfer,
        stage.host,
    )
