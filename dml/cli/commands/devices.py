"""`dml devices`: the Vulkan devices of this machine."""

from __future__ import annotations

from ..app import command, fail
from ..tables import bytes_text, show, table


@command("dml devices")
def devices() -> None:
    """List the Vulkan devices: name, driver, type, limits."""
    from ...runtime.devices import list_devices

    found = list_devices()
    if not found:
        raise fail("no Vulkan device; install a driver (Debian: mesa-vulkan-drivers)")
    listed = table("Vulkan devices", "index", "name", "type", "driver", "Vulkan", "memory", "largest buffer",
                   "workgroup", "shared memory", "subgroup")  # fmt: skip
    for device in found:
        target = device.target
        listed.add_row(
            str(device.index), device.name, device.device_class.value, device.driver,
            ".".join(map(str, device.api_version)), bytes_text(device.memory), bytes_text(device.max_allocation),
            str(target.max_workgroup_invocations), bytes_text(target.shared_memory), str(target.subgroup_size),
        )  # fmt: skip
    show(listed)
