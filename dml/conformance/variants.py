"""Kernel variants: the programs that selection may generate from one file under shaders/, with readable names."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from dml.compiler.target import Target
from dml.conformance.graphs import program_of
from dml.errors import DMLError
from dml.glslang import Source

_TENSOR = re.compile(r"#define (\w+)_BITS (\d+)u")


@cache
def variant(source: Source) -> str:
    """Return a name: ``gemm/vector.comp TILE_M=4u ... a:float16 b:float16 result:float32+epilogue``.

    Kernel texts are one variant if they have the same file, macros (tiles, flags), data types of tensors, and tensors
    with an epilogue. Dimension counts and fused expressions do not matter.
    """
    head = source.headers[0][1]
    words = [source.name.removeprefix("shaders/"), *(f"{name}={value}" for name, value in source.defines)]
    for name, bits in _TENSOR.findall(head):
        kind = next((kind for kind in ("float", "uint", "int") if f"#define {name}_IS_{kind.upper()} " in head), "bits")
        ending = "+epilogue" if f"{name}_epilogue(" in head else ""
        words.append(f"{name}:{kind}{bits}{ending}")
    return " ".join(words)


def kernel_of(variant_name: str) -> str:
    """Return the kernel in a variant's name, such as gemm/vector.comp."""
    return variant_name.partition(" ")[0]


def variants(desc: Any, target: Target) -> tuple[frozenset[str], int]:
    """Return the variants in a program of an operator or graph, and its work (see Dispatch); none without a program."""
    try:
        program = program_of(desc, target)
    except DMLError:
        return frozenset(), 0
    dispatches = [*program.adopt, *program.initialize, *program.dispatches]
    return frozenset(variant(dispatch.source) for dispatch in dispatches), sum(each.work for each in dispatches)
