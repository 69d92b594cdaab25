"""Two Vulkan drivers in one process: lavapipe and SwiftShader, for programs that tests run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def environment() -> dict[str, str]:
    """Return this process's environment with both drivers. Skips the test if one of them is not installed."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    swiftshader = home / "dml" / "swiftshader" / "vk_swiftshader_icd.json"
    found = [*list(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))[:1], swiftshader]
    if len(found) < 2 or not swiftshader.exists():
        pytest.skip("needs lavapipe and SwiftShader")
    drivers = ":".join(map(str, found))
    kept = {name: value for name, value in os.environ.items() if name != "DML_VULKAN_DEVICE"}
    return {**kept, "VK_DRIVER_FILES": drivers, "VK_ICD_FILENAMES": drivers}
