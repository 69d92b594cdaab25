"""The barriers that recordings are made of."""

from __future__ import annotations

from typing import Any

from dml.runtime.native import kompute


def between() -> Any:
    """What dispatches before it write is there for dispatches after it, and what they read may be written."""
    kp = kompute()
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    return kp.OpBarrier(
        access.shader_write, access.shader_read | access.shader_write, stage.compute_shader, stage.compute_shader
    )


def before_all() -> Any:
    """The same between all submissions before and what follows, copies included.

    Without it the device may run a submission while the one before still writes: a queue keeps the order in which
    work begins, not that in which it ends.
    """
    kp = kompute()
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    stages = stage.compute_shader | stage.transfer
    return kp.OpBarrier(
        access.shader_write | access.transfer_write,
        access.shader_read | access.shader_write | access.transfer_read | access.transfer_write,
        stages,
        stages,
    )


def to_host() -> Any:
    """What was written before it is there for the host once it has waited for the submission."""
    kp = kompute()
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    return kp.OpBarrier(
        access.shader_write | access.transfer_write,
        access.host_read,
        stage.compute_shader | stage.transfer,
        stage.host,
    )
