"""``DML_DUMP=folder``: every kernel that is compiled for use is written there, to be read, compared or compiled again.

A kernel makes three files, named by its path under ``shaders/`` and a hash::

    gemm-tiled-1f0c22d1.comp    the GLSL as it was compiled: one text, with all that it includes
    gemm-tiled-1f0c22d1.spv     the SPIR-V compiled from it
    gemm-tiled-1f0c22d1.json    its workgroup and buffers by name, and this process's dispatches of it: the graph's
                                nodes they compute, their grids, regions, and the numbers that they read, by name
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dml.compiler.kernels import sources
from dml.compiler.program import Dispatch
from dml.errors import DMLError
from dml.files import write_text, write_whole
from dml.glslang import flatten, target_of
from dml.runtime import names

_BUFFER = re.compile(r"layout\([^)]*binding\s*=\s*(\d+)[^)]*\)[\w\s]*\bbuffer\s+(\w+)\s*\{")
_PUSH = re.compile(r"layout\(push_constant\)[^{]*\{([^}]*)\}")
_PARAMETERS = re.compile(r"layout\([^)]*\bstd140\)\s*uniform\b[^{]*\{([^}]*)\}")
_MEMBER = re.compile(r"(\w+)\s+(\w+)\s*;")
_WORKGROUP = re.compile(r"\blocal_size_([xyz])\s*=\s*(\d+)")

#: Contents of each description file so far, and the lock that guards each.
_described: dict[Path, dict[str, Any]] = {}
_writing = threading.Lock()


def dump(dispatches: Sequence[Dispatch], kernels: Sequence[bytes]) -> None:
    """Write the dispatches' kernels to the folder that DML_DUMP names, if set.

    Raises DMLError if the folder cannot be written.
    """
    folder = os.environ.get(names.DUMP_VARIABLE)
    if not folder:
        return
    with _writing:
        try:
            changed = {_add(Path(folder).absolute(), *pair) for pair in zip(dispatches, kernels, strict=True)}
            for path in changed:
                write_text(path, f"{json.dumps(_described[path], indent=1, allow_nan=False)}\n")
        except DMLError as error:
            raise DMLError(f"{names.DUMP_VARIABLE}: {error.message}", error.hresult) from error


def _add(folder: Path, dispatch: Dispatch, kernel: bytes) -> Path:
    """Write a kernel's new files and add the dispatch to its description; return the description's path."""
    text = flatten(dispatch.source, include_dirs=(sources.directory(),))
    glsl, binary, path = (
        folder / f"{names.of_kernel(dispatch, kernel)}.{suffix}" for suffix in ("comp", "spv", "json")
    )
    if path not in _described or not binary.exists():
        write_text(glsl, text)
        write_whole(binary, kernel)
        _described[path] = _kernel(dispatch, text)
    use = _use(dispatch, text)
    uses = _described[path]["dispatches"]
    if use not in uses:
        uses.append(use)
    return path


def _kernel(dispatch: Dispatch, text: str) -> dict[str, Any]:
    """Describe the parts of a dispatch that all dispatches of its kernel share."""
    workgroup = {axis: int(size) for axis, size in _WORKGROUP.findall(text)}
    buffers = {number: name.removesuffix("_Buffer") for number, name in _BUFFER.findall(text)}
    return {
        "kernel": dispatch.label,
        "target": target_of(dispatch.source),
        "workgroup": [workgroup.get(axis, 1) for axis in "xyz"],
        "buffers": [buffers.get(str(binding), str(binding)) for binding in range(len(dispatch.bindings))],
        "dispatches": [],
    }


def _use(dispatch: Dispatch, text: str) -> dict[str, Any]:
    """Describe one dispatch."""
    # The first push constants, one word per buffer, are the regions' offsets; they are known only when recorded.
    pushed = _members(_PUSH, text)[len(dispatch.bindings) :]
    return {
        "node": dispatch.node,
        "groups": dispatch.groups,
        "bindings": [
            {
                "access": binding.access.value,
                "resource": binding.region.space.value,
                "index": binding.region.index,
                "offset": binding.region.offset,
                "size": binding.region.size,
            }
            for binding in dispatch.bindings
        ],
        "numbers": _numbers(pushed, dispatch.push) | _numbers(_members(_PARAMETERS, text), dispatch.parameters),
    }


def _members(block: re.Pattern[str], text: str) -> list[tuple[str, str]]:
    """Return (type, name) of a block's words, in order."""
    found = block.search(text)
    return _MEMBER.findall(found[1]) if found else []


def _numbers(members: Sequence[tuple[str, str]], values: Sequence[int]) -> dict[str, Any]:
    """Return the values by name; unnamed padding is left out."""
    return {name: _value(kind, bits) for (kind, name), bits in zip(members, values, strict=False)}


def _value(kind: str, bits: int) -> int | float | str:
    """Decode a number. JSON has no infinities or NaN: these become words."""
    if kind == "int":
        return bits - (1 << 32) if bits >> 31 else bits
    if kind == "float":
        value: float = struct.unpack("<f", struct.pack("<I", bits))[0]
        return value if math.isfinite(value) else str(value)
    return bits
