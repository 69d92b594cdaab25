"""Adjacent elements in vectors: GLSL to unpack and pack them.

A kernel that moves whole uvec4 loads adjacent elements into variables, beginning at the start of a vector, and fills
other variables that it stores. In the functions here, ``vectors`` are the names of these variables in order, and ``k``
is the number of an element in them.
"""

from __future__ import annotations

from collections.abc import Sequence

from dml.compiler.data_types import DATA_TYPES, VECTOR_BITS, WORD_BITS
from dml.compiler.program import Operand


def variables(prefix: str, operand: Operand, count: int) -> list[str]:
    """Return names for the vectors of ``count`` elements."""
    return [f"{prefix}{v}" for v in range(count // DATA_TYPES[operand.data_type].per_vector)]


def load(name: str, vectors: Sequence[str], first: str) -> list[str]:
    """Declare variables that load a tensor's vectors, starting at number ``first``."""
    return [f"    uvec4 {vector} = {name}_vector({first} + {v}u);" for v, vector in enumerate(vectors)]


def element(name: str, operand: Operand, vectors: Sequence[str], k: int) -> str:
    """Return the value of a loaded element."""
    vector, components, shift = _place(operand, k)
    if len(components) == 2:
        return f"{vectors[vector]}.{components}"
    if shift == 16 and DATA_TYPES[operand.data_type].decode.startswith("half_decode"):
        return f"half_decode_high({vectors[vector]}.{components})"
    return f"{name}_decode({vectors[vector]}.{components} >> {shift}u)"


def clear(vectors: Sequence[str]) -> list[str]:
    """Declare zeroed variables."""
    return [f"    uvec4 {vector} = uvec4(0u);" for vector in vectors]


def put(name: str, operand: Operand, vectors: Sequence[str], k: int, first: str, value: str) -> str:
    """Set the bits of an element; ``first`` is the tensor's index of the first one."""
    vector, components, shift = _place(operand, k)
    encoded = value if len(components) == 2 else f"{name}_encode_at({first} + {k}u, {value}) << {shift}u"
    return f"    {vectors[vector]}.{components} |= {encoded};"


def store(name: str, vectors: Sequence[str], first: str) -> list[str]:
    """Store the vectors to a tensor, starting at number ``first``."""
    return [f"    {name}_vector_store({first} + {v}u, {vector});" for v, vector in enumerate(vectors)]


def adjacent(operands: Sequence[Operand], axis: int) -> int:
    """Return the elements along an axis that a step moves as whole uvec4; 1 if the layout forbids it."""
    unit = max(DATA_TYPES[operand.data_type].per_vector for operand in operands)
    for operand in operands:
        bits = DATA_TYPES[operand.data_type].bits
        others = [stride for d, stride in enumerate(operand.strides) if d != axis]
        if operand.strides[axis] != 1 or operand.sizes[axis] % unit:
            return 1
        if any(step * bits % VECTOR_BITS for step in (operand.base, *others)):
            return 1
    return unit


def _place(operand: Operand, k: int) -> tuple[int, str, int]:
    """Return an element's vector, the component and the shift in it."""
    bits = DATA_TYPES[operand.data_type].bits
    vector, rest = divmod(k * bits, VECTOR_BITS)
    component, shift = divmod(rest, WORD_BITS)
    return vector, "xyzw"[component : component + max(1, bits // WORD_BITS)], shift
