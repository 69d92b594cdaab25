"""The default device of models: onnxruntime-genai's current GPU."""

from dml.arguments import checked

_chosen: list[int] = []


def current_device() -> int | None:
    """Return the index set by ``set_current_gpu_device_id``; None for dml's default."""
    return _chosen[0] if _chosen else None


@checked
def set_current_gpu_device_id(device_id: int) -> None:
    """Set the device for models opened later, by its index in ``dml.list_devices()``."""
    _chosen[:] = [device_id]


def get_current_gpu_device_id() -> int:
    """Return the chosen index, by default 0."""
    return current_device() or 0
