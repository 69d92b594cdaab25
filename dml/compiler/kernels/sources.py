"""Finds the kernels under ``shaders/`` and assembles their sources."""

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
    """Return the kernels' folder: inside an installed package, or next to it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "_shaders"
    return installed if installed.is_dir() else package.parent / "shaders"


@cache
def _text(kernel: str) -> str:
    return (directory() / kernel).read_text(encoding="utf-8")


@cache
def identifiers(kernel: str) -> frozenset[str]:
    """Return the words of a kernel's text and of its includes from ``shaders/``.

    A word that a macro forms (``SIZE_##d``) is listed by its prefix (``SIZE_``).
    """
    text = _text(kernel)
    found = frozenset(_WORD.findall(text))
    folder = Path(kernel).parent
    for included in _INCLUDE.findall(text):
        paths = [path for path in (str(folder / included), included) if (directory() / path).is_file()]
        found = found.union(*map(identifiers, paths[:1]))
    return found


def source(kernel: str, prelude: str, defines: Mapping[str, object]) -> Source:
    """Return the kernel with its generated prelude; ``defines`` are preprocessor macros.

    Raises FileNotFoundError if the package lacks the kernel.
    """
    return Source(
        name=f"shaders/{kernel}",
        text=_text(kernel),
        defines=tuple((name, str(value)) for name, value in defines.items()),
        headers=(("prelude.glsl", prelude),),
    )


#: Precedes each of the prelude's buffers: 20 is SPIR-V's Aliased. Memory that is read-only through one buffer may be
#: written through another; NVIDIA's driver (580) ignores that for buffers declared readonly, decorated or not.
_ALIASED = """#extension GL_EXT_spirv_intrinsics : require
#define STORAGE(declared) spirv_decorate(20) declared
#define readonly
#define ALL_STORAGE
"""


def aliased(source: Source) -> Source:
    """Decorate every storage buffer of the prelude as Aliased.

    Without it a driver may assume that buffers never share memory (SPIR-V, "Aliasing"): NVIDIA's then moves reads of
    one behind writes to another, which gives wrong results when an output is bound over an input.
    """
    headers = ((name, _ALIASED + text if name == "prelude.glsl" else text) for name, text in source.headers)
    return replace(source, headers=tuple(headers))
