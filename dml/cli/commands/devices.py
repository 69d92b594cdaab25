"""`dml devices`: the Vulkan devices of this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ...words import bytes_text
from ..app import command
from ..tables import print_json, show, show_records, table

if TYPE_CHECKING:
    from ...runtime.devices import VulkanDevice


@command("dml devices", "dml devices -v", "dml devices --json")
def devices(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show all properties of each device.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the Vulkan devices: name, driver, type, limits, features. If there are none, say what to install.

    A tensor may be as large as the largest buffer; one larger than the largest binding is processed in parts. Features
    have the names that DML_DISABLE_FEATURES=float16,cooperative_matrix accepts; -v shows the unused ones.
    """
    from ...runtime.advice import no_vulkan
    from ...runtime.devices import list_devices

    found = list_devices()
    if not found:
        raise no_vulkan("no Vulkan device")
    if json:
        print_json([_as_json(device) for device in found])
        return
    if verbose:
        for device in found:
            grid = table(escape(device.name), "property", "value")
            for name, value in device.properties():
                grid.add_row(name, escape(value))
            show(grid)
        return
    names = ("index", "name", "type", "driver", "Vulkan", "memory", "largest buffer", "largest binding", "features")
    records = [
        (
            str(device.index), escape(device.name), device.device_class.value, escape(device.driver),
            ".".join(map(str, device.api_version)), bytes_text(device.memory), bytes_text(device.max_allocation),
            bytes_text(device.max_binding), ", ".join(device.features),
        )
        for device in found
    ]  # fmt: skip
    show_records("Vulkan devices", names, records)


def _as_json(device: VulkanDevice) -> dict[str, Any]:
    """Return the device's properties; sizes are in bytes."""
    identity = device.identity
    return {
        "index": device.index,
        "name": device.name,
        "type": device.device_class.value,
        "driver": device.driver,
        "vulkan": ".".join(map(str, device.api_version)),
        "memory": device.memory,
        "max_buffer": device.max_allocation,
        "max_binding": device.max_binding,
        "timestamp_bits": device.timestamp_bits,
        "timestamp_period": device.timestamp_period,
        "vendor_id": identity.vendor,
        "device_id": identity.device,
        "driver_version": identity.driver_version,
        "limits": {
            name: value
            for name, value in asdict(device.target).items()
            if name not in ("device_class", "features", "allows_half", "fewer_steps", "tuned")
        },
        "tuned": len(device.target.tuned.choices),
        "features": device.target.features.described(),
        "features_left_unused": device.left,
    }
