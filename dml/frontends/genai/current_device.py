"""The device of models that name none: onnxruntime-genai's current GPU."""

from __future__ import annotations

from dml.arguments import checked

_chosen: list[int] = []


def current_device() -> int | None:
    """The index that ``set_current_gpu_device_id`` chose; None for dml's default."""
    return _chosen[0] if _chosen else None


@checked
def set_current_gpu_device_id(device_id: int) -> None:
    """Choose the device of models opened from now on, by its index in ``dml.list_devices()``."""
    _chosen[:] = [device_id]


def get_current_gpu_device_id() -> int:
    """The index chosen; 0 before any was."""
    return current_device() or 0
