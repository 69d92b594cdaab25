"""Vendors' Vulkan drivers (Mesa's), the chips that each compiles for, and processes that have such a chip.

None of the chips has to be there: a library of Mesa's that is loaded first, its "shim", answers what the driver asks of
the kernel. The packages are unpacked into the user's cache once; nothing is installed, and nobody has to be root.
"""

from __future__ import annotations

import fcntl
import gzip
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dml import cache

_HERE = Path(__file__).resolve().parent
#: The Debian release whose Mesa compiles, and the one that Intel's shim is built from (its source is in no other).
SUITE, SOURCE_SUITE = "trixie-backports", "trixie"
_PACKAGES = ("mesa-vulkan-drivers", "mesa-drm-shim")


class NoDriverError(Exception):
    """Why a driver cannot be used, in one line."""


@dataclass(frozen=True)
class Installation:
    """python: the start of a command that has the driver. environment: what it needs beside ours."""

    python: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Vendor:
    """A vendor's driver.

    shim: the name of the library that answers it. chips: name -> the value of ``variable`` that chooses it, the newest
    last. usual: those that CI checks.
    """

    name: str
    icd: str
    shim: str
    variable: str
    chips: Mapping[str, str]
    usual: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def builds_shim(self) -> bool:
        """Whether no package has the shim."""
        return self.name == "intel"

    def find(self) -> Installation:
        """Unpacks and builds what is missing. Raises NoDriverError where that cannot be done."""
        root = unpacked()
        # Its libraries may need a newer C library than this machine's: the release's own loader of programs starts
        # Python with all of them.
        loader = next(root.glob("usr/lib/*/ld-linux*.so.*"), None)
        icd = root / f"usr/share/vulkan/icd.d/{self.icd}_icd.json"
        if loader is None or not icd.exists():
            raise NoDriverError(f"{root} is not whole; remove the folder to unpack it anew")
        name = f"lib{self.shim}_noop_drm_shim.so"
        shim = (_built_shim() if self.builds_shim else loader.parent) / name
        if not shim.exists():
            raise NoDriverError(f"{shim.parent} holds no {name}; remove the folder to make it anew")
        libraries = ("--preload", str(shim), "--library-path", str(loader.parent), "--argv0", sys.executable)
        return Installation(
            (str(loader), *libraries, sys.executable),
            {
                **self.settings,
                "VK_DRIVER_FILES": str(icd),
                "VK_ICD_FILENAMES": str(icd),
                # The driver's own cache would hide what compiling costs.
                "MESA_SHADER_CACHE_DISABLE": "true",
            },
        )

    def environment(self, installation: Installation, chip: str) -> dict[str, str]:
        """That of a process whose one Vulkan device is this chip. Raises KeyError where the vendor has no such chip."""
        chosen = {self.variable: self.chips[chip]} if self.variable else {}
        return {**os.environ, **installation.environment, **chosen}


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


VENDORS = (
    Vendor(
        "amd", "radeon", "amdgpu", "AMDGPU_GPU_ID",
        _same("vega10", "navi10", "navi21", "vangogh", "raphael_mendocino", "navi31", "navi33", "strix1", "gfx1201"),
        ("navi31",),
    ),
    Vendor(
        "intel", "intel", "intel", "INTEL_STUB_GPU_PLATFORM",
        _same("skl", "kbl", "icl", "tgl", "rkl", "adl", "rpl", "dg1", "dg2", "mtl", "arl", "lnl", "bmg", "ptl"),
        ("dg2",),
    ),
    Vendor(
        "nvidia", "nouveau", "nouveau", "NOUVEAU_CHIPSET",
        {"kepler": "e4", "kepler2": "f0", "maxwell": "117", "maxwell2": "120", "pascal": "134", "volta": "140",
         "turing": "164", "turing16": "167", "ampere100": "170", "ampere": "172"},
        ("ampere",),
    ),
    Vendor(
        "qualcomm", "freedreno", "freedreno", "FD_GPU_ID",
        {f"a{number}": number for number in ("618", "630", "660", "702", "730", "740", "750", "830")},
        ("a660",),
    ),
    Vendor("apple", "asahi", "asahi", "", {"m1": ""}, ("m1",)),
)  # fmt: skip

#: Those that a session may name, and why these do not compile here.
ELSEWHERE = {
    "arm": "Debian has its driver for arm64 alone, which is not started here",
    "imagination": "Debian has its driver for arm64 alone, which is not started here",
    "broadcom": "Debian's driver does not open on the packaged shim",
}


def vendor_of(chip: str) -> Vendor:
    return next(vendor for vendor in VENDORS if chip in vendor.chips)


def folder() -> Path:
    """What all that is unpacked and built here lies in."""
    return cache.root() / "drivers"


def unpacked() -> Path:
    """The root of the packages; they are unpacked the first time, in some 10 seconds."""
    return _made(folder() / SUITE, [str(_HERE / "unpack"), SUITE], _PACKAGES)


def _built_shim() -> Path:
    """The folder of Intel's shim, which takes about a minute to build the first time."""
    return _made(folder() / f"intel-shim-{SOURCE_SUITE}", [str(_HERE / "build_intel_shim"), SOURCE_SUITE], ())


def _made(path: Path, command: list[str], rest: tuple[str, ...]) -> Path:
    """The folder, made by ``command path rest...`` where it is not there. Raises NoDriverError with its last line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.is_dir():
            environment = {**os.environ, "PYTHON": sys.executable}
            run = subprocess.run([*command, str(path), *rest], capture_output=True, text=True, env=environment)
            if run.returncode:
                said = run.stderr.strip() or run.stdout.strip() or "no word"
                raise NoDriverError(said.splitlines()[-1])
    return path


def mesa() -> str:
    """The version of the packages, as Debian writes it; empty where none are unpacked."""
    history = folder() / SUITE / "usr/share/doc/mesa-vulkan-drivers/changelog.Debian.gz"
    if not history.exists():
        return ""
    with gzip.open(history, "rt", encoding="utf-8") as text:
        return text.readline().partition("(")[2].partition(")")[0]
