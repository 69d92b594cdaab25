"""Vendors' Vulkan drivers (Mesa's), the chips that each supports, and the environment of processes for a chip.

The chips are not needed: a preloaded library of Mesa's, the "shim", answers the driver's calls to the operating system.
The packages are unpacked once into the user's cache, without installation or root. Debian has some drivers only for
arm64: they run in a user-mode emulator, several times slower.
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
#: Debian release of the driver packages, and the release whose Mesa source is built: backports' source is not
#: available.
SUITE, SOURCE_SUITE = "trixie-backports", "trixie"
_PACKAGES = ("mesa-vulkan-drivers", "mesa-drm-shim")


class NoDriverError(Exception):
    """A driver cannot be used; the message is one line."""


@dataclass(frozen=True)
class Installation:
    """A usable driver. python: the command that starts Python with it. environment: variables to add to ours."""

    python: tuple[str, ...]
    environment: Mapping[str, str]


class Origin(Enum):
    """The origin of a driver and its shim. BUILT: both built from Mesa's source."""

    PACKAGES = "packages"
    BUILT_SHIM = "packages, with a built shim"
    BUILT = "built"
    EMULATED = "packages for arm64, emulated"


@dataclass(frozen=True)
class Vendor:
    """A vendor's driver.

    shim: the name of the shim library. chips: name -> the value of the environment variable ``variable`` that selects
    the chip, the newest last. usual: the chips that CI checks. devices: chip -> its deviceID, where selection needs it
    and the shim reports that of another chip.
    """

    name: str
    icd: str
    shim: str
    variable: str
    chips: Mapping[str, str]
    usual: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    origin: Origin = Origin.PACKAGES
    devices: Mapping[str, int] = field(default_factory=dict)

    def find(self) -> Installation:
        """Return the driver; unpack and build it if missing. Raises NoDriverError if that fails."""
        if self.origin is Origin.EMULATED:
            found = emulated()
            root = found / "root"
            start: tuple[str, ...] = (str(found / "qemu" / "qemu-aarch64"),)
            python = str(next(root.glob("usr/bin/python3.*"), root))
            # panvk 26.1 crashes on addresses of 47 bits; emulated memory gets at most 38.
            more = {"PYTHONPATH": str(found / "packages"), "QEMU_RESERVED_VA": hex(1 << 38)}
        else:
            root, start, python, more = unpacked(), (), sys.executable, {}
        # The driver's libraries may need a newer C library than this machine's, so the release's own dynamic loader
        # starts Python.
        loader = next(root.glob("usr/lib/*/ld-linux*.so.*"), None)
        if loader is None:
            raise NoDriverError(f"{root} is incomplete; remove the folder to unpack it again")
        built = _built(self.name) if self.origin in (Origin.BUILT_SHIM, Origin.BUILT) else loader.parent
        icds = built if self.origin is Origin.BUILT else root / "usr/share/vulkan/icd.d"
        icd, shim = icds / f"{self.icd}_icd.json", built / f"lib{self.shim}_noop_drm_shim.so"
        for path in (icd, shim):
            if not path.exists():
                raise NoDriverError(f"{path.parent} holds no {path.name}; remove the folder to create it again")
        libraries = ("--preload", str(shim), "--library-path", str(loader.parent), "--argv0", python)
        return Installation(
            (*start, str(loader), *libraries, python),
            {
                **more,
                **self.settings,
                "VK_DRIVER_FILES": str(icd),
                "VK_ICD_FILENAMES": str(icd),
                # The driver's own cache would hide the compilation time.
                "MESA_SHADER_CACHE_DISABLE": "true",
            },
        )

    @property
    def is_emulated(self) -> bool:
        return self.origin is Origin.EMULATED

    def environment(self, installation: Installation, chip: str) -> dict[str, str]:
        """Return the environment of a process whose only Vulkan device is this chip. Raises KeyError for an unknown
        chip."""
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
        devices={"kepler": 0x1180, "maxwell": 0x1380, "maxwell2": 0x17C8, "pascal": 0x1B80, "volta": 0x1DB1,
                 "turing": 0x1E87, "turing16": 0x1F82, "ampere100": 0x20B0, "ampere": 0x2204},
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
    """Return the cache folder of unpacked and built drivers."""
    return cache.root() / "drivers"


def unpacked() -> Path:
    """Return the root of the packages, unpacked on the first call."""
    return _made(folder() / SUITE, [str(_HERE / "unpack"), SUITE], _PACKAGES)


def emulated() -> Path:
    """Return the folder of the arm64 emulator, its packages and Python, unpacked on the first call."""
    return _made(folder() / f"{SUITE}-emulated", [str(_HERE / "emulator"), SUITE], _PACKAGES)


def _built(vendor: str) -> Path:
    """Return the folder of a vendor's built files, built on the first call, which takes minutes."""
    return _made(folder() / f"{vendor}-{SOURCE_SUITE}", [str(_HERE / "build_mesa"), vendor, SOURCE_SUITE], ())


def _made(path: Path, command: list[str], rest: tuple[str, ...]) -> Path:
    """Return the folder, created by ``command path rest...`` if missing. Raises NoDriverError with the last line
    printed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.is_dir():
            environment = {**os.environ, "PYTHON": sys.executable}
            run = subprocess.run([*command, str(path), *rest], capture_output=True, text=True, env=environment)
            if run.returncode:
                said = run.stderr.strip() or run.stdout.strip() or "no message"
                raise NoDriverError(said.splitlines()[-1])
    return path


def mesa() -> str:
    """Return the packages' Debian version; empty before they are unpacked."""
    history = folder() / SUITE / "usr/share/doc/mesa-vulkan-drivers/changelog.Debian.gz"
    if not history.exists():
        return ""
    with gzip.open(history, "rt", encoding="utf-8") as text:
        return text.readline().partition("(")[2].partition(")")[0]
