"""Text for a bug report: the run's device, driver, limits and the suite's version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FACTS = (("device", "name"), ("driver", "driver"), ("Vulkan", "api_version"), ("type", "type"),
          ("vendor id", "vendor_id"), ("device id", "device_id"), ("run as", "axis"))  # fmt: skip


def bug_text(report: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """Return a fact per line, then limits and features."""
    device = run["device"]
    lines = [f"{name}: {_number(key, device[key])}" for name, key in _FACTS if device.get(key) is not None]
    commit = f", commit {report['commit']}" if report.get("commit") else ""
    suite = report["suite"]
    lines += [
        f"dml: {report['dml_version']}{commit}",
        f"Python: {report['python']} on {report['platform']}",
        f"suite: {suite['size']}, seed {suite['seed']}, shard {suite['shard']}, {suite['cases']} cases",
        "",
        "limits: " + _pairs(device.get("limits") or {}),
        "features: " + _pairs(device.get("features") or {}),
    ]
    return "\n".join(lines)


def _number(key: str, value: Any) -> str:
    """Format PCI ids in hexadecimal, as vendors' lists show them."""
    return f"{value:#06x}" if key.endswith("_id") and isinstance(value, int) else str(value)


def _pairs(found: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in found.items() if value is not None) or "not recorded"


def _shown(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
