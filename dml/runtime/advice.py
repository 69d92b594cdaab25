"""Advice for machines without a Vulkan device: what to install. Every such error includes it."""

from __future__ import annotations

import os
from pathlib import Path

from dml.errors import HRESULT, DMLError

#: Install commands for the Vulkan loader and Mesa's drivers, by distribution (ID or ID_LIKE of os-release).
_PACKAGES = {
    "debian": "apt-get install libvulkan1 mesa-vulkan-drivers",
    "ubuntu": "apt-get install libvulkan1 mesa-vulkan-drivers",
    "fedora": "dnf install vulkan-loader mesa-vulkan-drivers",
    "rhel": "dnf install vulkan-loader mesa-vulkan-drivers",
    "arch": "pacman -S vulkan-icd-loader vulkan-swrast, and vulkan-radeon or vulkan-intel for such a GPU",
    "suse": "zypper install libvulkan1 libvulkan_lvp, and libvulkan_radeon or libvulkan_intel for such a GPU",
}
#: Environment variables that hide drivers from the Vulkan loader.
_VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE")


class NoVulkanDevice(DMLError):
    """This machine has no Vulkan loader, driver or device; the message says what to install."""

    def __init__(self, message: str, hresult: HRESULT = HRESULT.DXGI_ERROR_UNSUPPORTED) -> None:
        super().__init__(message, hresult)


def no_vulkan(problem: str) -> NoVulkanDevice:
    """Build the error for a machine without Vulkan: the problem, then the remedy."""
    return NoVulkanDevice(f"{problem}; {what_to_install()}")


def what_to_install() -> str:
    """Name the packages that bring Vulkan to this distribution, and any variable that hides drivers from the loader."""
    command = next((_PACKAGES[name] for name in _distribution() if name in _PACKAGES), None)
    drivers = "Mesa's for AMD, Intel and the CPU, or NVIDIA's own"
    advice = (
        f"install Vulkan's loader and a driver ({drivers})"
        if command is None
        else f"install Vulkan's loader and a driver: {command} ({drivers})"
    )
    hiding = [f"{name}={os.environ[name]}" for name in _VARIABLES if os.environ.get(name)]
    return advice + (f"; these variables may hide drivers: {', '.join(hiding)}" if hiding else "")


def _distribution() -> list[str]:
    """Return this distribution's ID and those it derives from, as OS_RELEASE or /etc/os-release gives them."""
    try:
        text = Path(os.environ.get("OS_RELEASE") or "/etc/os-release").read_text("utf-8")
    except (OSError, ValueError):
        return []
    values = dict(line.partition("=")[::2] for line in text.splitlines())
    return " ".join(values.get(key, "").strip("\"'") for key in ("ID", "ID_LIKE")).split()
