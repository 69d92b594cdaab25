"""llama.cpp with its Vulkan back end, installed from npm into the user's cache."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

from dml import cache

VERSION = "3.22.1"
_PLATFORMS = {("Linux", "x86_64"): "linux-x64-vulkan", ("Windows", "AMD64"): "win-x64-vulkan"}


class AbsentError(Exception):
    """llama.cpp cannot be used here; the message is one line."""


def installed() -> Path:
    """Install node-llama-cpp if missing; return the folder that holds its node_modules.

    Raises AbsentError.
    """
    machine = platform.system(), platform.machine()
    if machine not in _PLATFORMS:
        raise AbsentError(f"node-llama-cpp has no Vulkan back end for {' '.join(machine)}")
    if not (shutil.which("node") and shutil.which("npm")):
        raise AbsentError("llama.cpp runs in Node.js: install node and npm")
    folder = cache.root() / "llama.cpp" / VERSION
    if (folder / ".complete").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    packages = [f"node-llama-cpp@{VERSION}", f"@node-llama-cpp/{_PLATFORMS[machine]}@{VERSION}"]
    # Its optional packages are the back ends of all platforms; its scripts would compile one.
    command = ["npm", "install", "--prefix", str(folder), "--ignore-scripts", "--omit=optional", *packages]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        reason = next((line for line in reversed(ran.stderr.splitlines()) if line.strip()), "no reason given")
        raise AbsentError(f"npm cannot install node-llama-cpp: {reason}")
    (folder / ".complete").touch()
    return folder
