"""Finds the kernels under ``shaders/`` and puts their source together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from dml.glslang import Source

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")


@cache
def directory() -> Path:
    """Where the kernels lie: inside an installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "_shaders"
    return installed if installed.is_dir() else package.parent / "shaders"


@cache
def _text(kernel: str) -> str:
    return (directory() / kernel).read_text(encoding="utf-8")


@cache
def identifiers(kernel: str) -> frozenset[str]:
    """The words of a kernel's text and of what it includes from ``shaders/``.

    A word that a macro puts together (``SIZE_##d``) is there as its beginning (``SIZE_``).
    """
    text = _text(kernel)
    found = frozenset(_WORD.findall(text))
    beside = Path(kernel).parent
    for included in _INCLUDE.findall(text):
        paths = [path for path in (str(beside / included), included) if (directory() / path).is_file()]
        found = found.union(*map(identifiers, paths[:1]))
    return found


def source(kernel: str, prelude: str, defines: Mapping[str, object]) -> Source:
    """The kernel with its generated prelude; ``defines`` are preprocessor macros.

    Raises FileNotFoundError where the package lacks the kernel.
    """
    return Source(
        name=f"shaders/{kernel}",
        text=_text(kernel),
        defines=tuple((name, str(value)) for name, value in defines.items()),
        headers=(("prelude.glsl", prelude),),
    )


#: Before each of the prelude's buffers: 20 is SPIR-V's Aliased. What is only read through one may be written through
#: another, which NVIDIA's driver (580) believes of no buffer that is declared readonly, decorated or not.
_ALIASED = """#extension GL_EXT_spirv_intrinsics : require
#define STORAGE(declared) spirv_decorate(20) declared
#define readonly
#define ALL_STORAGE
"""


def aliased(source: Source) -> Source:
    """The same, with every tensor of the prelude in a storage buffer that is decorated Aliased.

    Buffers without it never show the same memory, or so a driver may take it (SPIR-V, "Aliasing"): NVIDIA's then moves
    what is read from one behind what is written to another, where an operator works in place.
    """
    headers = ((name, _ALIASED + text if name == "prelude.glsl" else text) for name, text in source.headers)
    return replace(source, headers=tuple(headers))
