"""`dml devices`."""

from __future__ import annotations

import subprocess
import sys


def test_devices_lists_devices_or_says_what_is_missing():
    result = subprocess.run([sys.executable, "-m", "dml", "devices"], capture_output=True, text=True)
    assert "Traceback" not in result.stderr
    if result.returncode == 0:
        assert "subgroup" in result.stdout
    else:
        assert "Vulkan" in result.stderr
