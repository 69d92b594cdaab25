"""Vendors' Vulkan drivers (Mesa's), the chips that each compiles for, and processes that have such a chip.

None of the chips has to be there: a library of Mesa's that is loaded first, its "shim", answers what the driver asks of
the kernel. The packages are unpacked into the user's cache once; nothing is installed, and nobody has to be root.
Debian has some drivers for arm64 alone: those run in an emulator of its programs, several times as slow.
"""

from __future__ import annotations

import fcntl
import gzip
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from dml import cache

_HERE = Path(__file__).resolve().parent
#: The Debian release whose Mesa compiles, and the one whose source is built (that of the other cannot be had).
SUITE, SOURCE_SUITE = "trixie-backports", "trixie"
_PACKAGES = ("mesa-vulkan-drivers", "mesa-drm-shim")


class NoDriverError(Exception):
    """Why a driver cannot be used, in one line."""


@dataclass(frozen=True)
class Installation:
    """python: the start of a command that has the driver. environment: what it needs beside ours."""

    python: tuple[str, ...]
    environment: Mapping[str, str]


class Origin(Enum):
    """Where a driver and its shim are from. BUILT: from Mesa's source."""

    PACKAGES = "packages"
    BUILT_SHIM = "packages, and a shim that is built"
    BUILT = "built"
    EMULATED = "packages for arm64, emulated"


@dataclass(frozen=True)
class Vendor:
    """A vendor's driver.

    shim: the name of the library that answers it. chips: name -> the value of ``variable`` that chooses it, the newest
    last. usual: those that CI checks. origin: where driver and shim are from.
    """

    name: str
    icd: str
    shim: str
    variable: str
    chips: Mapping[str, str]
    usual: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    origin: Origin = Origin.PACKAGES

    def find(self) -> Installation:
        """Unpack and build what is missing. Raises NoDriverError where that cannot be done."""
        if self.origin is Origin.EMULATED:
            found = emulated()
            root = found / "root"
            start: tuple[str, ...] = (str(found / "qemu" / "qemu-aarch64"),)
            python = str(next(root.glob("usr/bin/python3.*"), root))
            more = {"PYTHONPATH": str(found / "packages")}
        else:
            root, start, python, more = unpacked(), (), sys.executable, {}
        # Its libraries may need a newer C library than this machine's: the release's own loader of programs starts
        # Python with all of them.
        loader = next(root.glob("usr/lib/*/ld-linux*.so.*"), None)
        if loader is None:
            raise NoDriverError(f"{root} is not whole; remove the folder to unpack it anew")
        built = _built(self.name) if self.origin in (Origin.BUILT_SHIM, Origin.BUILT) else loader.parent
        icds = built if self.origin is Origin.BUILT else root / "usr/share/vulkan/icd.d"
        icd, shim = icds / f"{self.icd}_icd.json", built / f"lib{self.shim}_noop_drm_shim.so"
        for path in (icd, shim):
            if not path.exists():
                raise NoDriverError(f"{path.parent} holds no {path.name}; remove the folder to make it anew")
        libraries = ("--preload", str(shim), "--library-path", str(loader.parent), "--argv0", python)
        return Installation(
            (*start, str(loader), *libraries, python),
            {
                **more,
                **self.settings,
                "VK_DRIVER_FILES": str(icd),
                "VK_ICD_FILENAMES": str(icd),
                # The driver's own cache would hide what compiling costs.
                "MESA_SHADER_CACHE_DISABLE": "true",
            },
        )

    @property
    def is_emulated(self) -> bool:
        return self.origin is Origin.EMULATED

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
        ("dg2",), origin=Origin.BUILT_SHIM,
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
    Vendor(
        "arm", "panfrost", "panfrost", "PAN_GPU_ID", {"g72": "6221", "g52": "7212", "g610": "a867"}, (),
        {"PAN_I_WANT_A_BROKEN_VULKAN_DRIVER": "1"}, Origin.EMULATED,
    ),
    Vendor(
        "imagination", "powervr_mesa", "powervr", "", {"bxs": ""}, (),
        {"PVR_I_WANT_A_BROKEN_VULKAN_DRIVER": "1"}, Origin.EMULATED,
    ),
    Vendor("broadcom", "broadcom", "v3d", "V3D_STUB_VERSION", {"v3d42": "42", "v3d71": "71"}, (), origin=Origin.BUILT),
)  # fmt: skip


def vendor_of(chip: str) -> Vendor:
    return next(vendor for vendor in VENDORS if chip in vendor.chips)


def folder() -> Path:
    """What all that is unpacked and built here lies in."""
    return cache.root() / "drivers"


def unpacked() -> Path:
    """The root of the packages; they are unpacked the first time, in some 10 seconds."""
    return _made(folder() / SUITE, [str(_HERE / "unpack"), SUITE], _PACKAGES)


def emulated() -> Path:
    """The folder of arm64's emulator, packages and Python; they are unpacked the first time, in about a minute."""
    return _made(folder() / f"{SUITE}-emulated", [str(_HERE / "emulator"), SUITE], _PACKAGES)


def _built(vendor: str) -> Path:
    """The folder of what is built for a vendor; Intel's shim takes a minute the first time, Broadcom's driver five."""
    return _made(folder() / f"{vendor}-{SOURCE_SUITE}", [str(_HERE / "build_mesa"), vendor, SOURCE_SUITE], ())


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
