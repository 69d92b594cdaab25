"""Where AMD's Vulkan driver (Mesa's RADV) comes from, and how a process is started that has it as its only driver."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dml import cache

_HERE = Path(__file__).resolve().parent


class NoDriverError(Exception):
    """Why a driver is not to be had, in one line."""


@dataclass(frozen=True)
class Installation:
    """icd: the driver's description for Vulkan's loader. python: the start of a command that can load it."""

    icd: Path
    python: tuple[str, ...]


@dataclass(frozen=True)
class Driver:
    """A release of Mesa, and the generations of GPUs to compile for with it.

    suite: the Debian release that it is unpacked from, into the cache; None is what this machine has installed.
    """

    suite: str | None
    generations: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"Debian {self.suite}'s RADV" if self.suite else "the installed RADV"

    def find(self) -> Installation:
        """Unpacks the driver the first time. Raises NoDriverError where it is not to be had."""
        if self.suite is None:
            return Installation(_icd(Path("/"), "install Debian's mesa-vulkan-drivers"), (sys.executable,))
        folder = cache.root() / "drivers" / self.suite
        if not folder.is_dir():
            run = subprocess.run([_HERE / "unpack_driver", self.suite, folder], capture_output=True, text=True)
            if run.returncode:
                raise NoDriverError((run.stderr.strip() or "it cannot be unpacked").splitlines()[-1])
        # Its libraries may need a newer C library than this machine's: the release's own loader of programs starts
        # Python with all of them.
        loader = next(folder.glob("usr/lib/*/ld-linux*.so.*"), None)
        if loader is None:
            raise NoDriverError(f"{folder} holds no loader of programs; remove the folder to unpack it anew")
        libraries = ("--library-path", str(loader.parent), "--argv0", sys.executable)
        return Installation(_icd(folder, f"remove {folder}"), (str(loader), *libraries, sys.executable))


def _icd(root: Path, remedy: str) -> Path:
    found = next(root.glob("usr/share/vulkan/icd.d/radeon_icd*.json"), None)
    if found is None:
        raise NoDriverError(f"no radeon_icd*.json under {root}usr/share/vulkan/icd.d; {remedy}")
    return found


#: RADV makes devices of any generation out of nothing up to Mesa 25; each release compiles for what it knew best.
DRIVERS = (Driver(None, ("vega10", "navi21", "gfx1100")), Driver("trixie", ("navi31", "gfx1201")))


def environment(installation: Installation, generation: str) -> dict[str, str]:
    """The environment of a process whose one Vulkan device is a GPU of this generation that is not there."""
    icd = str(installation.icd)
    # The driver's own cache would hide what compiling costs.
    forced = {"RADV_FORCE_FAMILY": generation, "MESA_SHADER_CACHE_DISABLE": "true"}
    return {**os.environ, **forced, "VK_DRIVER_FILES": icd, "VK_ICD_FILENAMES": icd}
